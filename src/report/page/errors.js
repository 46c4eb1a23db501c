// SPDX-License-Identifier: Apache-2.0
// The errors of the best model, and several runs beside each other.

const MOST_DRAWN_CLASSES = 50, MOST_CLASSES_WITH_NUMBERS = 20;

// The shade of a cell is the share of the true class.
const confusion = run => {
  const {names, rows} = run.errors ? run.errors.confusion : {names: [], rows: []}, count = rows.length;
  if (!count || count > MOST_DRAWN_CLASSES) return null;
  const cell = Math.min(44, Math.max(12, 560 / count)), left = 150, top = 44, side = cell * count;
  const picture = newPicture(left + side + 20, top + side + 24, 'confusion matrix', 'matrix');
  const text = (x, y, words, css) => picture.append(shape('text', {x, y, class: css}, words));
  text(left + side / 2, 16, 'predicted', 'name mid');
  text(4, top - 8, 'true class', 'name');
  rows.forEach((row, r) => {
    const y = top + cell * r, total = row.reduce((a, b) => a + b, 0);
    text(left - 8, y + cell / 2 + 4, cutText(names[r], 20), 'tick end');
    if (cell >= 20) text(left + cell * (r + 0.5), top - 8, cutText(names[r], Math.floor(cell / 7)), 'tick mid');
    row.forEach((value, c) => {
      const share = total > 0 ? Math.min(1, value / total) : 0, x = left + cell * c;
      const square = shape('rect', {x, y, width: cell - 1, height: cell - 1, class: r === c ? 'f1' : 'f2',
                                    'fill-opacity': (share > 0 ? 0.08 + 0.92 * share : 0.03).toFixed(3)});
      hovers.set(square, `${names[r]} taken for ${names[c]}: ${value} of ${plural(total, 'row')}`);
      picture.append(square);
      if (count <= MOST_CLASSES_WITH_NUMBERS && value > 0)
        text(x + cell / 2, y + cell / 2 + 4, value, share > 0.6 ? 'mid inverse' : 'mid');
    });
  });
  return figure(picture, 'Rows by true class (line) and predicted class (column). Blue: right; orange: wrong.');
};

// Predictions over targets, with the line of the perfect model.
const predictions = ({name, sample}) => {
  const known = sample.flat(), low = Math.min(...known), high = Math.max(...known);
  const plot = new Plot({
    box: {width: 440, height: 372, left: 80, top: 28, right: 420, bottom: 330},
    x: new Scale('linear', low, high), y: new Scale('linear', low, high),
    xName: 'target', yName: 'predicted', ticks: [4, 4], label: `predictions over the targets, ${name}`, css: 'matrix',
  });
  plot.line([[low, low], [high, high]], 'best-line');
  for (const [target, predicted] of sample) plot.dot(target, predicted, 2.5, 'dot f1');
  return figure(plot.picture, `${name}, ${plural(sample.length, 'row')}. The line is the perfect model.`);
};

const errors = run => {
  if (!run.errors) return null;
  const out = [confusion(run), ...run.errors.targets.filter(target => target.sample.length).map(predictions)];
  return out.some(each => each) ? out.filter(each => each) : null;
};
addSection({id: 'errors', draw: errors});

const MOST_COMPARED = 7;  // as many as there are colours

// The best so far of each run that has the metric of the first one.
const comparison = runs => {
  const {name, mode} = runs[0].metrics[0], same = run => run.metrics[0].name === name && run.steps.length > 0;
  const drawn = runs.slice(0, MOST_COMPARED).filter(same);
  if (!drawn.length) return null;
  const unit = timeUnit(Math.max(...drawn.map(run => run.end)));
  const plot = new Plot({
    x: new Scale('linear', 0, Math.max(...drawn.map(run => run.end)) / unit.seconds),
    y: metricScale(drawn.flatMap(run => run.steps.map(([, value]) => value)), mode),
    xName: `time in the run (${unit.name})`, yName: `best ${name} so far`, label: 'best so far of each run over time',
  });
  for (const run of drawn) {
    const until = i => i + 1 < run.steps.length ? run.steps[i + 1][0] : run.end;
    const stairs = run.steps.flatMap(([time, value], i) => [[time / unit.seconds, value], [until(i) / unit.seconds, value]]);
    hovers.set(plot.line(stairs, `front s${runs.indexOf(run) + 1}`), run.name);
  }
  const why = run => run.metrics[0].name !== name ? `compares by ${run.metrics[0].name}`
    : run.steps.length ? 'more runs than can be told apart' : 'has no value yet';
  const others = runs.filter(run => !drawn.includes(run)).map(run => `${cutText(run.name, 80)} (${why(run)})`);
  return [figure(plot.picture, others.length ? `Not in the picture: ${others.join(', ')}` : '')];
};
