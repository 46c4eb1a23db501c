// SPDX-License-Identifier: Apache-2.0
// Pictures of the trials: optimization history, learning curves, other metrics, one key at a time, parallel coordinates.

const MOST_CURVES = 400, FRONT_CURVES = 5, MOST_PATHS = 400, FRONT_PATHS = 50, MOST_AXES = 12;

// [epoch, value] of a metric.
const pointsOf = (trial, m) => (m && trial.othersAt || trial.at)
  .map((epoch, i) => [epoch, trial.values[m][i]]).filter(([, value]) => value !== null);

const valueText = (run, value) => `${run.metrics[0].name} ${shortNumber(value)}`;
const trialText = (run, trial) => `${valueText(run, trial.best[0])}, ${trial.status}`;
const groupText = (run, group) => (group.count > 1 ? `mean of ${group.count} trials: ` : '') + valueText(run, group.value);

// Trials with a value, best first, and how many there are beside them.
const placed = run => run.trials.filter(trial => trial.best[0] !== null);
const drawnText = (drawn, total, what) => drawn < total ? ` ${drawn} of ${total} ${what} are drawn.` : '';

const dotCss = trial => trial.status === 'finished' ? 'dot f1' : trial.status === 'running' ? 'dot f3' : 'dot hollow';

const history = run => {
  if (!run.steps.length) return null;
  const unit = timeUnit(run.end), {name, mode} = run.metrics[0], trials = placed(run);
  const plot = new Plot({
    x: new Scale('linear', 0, run.end / unit.seconds),
    y: metricScale([run.steps[0][1], ...trials.map(trial => trial.best[0])], mode),
    xName: `time in the run (${unit.name})`, yName: name, label: `${name} of each trial, and the best so far, over time`,
  });
  const until = i => i + 1 < run.steps.length ? run.steps[i + 1][0] : run.end;
  plot.line(run.steps.flatMap(([time, value], i) =>
    [[time / unit.seconds, value], [until(i) / unit.seconds, value]]), 'best-line');
  const place = trial => [trial.end / unit.seconds, trial.best[0]];
  for (const trial of trials) markTrial(plot.dot(...place(trial), 3.5, dotCss(trial)), trial.id, trialText(run, trial));
  run.selection.brush(plot, 'history', place);
  const entries = [['f2', 'best so far'], ['f1', 'a trial that finished']];
  if (trials.some(trial => trial.status === 'running')) entries.push(['f3', 'in training']);
  return [figure(plot.picture, legend([...entries, ['hollow', 'stopped, paused or failed']]),
                 'A point is a trial: its best epoch, at the end of its last one. Drag over points to select them.' +
                   drawnText(trials.length, run.placed, 'trials'))];
};
addSection({id: 'history', title: 'Optimization history', after: 'answer', draw: history});

const curves = run => {
  const trials = placed(run), shown = thinned(trials, MOST_CURVES, FRONT_CURVES), {name, mode} = run.metrics[0];
  if (!trials.length) return null;
  const points = shown.map(trial => pointsOf(trial, 0));
  const plot = new Plot({
    x: new Scale('linear', 0, Math.max(1, ...trials.map(trial => trial.at.at(-1)))),
    y: metricScale(points.flatMap(line => line.map(([, value]) => value)), mode),
    xName: 'epoch', yName: name, whole: 'x', label: `${name} of every trial by epoch`,
  });
  const back = shown.length > 100 ? 'curve faint' : 'curve';
  for (let i = shown.length - 1; i >= 0; --i)
    markTrial(plot.line(points[i], i < FRONT_CURVES ? frontCss(i) : back), shown[i].id, trialText(run, shown[i]));
  const front = shown.slice(0, FRONT_CURVES);
  return [figure(plot.picture, legend(front.map((trial, i) => frontKey(i, trial))),
                 front.length === 1 ? 'The best trial is in front.' : `The ${front.length} best trials are in front.`,
                 drawnText(shown.length, run.placed, 'curves'))];
};
addSection({id: 'curves', title: 'Learning curves', after: 'history', draw: curves});

// The metrics beside the first, of the best trials. Training stands beside validation.
const metrics = run => {
  const best = placed(run).slice(0, FRONT_CURVES), names = run.metrics.map(metric => metric.name);
  if (!best.length || names.length < 2) return null;
  const both = names.includes('train_loss') && names.includes('val_loss');
  const isLoss = name => name === 'train_loss' || name === 'val_loss';
  const panels = names.slice(1).filter(name => !both || !isLoss(name)).map(name => [name, [name]]);
  if (both) panels.unshift(['loss', ['val_loss', 'train_loss']]);
  const panel = ([title, lines]) => {
    const shown = lines.map(name => names.indexOf(name));
    const values = best.flatMap(trial => shown.flatMap(m => trial.values[m]));
    const plot = new Plot({
      box: {width: 280, height: 174, left: 52, top: 26, right: 262, bottom: 150},
      x: new Scale('linear', 0, Math.max(1, ...best.map(trial => trial.at.at(-1)))),
      y: metricScale(values, run.metrics[shown[0]].mode),
      yName: title, whole: 'x', ticks: [4, 4], label: `${title} by epoch`, css: 'small',
    });
    for (let i = best.length - 1; i >= 0; --i)
      for (const m of shown) {
        const css = `${frontCss(i)} thin${names[m] === 'train_loss' ? ' dashed' : ''}`;
        markTrial(plot.line(pointsOf(best[i], m), css), best[i].id, `${names[m]} ${shortNumber(best[i].best[m])}`);
      }
    return plot.picture;
  };
  const which = best.length === 1 ? 'The best trial' : `The ${best.length} best trials`;
  const losses = both ? '; loss: validation drawn through, training dashed (a mean over the epoch, with dropout and ' +
                        'augmentation)' : '';
  return [multiples(panels.map(panel), legend(best.map((trial, i) => frontKey(i, trial))), `${which} by epoch${losses}.`)];
};
addSection({id: 'metrics', title: 'Other metrics', after: 'trial', draw: metrics});

// A searched key as an axis: a range of numbers, or categories at 0, 1, 2, ...
const keyScale = key => key.categories ? new Scale('linear', -0.3, Math.max(0, key.categories.length - 1) + 0.3)
  : new Scale(key.log ? 'log' : 'linear', key.low, key.high);
const keyTicks = (key, about) => {
  if (!key.categories) return keyScale(key).ticks(about).filter(tick => !key.whole || Number.isInteger(tick.value));
  const every = Math.max(1, Math.ceil(key.categories.length / 12));
  return key.categories.map((text, value) => ({value, text: cutText(text, 20)})).filter(({value}) => value % every === 0);
};

const ranked = run => run.groups.filter(group => group.value !== null);  // best first

const slices = run => {
  const groups = ranked(run), {name, mode} = run.metrics[0];
  if (!run.keys.length || groups.length < 2) return null;
  const slice = (key, k) => {
    const plot = new Plot({
      box: {width: 300, height: 206, left: 62, top: 26, right: 290, bottom: 170},
      x: keyScale(key), y: metricScale(groups.map(group => group.value), mode),
      yName: cutText(key.name, 40), ticks: [0, 4], label: `${name} by ${key.name}`, css: 'small',
    });
    const ticks = keyTicks(key, 4), room = 228 / Math.max(1, ticks.length);
    for (const {value, text} of ticks) plot.xTick(value, cutText(text, Math.max(4, Math.floor(room / 6.5))));
    groups.forEach((group, i) => {
      if (group.keys[k] === null) return;
      const dot = plot.dot(group.keys[k], group.value, i ? 3 : 4.5, i ? 'dot f1' : 'dot f2 first');
      markGroup(dot, group.trial, groupText(run, group));
    });
    run.selection.brush(plot, `slice ${k}`, trial => {
      const group = run.groupOf.get(trial.id);
      return group && group.keys[k] !== null ? [group.keys[k], group.value] : [NaN, NaN];
    });
    return plot.picture;
  };
  return [multiples(run.keys.map(slice), `${name} of each configuration by one key. Orange: the best. Drag over points to ` +
    'select them.' + drawnText(groups.length, run.groupCount, 'points') +
    drawnText(run.keys.length, run.keyCount, 'keys'))];
};
addSection({id: 'slices', title: 'One key at a time', after: 'importance', draw: slices});

const PARALLEL = {left: 60, width: 740, top: 50, bottom: 300, none: 326};

const parallelAxes = run => {
  const {left, width, top, bottom} = PARALLEL, {name, mode} = run.metrics[0];
  const keys = run.keys.slice(0, MOST_AXES), gap = width / keys.length;
  const values = metricScale(run.groups.map(group => group.value), mode).between(bottom, top);
  const place = (scale, value) => value === null ? PARALLEL.none : scale.at(value);
  const axes = [{name, x: left, scale: values, ticks: values.ticks(5), y: group => place(values, group.value), none: false}];
  keys.forEach((key, k) => {
    const scale = keyScale(key).between(bottom, top);
    axes.push({name: key.name, x: left + gap * (k + 1), scale, ticks: keyTicks(key, 5),
               y: group => place(scale, group.keys[k]), none: run.groups.some(group => group.keys[k] === null)});
  });
  return axes;
};

const drawParallelAxis = (picture, axis, number, room) => {
  const {x, scale} = axis, {top, bottom, none} = PARALLEL;
  const text = (at, y, words, css) => picture.append(shape('text', {x: at, y, class: css}, words));
  picture.append(shape('path', {d: placesText([[x, top], [x, bottom]]), class: 'axis'}));
  const wide = room > 90, cut = Math.max(8, Math.floor(room / (wide ? 7 : 4)));
  text(x, wide || number % 2 === 0 ? top - 14 : top - 30, cutText(axis.name, cut), 'name mid');
  for (const tick of axis.ticks) {
    const y = scale.at(tick.value);
    picture.append(shape('path', {d: placesText([[x - 4, y], [x, y]]), class: 'axis'}));
    text(x - 7, y + 4, cutText(tick.text, 14), 'tick end halo');
  }
  if (axis.none) text(x - 7, none + 4, 'none', 'tick end halo');
};

// Dragging along an axis selects the configurations that pass through this part of it.
const brushAxis = (run, picture, axis, number) => {
  const {top, none} = PARALLEL, name = `axis ${number}`;
  const chosen = shape('rect', {class: 'chosen', x: axis.x - 6, width: 12});
  const handle = shape('rect', {class: 'brush', x: axis.x - 12, y: top - 4, width: 24, height: none + 10 - top});
  const show = (first, last) => {
    const [from, until] = [first.y, last.y].sort((a, b) => a - b);
    chosen.setAttribute('y', from);
    chosen.setAttribute('height', until - from);
    picture.insertBefore(chosen, handle);
    run.selection.set(name, trial => {
      const group = run.groupOf.get(trial.id), y = group ? axis.y(group) : NaN;
      return y >= from && y <= until;
    }, () => chosen.remove());
  };
  onDrag(handle, picture, {moved: show, ended: show, clicked: () => run.selection.set(name, null), touch: true});
  picture.append(handle);
};

const parallel = run => {
  const groups = ranked(run), {name} = run.metrics[0];
  if (!run.keys.length || groups.length < 2) return null;
  const axes = parallelAxes(run), shown = thinned(groups, MOST_PATHS, FRONT_PATHS);
  const room = PARALLEL.width / (axes.length - 1);
  const picture = newPicture(860, 340, `${name} and the searched keys, a line for each configuration`, 'wide parallel');
  const best = Math.max(1, Math.floor(run.groupCount / 10));
  for (let i = shown.length - 1; i >= 0; --i) {
    const css = i === 0 ? 'pline first' : groups.indexOf(shown[i]) < best ? 'pline good' : 'pline';
    const line = shape('path', {class: css, d: placesText(axes.map(axis => [axis.x, axis.y(shown[i])]))});
    picture.append(markGroup(line, shown[i].trial, groupText(run, shown[i])));
  }
  axes.forEach((axis, number) => drawParallelAxis(picture, axis, number, room));
  axes.forEach((axis, number) => brushAxis(run, picture, axis, number));
  return [figure(picture, legend([['f2', 'best'], ['f1', 'best tenth'], ['fgrey', 'others']]),
                 'A line is a configuration. Drag along an axis to select a part of it; click the axis to let go.',
                 drawnText(shown.length, run.groupCount, 'lines'), drawnText(axes.length - 1, run.keyCount, 'keys'))];
};
addSection({id: 'parallel', title: 'Parallel coordinates', after: 'errors', draw: parallel});
