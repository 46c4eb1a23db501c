// SPDX-License-Identifier: Apache-2.0
// The tables of the page, which stand there without the script, too: sorted, saved as CSV, with small pictures in cells.

// The value by which a cell is sorted: data-v where the text is cut or has a unit.
const cellValue = cell => cell.dataset.v ?? cell.textContent;

const sortTable = (table, head, c) => {
  const up = head.getAttribute('aria-sort') !== 'ascending', numbers = head.classList.contains('n');
  all(table, 'thead th').forEach(each => each.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const rows = all(table.tBodies[0], 'tr').map(row => ({row, value: cellValue(row.cells[c])}));
  rows.sort(({value: a}, {value: b}) => {
    const none = value => value === '' || value === '-';
    if (none(a) || none(b)) return none(a) - none(b);  // comes last
    const order = numbers ? a - b : a.localeCompare(b);
    return up ? order : -order;
  });
  if (rows.some(({row}) => row.classList.contains('more')))
    rows.forEach(({row}, i) => row.classList.toggle('more', i >= 25));
  table.tBodies[0].append(...rows.map(({row}) => row));
};

const makeSortable = table => all(table, 'thead th').forEach((head, c) => {
  head.tabIndex = 0;
  head.addEventListener('click', () => sortTable(table, head, c));
  head.addEventListener('keydown', event => { if (event.key === 'Enter') sortTable(table, head, c); });
});

// A file that the browser saves.
const save = (name, type, text) => {
  const link = make('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

// Fields in quotes where needed; full numbers where the page shortens them. Rows that are not selected are left out.
const csvOf = table => {
  const field = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const isRange = text => /^\d+-\d+$/.test(text);  // of the trials of a group
  const value = cell => cell.tagName === 'TD' && cell.classList.contains('n') && !isRange(cell.textContent)
    ? cellValue(cell) : cell.textContent;
  const lines = all(table, 'tr').filter(row => !row.classList.contains('gone'))
    .map(row => Array.from(row.cells, cell => field(value(cell))).join());
  return lines.join('\r\n') + '\r\n';
};

const saveButton = (name, title, saved) => {
  const button = make('button', name, 'save');
  button.type = 'button';
  button.title = title;
  button.addEventListener('click', saved);
  return button;
};

// Bars of shares, and the values of copies around their mean.
const drawCells = (run, table) => {
  for (const cell of all(table, 'td[data-bar]')) {
    const picture = newPicture(240, 14, '', 'bar'), {bar, css = 'f1'} = cell.dataset;
    picture.append(shape('rect', {class: css, x: 0, y: 2, width: 240 * bar, height: 10}));
    cell.append(picture);
  }
  const cells = all(table, 'td.copies');
  if (!cells.length) return;
  const values = run.groups.flatMap(group => group.copies);
  const scale = metricScale(values, run.metrics[0].mode).between(5, 115);
  for (const cell of cells) {
    const group = run.groups.find(each => each.trial === +cell.parentElement.dataset.t);
    if (!group) continue;
    const picture = newPicture(120, 16, 'values of the copies', 'spark');
    picture.append(shape('path', {d: 'M2,8L118,8', class: 'rule'}));
    for (const value of group.copies.filter(Number.isFinite))
      picture.append(shape('circle', {cx: scale.at(value), cy: 8, r: 3, class: 'dot f1'}));
    if (group.value !== null)
      picture.append(shape('path', {d: `M${scale.at(group.value)},1V15`, class: 'best-line'}));
    cell.append(picture);
  }
};

const enliven = (run, part) => {
  for (const table of all(part, '.scroll > table')) {
    if (table.tHead) makeSortable(table);
    if (run) drawCells(run, table);
    const section = table.closest('section'), number = all(section, '.scroll > table').indexOf(table);
    const name = `${section.id}${number ? `-${number}` : ''}.csv`;
    table.parentElement.after(saveButton('CSV', 'Save the table as CSV', () => save(name, 'text/csv', csvOf(table))));
  }
  for (const button of all(part, 'button.all'))
    button.addEventListener('click', () => {
      all(button.closest('section'), 'tbody tr').forEach(row => row.classList.add('open'));
      button.remove();
    });
};

const SAVED_STYLE = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray',
                     'stroke-linejoin', 'paint-order', 'text-anchor', 'font-weight', 'font-size', 'opacity'];

// A picture as a file that needs no style sheet. All its colours are those of the page now.
const svgText = picture => {
  const out = picture.cloneNode(true), from = [picture, ...all(picture, '*')], to = [out, ...all(out, '*')];
  const {width, height} = picture.viewBox.baseVal, page = getComputedStyle(document.body);
  from.forEach((element, i) => {
    const style = getComputedStyle(element), parent = i ? getComputedStyle(element.parentElement) : null;
    for (const name of SAVED_STYLE) {
      const value = style.getPropertyValue(name);
      const inherited = name === 'opacity' ? '1' : parent && parent.getPropertyValue(name);
      if (value !== inherited) to[i].setAttribute(name, value);
    }
    ['class', 'data-t', 'data-axis'].forEach(name => to[i].removeAttribute(name));
  });
  out.setAttribute('width', width);
  out.setAttribute('height', height);
  out.setAttribute('font-family', 'sans-serif');
  out.prepend(shape('rect', {width, height, fill: page.backgroundColor}));
  return new XMLSerializer().serializeToString(out);
};

// Each picture of a part of the page gets a button that saves it.
const addSaveButtons = (part, name) => all(part, '.picture').forEach((holder, i) => {
  if (holder.querySelector('.save')) return;
  const picture = holder.querySelector('svg:not(.key)'), file = `${name}${i ? `-${i}` : ''}.svg`;
  holder.append(saveButton('SVG', 'Save the picture as SVG', () => save(file, 'image/svg+xml', svgText(picture))));
});
