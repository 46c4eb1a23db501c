// SPDX-License-Identifier: Apache-2.0
// Which trials the user has selected, by words and by parts of pictures: the others fade in every picture of the run, and
// leave its tables. And what belongs to one trial: its marks light up together, and a click shows all of it.

class Selection {
  // scope: the element that holds the report of the run.
  constructor(run, scope) {
    this.run = run;
    this.scope = scope;
    this.filters = new Map();  // by name: {fits: of a trial, forget: removes what the picture shows of it}
    this.finder = this.makeFinder();
  }

  get active() { return this.filters.size > 0; }

  // fits: null lets go of the filter.
  set(name, fits, forget = () => {}) {
    const known = this.filters.get(name);
    if (known && !fits) known.forget();
    if (fits) this.filters.set(name, {fits, forget}); else this.filters.delete(name);
    this.apply();
  }

  clear() {
    for (const {forget} of this.filters.values()) forget();
    this.filters.clear();
    this.input.value = '';
    this.apply();
  }

  // A group of copies is selected with any of its trials. Trials that the page does not know stay as they are.
  apply() {
    const {run, active} = this, filters = Array.from(this.filters.values());
    const chosen = run.trials.filter(trial => filters.every(({fits}) => fits(trial)));
    const ids = new Set(chosen.map(trial => trial.id));
    const groups = new Set(chosen.map(trial => run.groupOf.get(trial.id)?.trial));
    for (const element of all(this.scope, '[data-t]')) {
      const id = +element.dataset.t, fits = element.dataset.g === undefined ? ids.has(id) : groups.has(id);
      element.classList.toggle(element.tagName === 'TR' ? 'gone' : 'off', active && run.byId.has(id) && !fits);
    }
    this.scope.classList.toggle('selecting', active);
    this.count.textContent = active ? `${chosen.length} of ${run.trials.length} trials` : '';
  }

  // "trial 7" is that trial alone; other words are parts of what the page says of a trial.
  find(text) {
    const number = /\btrial\s+(\d+)\b/, id = text.match(number);
    const words = text.replace(number, '').split(/\s+/).filter(word => word);
    this.set('words', id || words.length ? trial => (!id || trial.id === +id[1]) &&
      words.every(word => trial.words.includes(word)) : null);
  }

  makeFinder() {
    const out = make('div', undefined, 'finder'), button = make('button', 'Show all');
    this.input = make('input');
    this.input.type = 'search';
    this.input.placeholder = 'Find trials';
    this.input.setAttribute('aria-label', 'Find trials: trial 7, a status, a part of a configuration');
    this.count = make('span', '', 'count');
    this.input.addEventListener('input', () => this.find(this.input.value.toLowerCase()));
    button.type = 'button';
    button.addEventListener('click', () => this.clear());
    out.append(this.input, this.count, button);
    return out;
  }

  // Dragging over a plot selects the trials in a rectangle. place: of a trial, in values of the axes.
  brush(plot, name, place) {
    const chosen = shape('rect', {class: 'chosen'});
    const show = (first, last) => {
      const [left, right] = [first.x, last.x].sort((a, b) => a - b), [top, bottom] = [first.y, last.y].sort((a, b) => a - b);
      Object.entries({x: left, y: top, width: right - left, height: bottom - top})
        .forEach(([key, value]) => chosen.setAttribute(key, value));
      plot.picture.append(chosen);
      this.set(name, trial => {
        const values = place(trial), [x, y] = plot.at(...values);
        return values.every(Number.isFinite) && x >= left && x <= right && y >= top && y <= bottom;
      }, () => chosen.remove());
    };
    plot.picture.classList.add('brushed');
    onDrag(plot.picture, plot.picture, {
      moved: show, ended: show,
      clicked: event => { if (event.target.dataset.t === undefined) this.set(name, null); },
    });
  }
}

const rowsOf = pairs => {
  const table = make('table', undefined, 'facts'), body = table.createTBody();
  for (const [name, value] of pairs) body.insertRow().append(make('th', name), make('td', value));
  return table;
};

// The box beside the mouse: the mark's own line, and the whole configuration of its trial.
const makeHover = (runOf, scopeOf) => {
  const box = make('div', undefined, 'hover');
  let lit = [];
  box.hidden = true;
  document.body.append(box);
  const fill = (mark, run) => {
    const {t} = mark.dataset, trial = run && t !== undefined ? run.byId.get(+t) : null, words = hovers.get(mark) || '';
    box.replaceChildren();
    if (t !== undefined) box.append(make('b', `Trial ${t}`));
    if (words) box.append(make('div', words));
    if (trial && trial.config.length) box.append(rowsOf(trial.config));
  };
  const put = event => {
    const {width, height} = box.getBoundingClientRect(), gap = 14;
    const x = event.clientX + gap + width > innerWidth ? event.clientX - gap - width : event.clientX + gap;
    box.style.left = `${Math.max(4, x)}px`;
    box.style.top = `${Math.max(4, Math.min(event.clientY + gap, innerHeight - height - 4))}px`;
  };
  document.addEventListener('pointerover', event => {
    const mark = event.target.closest ? event.target.closest('[data-t]') || event.target : null;
    const scope = scopeOf(event.target);
    lit.forEach(each => each.classList.remove('hi'));
    lit = mark && scope && mark.dataset.t !== undefined ? all(scope, `[data-t="${mark.dataset.t}"]`) : [];
    lit.forEach(each => each.classList.add('hi'));
    box.hidden = !(mark && hovers.has(mark));
    if (box.hidden) return;
    fill(mark, runOf(scope));
    put(event);
  });
  document.addEventListener('pointermove', event => { if (!box.hidden) put(event); });
  document.documentElement.addEventListener('pointerleave', () => { box.hidden = true; });
  document.addEventListener('scroll', () => { box.hidden = true; }, {passive: true});
};

const trialCurve = (trial, name, m) => {
  const points = pointsOf(trial, m);
  const plot = new Plot({
    box: {width: 280, height: 150, left: 60, top: 26, right: 265, bottom: 122},
    x: new Scale('linear', 0, Math.max(1, ...trial.at)), y: scaleOver(points.map(([, value]) => value)),
    yName: name, whole: 'x', ticks: [3, 3], label: `${name} by epoch`, css: 'small',
  });
  plot.line(points, points.length === 1 ? 'dot f1' : 'front thin s1');
  return plot.picture;
};

// Curves of each metric, configuration, result and log of one trial.
const trialContent = (run, trial) => {
  const names = run.metrics.map(({name}, m) => [name, m]).filter(([, m]) => trial.values[m].some(value => value !== null));
  const facts = [['status', trial.status], ['epochs trained', trial.epochs], ['seconds of training', trial.trained]];
  if (trial.bestEpoch >= 0)
    facts.push(['best epoch', trial.bestEpoch], ...names.map(([name, m]) => [`${name} then`, shortNumber(trial.best[m])]));
  const part = (name, content) => {
    const out = make('div');
    out.append(make('h3', name), content);
    return out;
  };
  const parts = make('div', undefined, 'pair'), log = make('ol');
  log.append(...trial.log.map(line => make('li', line)));
  parts.append(part('Configuration', rowsOf(trial.config)), part('Result', rowsOf(facts)));
  if (trial.log.length) parts.append(part('Log', log));
  return [make('h3', `Trial ${trial.id}`), multiples(names.map(([name, m]) => trialCurve(trial, name, m))), parts];
};

// The trial whose mark or row was clicked last; at first the best.
const oneTrial = run => {
  if (!run.trials.length) return null;
  const holder = make('div', undefined, 'one-trial'), chosen = make('div', undefined, 'chosen-trial');
  const show = trial => {
    chosen.replaceChildren(...trialContent(run, trial));
    addSaveButtons(chosen, `trial-${trial.id}`);
  };
  holder.append(make('p', 'Click on a mark of a trial or on its row to see it here.' +
                          drawnText(run.trials.length, run.count, 'trials').replace('drawn', 'known here'), 'cap'), chosen);
  show(run.byId.get(run.best ? run.best[0] : -1) || run.trials[0]);
  run.selection.scope.addEventListener('click', event => {
    const mark = event.target.closest ? event.target.closest('[data-t]') : null;
    const trial = mark ? run.byId.get(+mark.dataset.t) : null;
    if (!trial) return;
    show(trial);
    holder.classList.add('clicked');
    holder.closest('section').scrollIntoView();
  });
  return [holder];
};
addSection({id: 'trial', title: 'One trial', after: 'leaderboard', draw: oneTrial});
