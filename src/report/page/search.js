// SPDX-License-Identifier: Apache-2.0
// Pictures of the search procedure: importance of the keys, Pareto front, rungs, the family tree of a population.

const TRIALS_FOR_IMPORTANCE = 50;  // fewer than five trials in the best tenth prove nothing

const importance = run => {
  const rows = run.importance;
  if (!rows.length) return null;
  const enough = run.importanceFrom >= TRIALS_FOR_IMPORTANCE, top = enough ? 10 : 40;
  const picture = newPicture(860, top + 30 * rows.length + 10, 'importance of the searched keys');
  if (!enough)
    picture.append(shape('text', {x: 200, y: 22, class: 'warn'}, `From ${run.importanceFrom} configurations. ` +
      `Do not trust this picture: it needs ${TRIALS_FOR_IMPORTANCE} or more.`));
  const longest = rows[0][1];
  rows.forEach(([name, share], i) => {
    const y = top + 30 * i, width = longest > 0 ? 560 * share / longest : 0;
    picture.append(shape('text', {x: 190, y: y + 19, class: 'tick end'}, cutText(name, 26)),
                   shape('rect', {x: 200, y: y + 6, width, height: 18, class: enough ? 'f1' : 'fgrey'}),
                   shape('text', {x: 208 + width, y: y + 19, class: 'tick'}, `${(100 * share).toFixed(0)} %`));
  });
  return [figure(picture, 'Share of each key in what tells the best tenth of the configurations from all others: ' +
    'PED-ANOVA (Watanabe et al., 2023), with groups ranked by epochs reached, then by value. It is believable from ' +
    `${TRIALS_FOR_IMPORTANCE} configurations on. It shows where the best lie, not what causes it.`)];
};
addSection({id: 'importance', title: 'Importance of the keys', after: 'parallel', draw: importance});

// Two of the measures as places. places: of the names.
const frontPlot = (run, a, b) => {
  const {names, front, others, knee} = run.pareto, points = [...front, ...others];
  const plot = new Plot({
    x: scaleOver(points.map(point => point[1 + a])), y: scaleOver(points.map(point => point[1 + b])),
    xName: names[a], yName: names[b], label: `Pareto front of ${names.join(', ')}: ${names[a]} and ${names[b]}`,
  });
  const words = point => names.map((name, i) => `${name} ${shortNumber(point[1 + i])}`).join(', ');
  const dot = (point, r, css) => markTrial(plot.dot(point[1 + a], point[1 + b], r, css), point[0], words(point));
  for (const each of others) dot(each, 3.5, 'dot hollow');
  if (names.length === 2) plot.line(front.map(point => [point[1 + a], point[1 + b]]), 'front s2 thin');
  for (const each of front) dot(each, each[0] === knee ? 8 : 5, 'dot f2');
  const place = new Map(points.map(point => [point[0], [point[1 + a], point[1 + b]]]));
  run.selection.brush(plot, `pareto${a}${b}`, trial => place.get(trial.id) || [NaN, NaN]);
  return plot.picture;
};

// How the front has grown. It stays as it is between two of its trials, and after the last one until the end of the run.
const growth = run => {
  const steps = run.pareto.growth;
  if (!steps || steps.length < 2) return null;
  const end = Math.max(run.end, steps.at(-1)[0]), line = [];
  for (const [at, share] of steps) line.push([at, line.length ? line.at(-1)[1] : 0], [at, share]);
  line.push([end, line.at(-1)[1]]);
  const plot = new Plot({
    x: new Scale('linear', 0, end), y: new Scale('linear', 0, 1), xName: 'seconds', yName: 'hypervolume',
    label: 'hypervolume of the front over time',
  });
  plot.line(line, 'best-line');
  return figure(plot.picture, 'Hypervolume: what the front covers of the box between the best and the worst value of each ' +
    'measure. A trial counts from the end of its best epoch.');
};

const pareto = run => {
  if (!run.pareto) return null;
  const {names, front, others, knee, missesBounds} = run.pareto;
  const pairs = names.length === 2 ? [[0, 1]] : [[0, 1], [0, 2], [1, 2]];
  const ids = front.length > 12 ? `${front.length} trials` : `trials ${front.map(([id]) => id).join(', ')}`;
  const caption = `Orange: ${ids}, ` + (missesBounds ? 'which miss search.subject_to by the least; no trial meets it.'
    : 'which no other trial beats in one value without losing in another.') +
    (Number.isInteger(knee) ? ` Largest: the knee, trial ${knee}.` : '');
  const out = pairs.map(([a, b], i) => figure(frontPlot(run, a, b), i === 0 ? caption : ''));
  if (!others.length)
    out.push(make('p', 'The values of the other trials are not in the run directory.', 'note'));
  const grown = growth(run);
  if (grown) out.push(grown);
  return out;
};
addSection({id: 'pareto', title: 'Pareto front', after: 'slices', draw: pareto});

// How many trials trained at least so long.
const rungs = run => {
  if (!run.lengths) return null;
  const lengths = [...run.lengths].sort((a, b) => a - b), count = lengths.length, line = [[0, count]];
  lengths.forEach((length, i) => {
    if (lengths[i + 1] !== length) line.push([length, line.at(-1)[1]], [length, count - i - 1]);
  });
  const plot = new Plot({
    x: new Scale('linear', 0, Math.max(1, ...lengths.slice(-1))), y: new Scale('linear', 0, count),
    xName: 'epochs', yName: 'trials that trained at least so long', whole: 'xy',
    label: 'trials by the epochs that they trained',
  });
  plot.line(line, 'best-line');
  return [figure(plot.picture)];
};
addSection({id: 'rungs', draw: rungs});

// "trial epoch" of the laps on the way to the best model: back from it, to the lap before or to the source of its clone.
const ancestryOf = run => {
  const source = new Map(run.clones.map(([trial, epoch, ...from]) => [`${trial} ${epoch}`, from])), out = new Set();
  let at = run.best;
  while (at && at[1] >= 0 && !out.has(at.join(' '))) {
    out.add(at.join(' '));
    at = source.get(at.join(' ')) || [at[0], at[1] - 1];
  }
  return out;
};

const family = run => {
  if (!run.clones.length) return null;
  const trials = [...run.trials].sort((a, b) => a.id - b.id).slice(0, 100), best = ancestryOf(run);
  const lane = new Map(trials.map((trial, i) => [trial.id, i])), rows = trials.length;
  const height = Math.min(900, Math.max(80, 26 * rows)), box = {...WIDE, height: height + 76, bottom: WIDE.top + height};
  const plot = new Plot({
    box, x: new Scale('linear', 0, Math.max(1, ...trials.map(trial => trial.epochs))),
    y: new Scale('linear', -0.7, rows - 0.3),
    xName: 'epochs', ticks: [8, 0], whole: 'xy', label: 'family tree of the population',
  });
  plot.y = plot.y.between(box.top, box.bottom);  // the first trial on top
  plot.text(62, 24, 'trial', 'name end');
  const every = Math.ceil(rows / 34);
  trials.forEach(({id}, i) => { if (i % every === 0) plot.text(62, plot.y.at(i) + 4, id, 'tick end'); });
  for (const [trial, epoch, source, after] of run.clones) {
    if (!lane.has(trial) || !lane.has(source)) continue;
    const css = best.has(`${trial} ${epoch}`) ? 'clone first' : 'clone';
    const line = plot.line([[after + 1, lane.get(source)], [epoch, lane.get(trial)]], css);
    hovers.set(line, `trial ${trial} takes over the state of trial ${source} after epoch ${after}`);
  }
  for (const trial of trials)
    for (let epoch = 0; epoch < trial.epochs; ++epoch) {
      const value = trial.values[0][trial.at.indexOf(epoch)], y = lane.get(trial.id);
      const lap = plot.line([[epoch, y], [epoch + 1, y]], best.has(`${trial.id} ${epoch}`) ? 'kin first' : 'kin');
      markTrial(lap, trial.id, `epoch ${epoch}` + (value === undefined ? '' : `: ${valueText(run, value)}`));
    }
  return [figure(plot.picture, legend([['f2', 'ancestors of the best model'], ['f1', 'other laps'],
                                       ['fgrey', 'a state is taken over']]), drawnText(rows, run.count, 'trials'))];
};
addSection({id: 'family', title: 'Family tree', after: 'rungs', draw: family});
