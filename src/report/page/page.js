// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

// In the order of the page, as report_page.cpp writes them.
const TEXT_SECTIONS = ['answer', 'leaderboard', 'errors', 'rungs', 'timeline', 'idle', 'bytes', 'memory', 'failures',
                       'reproduce'];

const sectionsInOrder = () => {
  const out = TEXT_SECTIONS.map(id => ({id}));
  const left = [...SECTIONS], place = id => out.findIndex(each => each.id === id);
  while (left.length) {
    const next = left.findIndex(({id, after}) => place(after || id) >= 0), [section] = left.splice(next, 1);
    if (section.after) out.splice(place(section.after) + 1, 0, section); else out[place(section.id)] = section;
  }
  return out;
};

// Each picture with a button that saves it.
const addPictures = (section, content) => {
  const slot = section.querySelector('.pictures'), head = section.querySelector('h2');
  if (slot) slot.replaceWith(...content); else if (head) head.after(...content); else section.prepend(...content);
  addSaveButtons(section, section.id);
};

const prepare = (run, scope) => {
  run.byId = new Map(run.trials.map(trial => [trial.id, trial]));
  run.groupOf = new Map(run.groups.flatMap(group => group.trials.map(id => [id, group])));
  for (const group of run.groups) {
    group.trial = group.trials[0];
    group.count = group.trials.length;
    group.copies = group.trials.map(id => run.byId.get(id)?.best[0] ?? null);
  }
  const rows = new Map(all(scope, 'tr[data-g]').map(row => [+row.dataset.t, row]));
  for (const trial of run.trials) {
    const group = run.groupOf.get(trial.id), row = group ? rows.get(group.trial) : null;
    const cells = row ? Array.from(row.cells, cell => cell.textContent) : [];
    trial.words = [trial.status, ...trial.config.map(([path, value]) => `${path}=${value}`), ...cells]
      .join(' ').toLowerCase();
  }
  run.selection = new Selection(run, scope);
};

const drawSection = (run, {id, title, draw}) => {
  let content = null, section = document.getElementById(run.id + id);
  try {
    content = draw ? draw(run) : null;
  } catch (error) {  // the rest of the page stays
    console.error(`${id}: ${error.stack}`);
    content = [make('p', `This picture could not be drawn: ${error.message}`, 'note')];
  }
  if (content && !section) {
    section = make('section');
    section.id = run.id + id;
    section.append(make('h2', title));
  }
  if (content) addPictures(section, content);
  return section;
};

const drawRun = (run, scope) => {
  prepare(run, scope);
  const nav = scope.querySelector('nav');
  nav.replaceChildren(run.selection.finder);
  for (const section of sectionsInOrder().map(each => drawSection(run, each)).filter(each => each)) {
    scope.append(section);
    const head = section.querySelector('h2');
    if (!head) continue;
    const link = make('a', head.textContent);
    link.href = `#${section.id}`;
    nav.append(link);
  }
  enliven(run, scope);
};

// While a job works on the run, it renews the page. Loading it again keeps the place; a page in use is left alone.
const renew = (runs, every) => {
  const inUse = () => document.hidden || runs.some(run => run.selection.active)
    || all(document, 'th[aria-sort], tr.open, .one-trial.clicked').length > 0 || String(getSelection()) !== '';
  setInterval(() => { if (!inUse()) location.reload(); }, every * 1000);
};

// A link into the report of a run opens it.
const reveal = () => {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  const run = target ? target.closest('details.run') : null;
  if (!run || run.open) return;
  run.open = true;
  target.scrollIntoView();
};

const main = () => {
  const {runs} = JSON.parse(document.getElementById('data').textContent), scopes = all(document, '.of-run');
  document.documentElement.classList.add('js');
  runs.forEach((run, r) => drawRun(run, scopes[r]));
  const comparing = document.getElementById('comparison');
  if (comparing) {
    addPictures(comparing, comparison(runs) || []);
    enliven(null, comparing);
  }
  const scopeOf = element => element.closest ? element.closest('.of-run') : null;
  makeHover(scope => scope ? runs[scopes.indexOf(scope)] : null, scopeOf);
  if (document.body.dataset.renewedS) renew(runs, +document.body.dataset.renewedS);
  const leaveRoom = () => {  // for the links, which stay on top
    document.documentElement.style.scrollPaddingTop = `${document.querySelector('nav').offsetHeight + 8}px`;
  };
  addEventListener('resize', leaveRoom);
  leaveRoom();
  addEventListener('hashchange', reveal);
  addEventListener('beforeprint', () => all(document, 'details').forEach(each => { each.open = true; }));
  reveal();
};

main();
