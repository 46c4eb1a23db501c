// SPDX-License-Identifier: Apache-2.0
// What moves in a report: tables sort and filter, the marks of one trial light up together, axes can be brushed.
#include "app/report/report_page.hpp"

namespace hopscotch {

char const* const k_page_script = R"js(
'use strict';
document.documentElement.classList.add('js');
const all = (from, what) => Array.from(from.querySelectorAll(what));

// While a job works on the run, it renews the page. Loading it again keeps the place; a page in use is left alone.
const renewed = +document.body.dataset.renewedS;
if (renewed) {
  const inUse = () => document.hidden || all(document, 'input.filter').some(input => input.value)
                      || all(document, 'th[aria-sort], tr.open').length || String(getSelection());
  setInterval(() => { if (!inUse()) location.reload(); }, renewed * 1000);
}

// Sort by a click on a column's name: numbers by data-v, what has none comes last.
for (const table of all(document, 'table.sortable')) {
  const heads = all(table, 'thead th');
  const key = (row, c) => { const cell = row.cells[c]; return cell.dataset.v ?? cell.textContent.toLowerCase(); };
  const sort = (head, c) => {
    const up = head.getAttribute('aria-sort') !== 'ascending', number = head.classList.contains('n');
    heads.forEach(each => each.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const rows = all(table.tBodies[0], 'tr');
    rows.sort((a, b) => {
      const x = key(a, c), y = key(b, c);
      if (x === '' || y === '') return (x === '') - (y === '');
      const order = number ? x - y : x.localeCompare(y);
      return up ? order : -order;
    });
    if (rows.some(row => row.classList.contains('more'))) rows.forEach((row, i) => row.classList.toggle('more', i >= 25));
    table.tBodies[0].append(...rows);
  };
  heads.forEach((head, c) => {
    head.tabIndex = 0;
    head.addEventListener('click', () => sort(head, c));
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(head, c); });
  });
}

// Filter by text; "Show all rows".
for (const input of all(document, 'input.filter')) {
  const section = input.closest('section'), rows = all(section, 'tbody tr'), button = section.querySelector('button.all');
  const open = yes => rows.forEach(row => row.classList.toggle('open', yes));
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase(), fits = words.every(word => text.includes(word));
      row.classList.toggle('gone', !fits);
      shown += fits;
    }
    open(words.length > 0 || Boolean(button && !button.isConnected));
    section.querySelector('.shown').textContent = words.length ? `${shown} of ${rows.length} rows` : '';
  });
  if (button) button.addEventListener('click', () => { open(true); button.remove(); });
}

// The marks of one trial light up in every picture of the run.
for (const run of document.querySelector('.of-run') ? all(document, '.of-run') : [document]) {
  const marks = new Map();
  for (const mark of all(run, '[data-t]')) {
    if (!marks.has(mark.dataset.t)) marks.set(mark.dataset.t, []);
    marks.get(mark.dataset.t).push(mark);
  }
  let lit = null;
  run.addEventListener('pointerover', event => {
    const mark = event.target.closest ? event.target.closest('[data-t]') : null, trial = mark ? mark.dataset.t : null;
    if (trial === lit) return;
    if (lit !== null) marks.get(lit).forEach(each => each.classList.remove('hi'));
    lit = trial;
    if (lit !== null) marks.get(lit).forEach(each => each.classList.add('hi'));
  });
}

// Parallel coordinates: drag along an axis. A line stays if it passes through every chosen part.
for (const picture of all(document, 'svg.parallel')) {
  const lines = all(picture, '.pline').map(line => ({
    line, ys: line.getAttribute('d').slice(1).split('L').map(place => +place.split(',')[1])
  }));
  const chosen = new Map();
  const show = () => lines.forEach(({line, ys}) =>
    line.classList.toggle('off', Array.from(chosen).some(([axis, part]) => ys[axis] < part[0] || ys[axis] > part[1])));
  for (const axis of all(picture, '.brush')) {
    const number = +axis.dataset.axis, mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    let from = null;
    const y = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse()).y;
    mark.setAttribute('class', 'chosen');
    mark.setAttribute('x', +axis.getAttribute('x') + 6);
    mark.setAttribute('width', 12);
    axis.addEventListener('pointerdown', event => {
      axis.setPointerCapture(event.pointerId);
      from = y(event);
      chosen.delete(number);
      mark.remove();
      show();
    });
    axis.addEventListener('pointermove', event => {
      if (from === null) return;
      const part = [Math.min(from, y(event)), Math.max(from, y(event))];
      if (part[1] - part[0] < 3) return;
      chosen.set(number, part);
      mark.setAttribute('y', part[0]);
      mark.setAttribute('height', part[1] - part[0]);
      picture.insertBefore(mark, axis);
      show();
    });
    axis.addEventListener('pointerup', () => { from = null; });
  }
}

// A link into the report of a run opens it.
const reveal = () => {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  const run = target ? target.closest('details.run') : null;
  if (run && !run.open) { run.open = true; target.scrollIntoView(); }
};
addEventListener('hashchange', reveal);
reveal();
addEventListener('beforeprint', () => all(document, 'details').forEach(each => { each.open = true; }));
)js";

}  // namespace hopscotch
