// SPDX-License-Identifier: Apache-2.0
// Uses report.html as a person does, and says in the title what is wrong. browser_test.py puts this behind the page's own
// script, with SECTIONS_EXPECTED.
{
  const wrong = [], section = id => document.getElementById(id);
  const expect = (words, holds) => { if (!holds) wrong.push(words); };
  const same = (words, found, wanted) =>
    expect(`${words}: ${JSON.stringify(found)}`, JSON.stringify(found) === JSON.stringify(wanted));
  const run = JSON.parse(document.getElementById('data').textContent).runs[0];
  const row = trial => section('leaderboard').querySelector(`tr[data-t="${trial}"]`);
  const marks = id => all(section(id), 'svg [data-t]');
  const clear = () => section('answer').parentElement.querySelector('.finder button').click();

  // Events of a mouse at a place of a picture, in the units of its view box.
  Element.prototype.setPointerCapture = () => {};
  const pointer = (element, picture, kind, x, y) => {
    const {x: clientX, y: clientY} = new DOMPoint(x, y).matrixTransform(picture.getScreenCTM());
    element.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerId: 1, button: 0, buttons: 1, clientX, clientY}));
  };
  const drag = (element, picture, from, to) => {
    pointer(element, picture, 'pointerdown', ...from);
    pointer(element, picture, 'pointermove', ...to);
    pointer(element, picture, 'pointerup', ...to);
  };

  const ORDER = ['answer', 'history', 'curves', 'leaderboard', 'trial', 'metrics', 'errors', 'parallel', 'importance',
                 'slices', 'pareto', 'rungs', 'family', 'timeline', 'idle', 'bytes', 'memory', 'failures', 'reproduce'];

  const visitSections = () => {
    const {scrollWidth, clientWidth} = document.documentElement;
    expect(`wider than the page: ${scrollWidth}`, scrollWidth <= clientWidth);
    for (const id of SECTIONS_EXPECTED)
      expect(`no picture in ${id}`, section(id) && section(id).querySelector('svg, .one-trial'));
    const links = all(document, 'nav a').map(link => link.getAttribute('href').slice(1));
    expect('a link to nowhere', links.every(id => section(id)));
    const ids = all(document, 'section').map(each => each.id);
    same('order of the sections', ids, ORDER.filter(id => ids.includes(id)));
    same('sections and links', links, ids.filter(id => id !== 'answer'));
    expect('a picture without a name', all(document, 'svg:not(svg svg)').every(picture => picture.matches('.key, .bar') ||
                                                                               picture.getAttribute('aria-label')));
    const numbers = all(document, 'svg, svg *').flatMap(each => Array.from(each.attributes, attribute => attribute.value));
    expect('a place that is not a number', !numbers.some(text => /NaN|Infinity|undefined/.test(text)));
  };

  const visitTables = () => {
    const head = all(section('leaderboard'), 'thead th').find(each => each.textContent.includes('trial'));
    const ids = () => all(section('leaderboard'), 'tbody tr').map(each => +each.dataset.t), first = ids();
    const seen = () => all(section('leaderboard'), 'tbody tr').filter(each => each.checkVisibility()).length;
    const button = section('leaderboard').querySelector('button.all');
    same('rows at first', [seen(), Boolean(button)], [Math.min(25, first.length), first.length > 25]);
    if (button) button.click();
    head.click();
    same('rows after a click', seen(), first.length);
    same('sorted by trial', ids(), [...first].sort((a, b) => a - b));
    head.click();
    same('sorted down', ids(), [...first].sort((a, b) => b - a));
  };

  const visitFinder = () => {
    const input = document.querySelector('.finder input');
    const count = () => document.querySelector('.finder .count').textContent;
    const find = words => { input.value = words; input.dispatchEvent(new Event('input')); };
    find('nothing has this name');
    expect('rows of nothing', all(section('leaderboard'), 'tbody tr').every(each => each.classList.contains('gone')));
    expect('marks of nothing', marks('curves').every(mark => mark.classList.contains('off')));
    same('count of nothing', count(), `0 of ${run.trials.length} trials`);
    const {id, config} = run.trials[0], [path, value] = config[0];
    find(`${path}=${value}`);
    const fits = run.trials.filter(trial => trial.config.some(([p, v]) => p === path && v.startsWith(value))).length;
    same('count of a value', count(), `${fits} of ${run.trials.length} trials`);
    expect('the curve of a trial that was found',
           marks('curves').some(mark => +mark.dataset.t === id && !mark.matches('.off')));
    find(`trial ${id}`);
    same('count of one trial', count(), `1 of ${run.trials.length} trials`);
    expect('its row', !row(run.groups.find(group => group.trials.includes(id)).trials[0]).matches('.gone'));
    clear();
    same('words after all', input.value + count(), '');
    expect('marks are back', !document.querySelector('.off, .gone'));
  };

  const visitBrushes = () => {
    const picture = section('history').querySelector('svg.wide'), box = [[60, 20], [850, 330]];
    drag(picture, picture, ...box);
    const known = run.trials.filter(trial => trial.best[0] !== null).map(trial => trial.id);
    const lit = () => [...new Set(marks('history').filter(mark => !mark.matches('.off')).map(mark => +mark.dataset.t))];
    same('all points', lit().sort((a, b) => a - b), known.sort((a, b) => a - b));
    expect('the part that was chosen', picture.querySelector('.chosen'));
    pointer(picture, picture, 'pointerdown', 300, 200);
    picture.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 400, clientY: 400}));
    same('released outside', lit().length, known.length);
    drag(picture, picture, [60, 20], [64, 24]);
    same('a corner', lit(), []);
    pointer(picture, picture, 'pointerdown', 300, 200);
    pointer(picture, picture, 'pointerup', 300, 200);
    expect('a click lets go', !document.querySelector('.off, .gone, .chosen'));
    const lines = section('parallel') && section('parallel').querySelector('svg.parallel');
    if (!lines) return;
    const [axis] = all(lines, '.brush'), best = marks('parallel').at(-1);
    const [x, y] = best.getAttribute('d').slice(1).split(/[,L]/);
    drag(axis, lines, [+x, y - 5], [+x, +y + 1]);
    expect('the best line', !best.matches('.off') && marks('parallel').some(mark => mark.matches('.off')));
    expect('the axis filters other pictures', marks('history').some(mark => mark.matches('.off')));
    expect('the axis filters rows',
           all(section('leaderboard'), 'tr.gone').length > 0 && !row(best.dataset.t).matches('.gone'));
    clear();
    expect('all are back', !document.querySelector('.off, .gone, .chosen'));
  };

  const visitTrial = () => {
    const chosen = () => section('trial').querySelector('.chosen-trial');
    const heading = () => chosen().querySelector('h3').textContent;
    same('the best first', heading(), `Trial ${run.best[0]}`);
    const mark = marks('history').find(each => heading() !== `Trial ${each.dataset.t}`);
    const trial = run.trials.find(each => each.id === +mark.dataset.t), box = document.querySelector('.hover');
    mark.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, clientX: 300, clientY: 300}));
    expect('no box', !box.hidden);
    for (const [path, value] of trial.config)
      expect(`${path} in the box`, all(box, 'tr').some(each => each.textContent === path + value));
    expect('marks do not light up', marks('curves').some(each => each.dataset.t === mark.dataset.t && each.matches('.hi')));
    expect('the row does not light up', !row(trial.id) || row(trial.id).matches('.hi'));
    document.body.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
    expect('still lit', box.hidden && !document.querySelector('.hi'));
    mark.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    same('the trial that was clicked', heading(), `Trial ${trial.id}`);
    expect('no curves', all(chosen(), 'svg path.front, svg circle').length > 1);
  };

  const visitTimeline = () => {
    const time = section('timeline').querySelector('svg.timeline'), pieces = () => all(time, 'rect[data-t]').length;
    const ticks = () => all(time, '.ticks text').map(text => text.textContent), first = ticks(), drawn = pieces();
    const places = () => all(time, '.ticks text').map(text => +text.getAttribute('x'));
    const button = name => all(section('timeline'), '.zoom button').find(each => each.textContent === name);
    same('pieces', drawn, run.time.pieces.length);
    button('Zoom in').click();
    expect(`not zoomed: ${ticks()}`, ticks().join() !== first.join() && ticks().length > 2 && ticks().length < 14);
    expect(`ticks beside the picture: ${places()}`, places().every(x => x >= 79.9 && x <= 840.1));
    const middle = ticks();
    button('Earlier').click();
    expect('not moved', ticks().join() !== middle.join());
    button('All').click();
    same('as before', [ticks(), pieces()], [first, drawn]);
    drag(time, time, [300, 20], [350, 20]);
    expect('not zoomed by dragging', ticks().join() !== first.join() && pieces() < drawn && !time.querySelector('.chosen'));
    button('All').click();
    const way = () => all(time, '.hops').flatMap(each => each.getAttribute('d').slice(1).split('L').map(parseFloat));
    const [begin = 840] = way();
    if (begin > 820) return;  // one trainer, or the way is at the end
    drag(time, time, [begin + 5, 20], [begin + 20, 20]);
    expect(`the way begins at the edge: ${way()[0]}`, way()[0] < 79);
    button('All').click();
  };

  const savedFiles = [];
  const visitSaves = async () => {
    const {createObjectURL} = URL, {click} = HTMLAnchorElement.prototype;
    URL.createObjectURL = blob => { savedFiles.push(blob); return 'blob:none'; };
    HTMLAnchorElement.prototype.click = () => {};
    section('leaderboard').querySelector('button.save').click();
    document.querySelector('.finder input').value = 'nothing has this name';
    document.querySelector('.finder input').dispatchEvent(new Event('input'));
    all(document, '.picture > button.save').forEach(button => button.click());
    Object.assign(URL, {createObjectURL});
    Object.assign(HTMLAnchorElement.prototype, {click});
    clear();
    const [csv, ...pictures] = await Promise.all(savedFiles.map(blob => blob.text()));
    const lines = csv.trimEnd().split('\r\n'), heads = all(section('leaderboard'), 'thead th').map(each => each.textContent);
    same('lines of the table', lines.length, run.groups.length + 1);
    same('heads of the table', lines[0], heads.join());
    const cells = all(section('leaderboard'), 'tbody tr').map(each => each.cells[1].textContent);
    same('trials of the table', lines.slice(1).map(line => line.split(',')[1]), cells);
    expect('too few pictures', pictures.length > 5);
    expect('faded marks are not saved so', pictures[0].includes('opacity="0.07"'));
    for (const text of pictures) {
      const picture = new DOMParser().parseFromString(text, 'image/svg+xml');
      expect(`not well formed: ${text.slice(0, 200)}`, !picture.querySelector('parsererror'));
      expect('depends on the page', !/class=|data-t=|var\(/.test(text));
      expect('nothing is drawn', picture.querySelectorAll('path, circle, rect').length > 1);
    }
  };

  const visitScales = () => {
    const texts = (kind, low, high, about) => new Scale(kind, low, high).ticks(about).map(tick => tick.text).join(' ');
    same('ticks', texts('linear', 0, 10, 5), '0 2 4 6 8 10');
    same('ticks of a part', texts('linear', 0.93, 0.981, 5), '0.94 0.96 0.98');
    same('ticks around 0', texts('linear', -0.3, 0.3, 3), '-0.2 0 0.2');
    same('decades', texts('log', 0.001, 1, 5), '0.001 0.01 0.1 1');
    same('less than a decade', texts('log', 2, 9, 4), '2 4 6 8');
    same('one value', texts('linear', 5, 5, 5), '5');
    const scale = new Scale('linear', 0, 10, 100, 0), log = new Scale('log', 0.001, 10, 0, 400);
    same('places', [0, 2.5, 11, NaN].map(value => scale.at(value)), [100, 75, 0, 100]);
    same('values', [scale.value(75), +log.value(log.at(0.1)).toFixed(9)], [2.5, 0.1]);
    same('a place on a log scale', [log, log.between(0, 400)].map(each => Math.round(each.at(0.1))), [200, 200]);
    same('in the middle', new Scale('linear', 3, 3, 0, 10).at(3), 5);
    expect('log of 0', !new Scale('log', 0, 10).log);
    const odd = [0, 1, -1, 1e-320, 1e300, 1.7e308, -1.7e308, Infinity, -Infinity, NaN, 1e-9, 1 + 1e-15];
    for (const low of odd)
      for (const high of odd)
        for (const kind of ['linear', 'log']) {
          const each = new Scale(kind, low, high, 0, 100);
          expect(`ticks from ${low} to ${high}`, each.ticks(8).length <= 12);
          expect(`places from ${low} to ${high}`, odd.every(value => each.at(value) >= 0 && each.at(value) <= 100));
        }
    same('numbers', [0.97222, 1.5e-5, 0, 12345.6, NaN, 1e7].map(shortNumber),
         ['0.9722', '1.5e-05', '0', '12346', '-', '1e+07']);
    same('times', [0.4234, 12.34, 245, 7500, NaN].map(secondsText), ['0.42 s', '12.3 s', '4 min 05 s', '2 h 05 min', '-']);
    same('units of time', [100, 3600, 36000].map(longest => timeUnit(longest).name), ['s', 'min', 'h']);
    same('thinned', [thinned([0, 1, 2], 10, 5), thinned([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4, 2)], [[0, 1, 2], [0, 1, 2, 6]]);
  };

  (async () => {
    const visits = [visitSections, visitScales, visitTables, visitFinder, visitBrushes, visitTrial, visitTimeline,
                    visitSaves];
    for (const visit of visits)
      try {
        await visit();
      } catch (error) {
        wrong.push(`${visit.name}: ${error.stack}`);
      }
    document.title = 'visited: ' + JSON.stringify(wrong);
  })();
}
