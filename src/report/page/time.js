// SPDX-License-Identifier: Apache-2.0
// Trainers over time, and the parts of each trainer's time.

const ROWS = {left: 80, right: 840, top: 14}, MOST_IDLE_ROWS = 32, MOST_PATH = 600;
const PIECES = [['f1', 'training'], ['f2', 'validation'], ['f4', 'a unit was ready']];  // by kind
const PARTS = ['f1', 'f2', 'f4', 'f6', 'f5', 'f7'];  // by part

class Timeline {
  constructor(run) {
    this.run = run;
    this.time = run.time;
    this.height = this.time.rows <= 8 ? 26 : this.time.rows <= 24 ? 18 : 11;
    this.bottom = ROWS.top + this.height * this.time.rows;
    this.unit = timeUnit(run.end);
    this.picture = newPicture(860, this.bottom + 44, 'what each trainer did over time', 'wide timeline');
    this.ticks = shape('g', {class: 'ticks'});
    this.marks = shape('svg', {x: ROWS.left, y: 0, width: ROWS.right - ROWS.left, height: this.bottom,
                               viewBox: `${ROWS.left} 0 ${ROWS.right - ROWS.left} ${this.bottom}`});
    this.picture.append(this.ticks);
    for (let row = 0; row < this.time.rows; ++row) {
      const y = this.top(row), middle = y + this.height / 2 + 4;
      this.picture.append(shape('rect', {x: ROWS.left, y: y + 2, width: ROWS.right - ROWS.left, height: this.height - 4,
                                         class: 'idle'}));
      if (this.height >= 14 || row % 4 === 0)
        this.picture.append(shape('text', {x: ROWS.left - 8, y: middle, class: 'tick end'}, `trainer ${row}`));
    }
    this.picture.append(this.marks, shape('text', {x: (ROWS.left + ROWS.right) / 2, y: this.bottom + 36, class: 'name mid'},
                                          `time in the run (${this.unit.name})`));
    this.show(0, run.end);
    this.listen();
  }

  top(row) { return ROWS.top + this.height * row; }

  // Draws the part from `from` to `until` (seconds).
  show(from, until) {
    const {run} = this, span = Math.min(run.end, Math.max(until - from, run.end / 1e5));
    this.from = Math.max(0, Math.min(from, run.end - span));
    this.until = this.from + span;
    this.scale = new Scale('linear', this.from / this.unit.seconds, this.until / this.unit.seconds, ROWS.left, ROWS.right);
    this.ticks.replaceChildren();
    for (const {value, text} of this.scale.ticks(8)) {
      const x = this.scale.at(value);
      this.ticks.append(shape('path', {d: placesText([[x, ROWS.top], [x, this.bottom]]), class: 'rule'}),
                        shape('text', {x, y: this.bottom + 16, class: 'tick mid'}, text));
    }
    this.marks.replaceChildren();
    this.drawPieces();
    this.drawCells();
    this.drawCheckpoints();
    this.drawWays();
    this.drawLosses();
    run.selection.apply();
  }

  x(seconds) { return this.scale.at(seconds / this.unit.seconds); }
  shown(start, end) { return end >= this.from && start <= this.until; }

  drawPieces() {
    for (const [kind, row, trial, epoch, shard, start, lasted] of this.time.pieces) {
      if (!this.shown(start, start + lasted)) continue;
      const x = this.x(start), width = Math.max(0.4, this.x(start + lasted) - x);
      const what = kind ? PIECES[kind][1] : `shard ${shard}`;
      const piece = shape('rect', {class: PIECES[kind][0], x, y: this.top(row) + 2, width, height: this.height - 4});
      this.marks.append(markTrial(piece, trial, `epoch ${epoch}, ${what}: ${secondsText(lasted)}`));
    }
  }

  // Shares of each part of the time, for runs of many units: a row has a digit of 0 to a (tenths) for each part.
  drawCells() {
    this.time.cells.forEach((kinds, row) => kinds.forEach((digits, kind) => {
      const bottom = this.top(row) + this.height - 2, width = this.run.end / digits.length;
      let path = `M${ROWS.left} ${bottom}`, known = '0';
      for (let c = 0; c < digits.length; ++c) {
        if (!this.shown(c * width, (c + 1) * width) || digits[c] === known) continue;
        known = digits[c];
        path += `H${this.x(c * width).toFixed(1)}V${(bottom - (this.height - 4) * parseInt(known, 16) / 10).toFixed(1)}`;
      }
      this.marks.append(shape('path', {class: ['f4', 'f2', 'f1'][kind], d: `${path}H${ROWS.right}V${bottom}Z`}));
    }));
  }

  // Another thread of the trainer writes them, so they lie beside units: a thin bar at the lower edge of the row.
  drawCheckpoints() {
    for (const [row, start, lasted, name] of this.time.checkpoints) {
      if (!this.shown(start, start + lasted)) continue;
      const x = this.x(start), y = this.top(row) + this.height - 5;
      const bar = shape('rect', {class: 'f6', x, y, width: Math.max(0.8, this.x(start + lasted) - x), height: 3});
      hovers.set(bar, `checkpoint (${name}): ${secondsText(lasted)}`);
      this.marks.append(bar);
    }
  }

  way(steps) {
    const x = seconds => this.scale.beyond(seconds / this.unit.seconds);
    return placesText(steps.flatMap(([row, start, lasted]) => {
      const y = this.top(row) + this.height / 2;
      return [[x(start), y], [x(start + lasted), y]];
    }));
  }

  // From trainer to trainer: that of the best trial, and those of all trials, unseen until their trial lights up.
  drawWays() {
    if (this.time.rows < 2) return;
    const {path} = this.time, ways = new Map();
    if (path.length && path.length <= MOST_PATH) {
      const line = shape('path', {class: 'hops', d: this.way(path)});
      hovers.set(line, 'the way of the best trial');
      this.marks.append(line);
    }
    for (const [kind, row, trial, , , start, lasted] of this.time.pieces) {
      if (kind === 2) continue;
      if (!ways.has(trial)) ways.set(trial, []);
      ways.get(trial).push([row, start, lasted]);
    }
    for (const [trial, steps] of ways)
      this.marks.append(markTrial(shape('path', {class: 'way', d: this.way(steps)}), trial));
  }

  drawLosses() {
    for (const at of this.time.pauses.filter(time => this.shown(time, time)))
      this.marks.append(shape('path', {class: 'pause',
                                       d: placesText([[this.x(at), ROWS.top - 6], [this.x(at), this.bottom]])}));
    for (const [row, at] of this.time.losses.filter(([, time]) => this.shown(time, time)))
      this.marks.append(shape('text', {x: this.x(at), y: this.top(row) + this.height / 2 + 5, class: 'lost mid'}, '×'));
  }

  // Zoom by dragging over a span.
  listen() {
    const seconds = place => this.scale.value(place.x) * this.unit.seconds;
    const chosen = shape('rect', {class: 'chosen', y: ROWS.top, height: this.bottom - ROWS.top});
    const span = (first, last) => [seconds(first), seconds(last)].sort((a, b) => a - b);
    onDrag(this.picture, this.picture, {
      moved: (first, last) => {
        const [from, until] = span(first, last).map(time => this.x(time));
        chosen.setAttribute('x', from);
        chosen.setAttribute('width', until - from);
        this.picture.append(chosen);
      },
      ended: (first, last) => {
        chosen.remove();
        const [from, until] = span(first, last);
        if (until - from > (this.until - this.from) / 100) this.show(from, until);
      },
    });
  }

  buttons() {
    const out = make('p', undefined, 'zoom');
    const button = (name, from, until) => {
      const each = make('button', name);
      each.type = 'button';
      each.addEventListener('click', () => {
        const span = this.until - this.from;
        this.show(this.from + span * from, this.until + span * until);
      });
      out.append(each, ' ');
    };
    button('Zoom in', 0.25, -0.25);
    button('Zoom out', -0.5, 0.5);
    button('Earlier', -0.5, -0.5);
    button('Later', 0.5, 0.5);
    button('All', -1e6, 1e6);
    out.append('or drag over a part of the picture.');
    return out;
  }
}

const timeline = run => {
  if (!run.time) return null;
  const {time} = run, entries = [...PIECES];
  const line = new Timeline(run);
  if (time.checkpoints.length) entries.push(['f6', 'a checkpoint']);
  entries.push(['fback', 'nothing was ready']);
  if (time.rows > 1 && time.path.length && time.path.length <= MOST_PATH)
    entries.push(['fink', 'the way of the best trial']);
  const words = [];
  if (time.pieces.length && time.rows > 1) words.push('The hops of a trial appear under the mouse.');
  if (time.cells.length) words.push('The height of a bar is the share of the time.');
  if (time.pauses.length) words.push('Dashed: another job took over; the time between jobs is left out.');
  if (time.unseen) words.push(`${plural(time.unseen, 'checkpoint')} are not drawn.`);
  if (time.trainers > time.rows) words.push(`${time.rows} of ${time.trainers} trainers are drawn.`);
  return [figure(line.picture, legend(entries), line.buttons(), words.join(' '))];
};
addSection({id: 'timeline', title: 'Trainers over time', draw: timeline});

const idle = run => {
  if (!run.time) return null;
  const {parts, partNames} = run.time, shown = parts.slice(0, MOST_IDLE_ROWS), sums = PARTS.map(() => 0);
  for (const row of parts) row.forEach((seconds, i) => { sums[i] += seconds; });
  const picture = newPicture(860, 24 * (shown.length + 1) + 8, "parts of each trainer's time");
  const draw = (row, name, top) => {
    const total = row.reduce((a, b) => a + b, 0);
    let x = ROWS.left;
    picture.append(shape('text', {x: x - 8, y: top + 15, class: 'tick end'}, name));
    row.forEach((seconds, i) => {
      const share = total > 0 ? seconds / total : 0, width = share * (ROWS.right - ROWS.left);
      if (!(share > 0)) return;
      const bar = shape('rect', {class: PARTS[i], x, y: top + 2, width, height: 18});
      hovers.set(bar, `${partNames[i]}: ${secondsText(seconds)} (${(100 * share).toFixed(1)} %)`);
      picture.append(bar);
      x += width;
    });
  };
  draw(sums, 'all', 0);
  shown.forEach((row, t) => draw(row, `trainer ${t}`, 24 * (t + 1) + 6));
  return [figure(picture, legend(PARTS.map((css, i) => [css, partNames[i]])),
                 drawnText(shown.length, parts.length, 'trainers'))];
};
addSection({id: 'idle', draw: idle});
