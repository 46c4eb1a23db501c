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

const pareto = run => {
  if (!run.pareto) return null;
  const {names, front, others} = run.pareto, points = [...front, ...others];
  const plot = new Plot({
    x: scaleOver(points.map(([, x]) => x)), y: scaleOver(points.map(([, , y]) => y)),
    xName: names[0], yName: names[1], label: `Pareto front of ${names[0]} and ${names[1]}`,
  });
  const dot = ([trial, x, y], r, css) =>
    markTrial(plot.dot(x, y, r, css), trial, `${names[0]} ${shortNumber(x)}, ${names[1]} ${shortNumber(y)}`);
  for (const each of others) dot(each, 3.5, 'dot hollow');
  plot.line(front.map(([, x, y]) => [x, y]), 'front s2 thin');
  for (const each of front) dot(each, 5, 'dot f2');
  const place = new Map([...others, ...front].map(([trial, x, y]) => [trial, [x, y]]));
  run.selection.brush(plot, 'pareto', trial => place.get(trial.id) || [NaN, NaN]);
  const out = [figure(plot.picture,
                      'Orange: trials that no other trial beats in one value without losing in the other.')];
  if (!others.length) out.push(make('p', 'The values of the other trials are not in the run directory.', 'note'));
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
