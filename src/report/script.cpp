// SPDX-License-Identifier: Apache-2.0
// What moves in a report: tables sort and filter, the marks of one trial light up together, axes can be brushed, the time
// line can be zoomed.
#include "report/report_page.hpp"

namespace hopscotch {

char const* const k_page_script = R"js(
'use strict';
document.documentElement.classList.add('js');
const all = (from, what) => Array.from(from.querySelectorAll(what));
const make = (name, text, css) => {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  if (css) out.className = css;
  return out;
};
const svg = (name, attributes, text) => {
  const out = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(attributes).forEach(([key, value]) => out.setAttribute(key, value));
  if (text !== undefined) out.textContent = text;
  return out;
};

// While a job works on the run, it renews the page. Loading it again keeps the place; a page in use is left alone.
const renewed = +document.body.dataset.renewedS;
if (renewed) {
  const inUse = () => document.hidden || all(document, 'input.filter').some(input => input.value)
                      || all(document, 'th[aria-sort], tr.open, .one-trial.clicked').length || String(getSelection());
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

// One trial: curves of each metric, configuration and log of the trial whose mark or row was clicked last.
const curve = (name, at, values) => {
  const points = at.map((x, i) => [x, values[i]]).filter(point => point[1] !== null);
  const out = svg('svg', {class: 'small', viewBox: '0 0 280 150', role: 'img', 'aria-label': name + ' by epoch'});
  const [low, high] = [Math.min(...points.map(p => p[1])), Math.max(...points.map(p => p[1]))], last = Math.max(1, ...at);
  const place = ([x, y]) => [60 + 205 * x / last, high > low ? 116 - 90 * (y - low) / (high - low) : 71];
  out.append(svg('text', {x: 4, y: 14, class: 'name'}, name));
  for (const value of high > low ? [low, high] : [low]) {
    const y = place([0, value])[1];
    out.append(svg('path', {d: `M60,${y}H265`, class: 'rule'}), svg('text', {x: 54, y: y + 4, class: 'tick end'}, value));
  }
  out.append(svg('path', {d: 'M60,122H265', class: 'axis'}), svg('text', {x: 60, y: 138, class: 'tick mid'}, '0'),
             svg('text', {x: 265, y: 138, class: 'tick mid'}, last));
  if (points.length === 1) {
    const [cx, cy] = place(points[0]);
    out.append(svg('circle', {cx, cy, r: 3, class: 'dot f1'}));
  } else {
    const d = 'M' + points.map(p => place(p).map(v => v.toFixed(1)).join()).join('L');
    out.append(svg('path', {d, class: 'front thin s1'}));
  }
  return out;
};
const rowsOf = pairs => {
  const table = make('table', undefined, 'facts'), body = table.createTBody();
  for (const [name, value] of pairs) {
    const row = body.insertRow();
    row.append(make('th', name), make('td', value));
  }
  return table;
};
for (const holder of all(document, '.one-trial')) {
  const {first, metrics, trials} = JSON.parse(holder.querySelector('script').textContent);
  const show = id => {
    const {status, epochs, bestEpoch, trained, config, at, values, best, log} = trials[id];
    const curves = make('div', undefined, 'multiples'), lines = make('ol');
    const known = metrics.map((name, m) => [name, values[m], best[m]]).filter(each => each[1].some(v => v !== null));
    curves.append(...known.map(([name, line]) => curve(name, at, line)));
    lines.append(...log.map(line => make('li', line)));
    const facts = [['status', status], ['epochs trained', epochs], ['seconds of training', trained]];
    if (bestEpoch >= 0) facts.push(['best epoch', bestEpoch], ...known.map(([name, , value]) => [name + ' then', value]));
    const part = (name, content) => {
      const out = make('div');
      out.append(make('h3', name), content);
      return out;
    };
    const parts = make('div', undefined, 'pair');
    parts.append(part('Configuration', rowsOf(config)), part('Result', rowsOf(facts)));
    if (log.length) parts.append(part('Log', lines));
    holder.querySelector('.chosen-trial').replaceChildren(make('h3', `Trial ${id}`), curves, parts);
  };
  (holder.closest('.of-run') || document).addEventListener('click', event => {
    const mark = event.target.closest ? event.target.closest('[data-t]') : null;
    if (!mark || !trials[mark.dataset.t]) return;
    show(mark.dataset.t);
    holder.classList.add('clicked');
    holder.closest('section').scrollIntoView();
  });
  show(first);
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

// Trainers over time: zoom by buttons, or by dragging over a span. The marks are stretched, the ticks drawn anew.
for (const picture of all(document, 'svg.timeline')) {
  const marks = picture.querySelector('.marks'), ticks = picture.querySelector('.ticks'), drawn = ticks.innerHTML;
  const [left, right, top, bottom, end] = ['left', 'right', 'top', 'bottom', 'end'].map(key => +ticks.dataset[key]);
  let from = 0, until = end;
  const roundTicks = () => {
    const wanted = (until - from) / 8, power = 10 ** Math.floor(Math.log10(wanted));
    const step = power * [1, 2, 5, 10].find(factor => factor * power >= wanted), out = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= until + 1e-9 * step; ++i) {
      const x = left + (i * step - from) / (until - from) * (right - left);
      const text = svg('text', {x, y: bottom + 16, class: 'tick mid'});
      text.textContent = (i * step).toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
      out.push(svg('path', {d: `M${x},${top}V${bottom}`, class: 'rule'}), text);
    }
    return out;
  };
  const show = (a, b) => {
    const span = Math.min(end, Math.max(b - a, end / 1e5));
    from = Math.max(0, Math.min(a, end - span));
    until = from + span;
    const scale = end / span;
    marks.setAttribute('transform', `matrix(${scale} 0 0 1 ${left - scale * (left + from / end * (right - left))} 0)`);
    for (const text of all(marks, 'text'))
      text.setAttribute('transform', `matrix(${1 / scale} 0 0 1 ${text.getAttribute('x') * (1 - 1 / scale)} 0)`);
    if (scale === 1) ticks.innerHTML = drawn; else ticks.replaceChildren(...roundTicks());
  };
  for (const button of all(picture.closest('figure'), '.zoom button'))
    button.addEventListener('click', () => {
      const {zoom, move} = button.dataset, span = until - from, middle = (from + until) / 2;
      if (zoom === 'all') show(0, end);
      else if (zoom) show(middle - span * zoom / 2, middle + span * zoom / 2);
      else show(from + span * move, until + span * move);
    });
  const at = event => {
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse()).x;
    return from + (Math.min(right, Math.max(left, x)) - left) / (right - left) * (until - from);
  };
  const chosen = svg('rect', {class: 'chosen', y: top, height: bottom - top});
  let begun = null;
  picture.addEventListener('pointerdown', event => {
    if (event.pointerType === 'touch' || event.button !== 0) return;  // a finger scrolls
    begun = at(event);
    picture.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  picture.addEventListener('pointermove', event => {
    if (begun === null) return;
    const [a, b] = [begun, at(event)].sort((x, y) => x - y).map(v => left + (v - from) / (until - from) * (right - left));
    chosen.setAttribute('x', a);
    chosen.setAttribute('width', b - a);
    picture.append(chosen);
  });
  picture.addEventListener('pointerup', event => {
    if (begun === null) return;
    const [a, b] = [begun, at(event)].sort((x, y) => x - y);
    begun = null;
    chosen.remove();
    if (b - a > (until - from) / 100) show(a, b);
  });
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
