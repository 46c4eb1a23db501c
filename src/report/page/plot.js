// SPDX-License-Identifier: Apache-2.0
// Pictures with two axes, and what stands around a picture.

// The sections with pictures: {id, title, after, draw}. after: the section before it; without it: report_page.cpp writes the
// section, and pictures stand below its heading, or at its element of the class `pictures`. draw: takes a run of the page's
// data (report_data.hpp), and returns elements; null: nothing to show.
const SECTIONS = [];
const addSection = section => { SECTIONS.push(section); };

const WIDE = {width: 860, height: 362, left: 70, top: 34, right: 840, bottom: 320};

const newPicture = (width, height, label, css = 'wide') =>
  shape('svg', {class: css, viewBox: `0 0 ${+width.toFixed(1)} ${+height.toFixed(1)}`, role: 'img', 'aria-label': label});

const placesText = places => 'M' + places.map(place => place.map(value => +value.toFixed(1)).join()).join('L');

class Plot {
  // x, y: scales, which are moved to the edges of the box. whole: the axes that have ticks at whole numbers only.
  // ticks: about as many on each axis.
  constructor({box = WIDE, x, y, xName = '', yName = '', whole = '', ticks = [8, 5], label, css = 'wide'}) {
    this.box = box;
    this.x = x.between(box.left, box.right);
    this.y = y.between(box.bottom, box.top);
    this.picture = newPicture(box.width, box.height, label, css);
    this.drawAxes(xName, yName, whole, ticks);
    const {left, top, right, bottom} = box;
    this.marks = shape('svg', {x: left - 4, y: top - 6, width: right - left + 10, height: bottom - top + 10,
                               viewBox: `${left - 4} ${top - 6} ${right - left + 10} ${bottom - top + 10}`});
    this.picture.append(this.marks);
  }

  drawAxes(xName, yName, whole, ticks) {
    const {left, top, right, bottom} = this.box;
    const of = (scale, name, about) =>
      scale.ticks(about).filter(tick => !whole.includes(name) || Number.isInteger(tick.value));
    for (const {value, text} of ticks[1] ? of(this.y, 'y', ticks[1]) : []) {
      const y = this.y.at(value);
      this.text(left - 8, y + 4, text, 'tick end');
      this.picture.append(shape('path', {d: placesText([[left, y], [right, y]]), class: 'rule'}));
    }
    for (const {value, text} of ticks[0] ? of(this.x, 'x', ticks[0]) : []) this.xTick(value, text);
    this.picture.append(shape('path', {d: placesText([[left, bottom], [right, bottom]]), class: 'axis'}));
    if (xName) this.text((left + right) / 2, bottom + 36, xName, 'name mid');
    if (yName) this.text(left - 8, top - 10, yName, 'name');
  }

  xTick(value, text) {
    const x = this.x.at(value), y = this.box.bottom;
    this.picture.append(shape('path', {d: placesText([[x, y], [x, y + 4]]), class: 'axis'}));
    this.text(x, y + 18, text, 'tick mid');
  }

  text(x, y, words, css) { this.picture.append(shape('text', {x, y, class: css}, words)); }

  at(x, y) { return [this.x.at(x), this.y.at(y)]; }

  dot(x, y, r, css) {
    const [cx, cy] = this.at(x, y), out = shape('circle', {cx, cy, r, class: css});
    this.marks.append(out);
    return out;
  }

  // points: of values. One point alone becomes a ring.
  line(points, css) {
    if (points.length === 1) return this.dot(...points[0], 2.5, css);
    const out = shape('path', {d: placesText(points.map(([x, y]) => this.at(x, y))), class: css});
    if (points.length) this.marks.append(out);
    return out;
  }
}

// Small squares with their meanings. entries: [[class, text]].
const legend = entries => {
  const out = make('p', undefined, 'legend');
  for (const [css, text] of entries) {
    const key = shape('svg', {class: 'key', viewBox: '0 0 12 12', 'aria-hidden': 'true'}), entry = make('span');
    key.append(shape('rect', {class: css, width: 12, height: 12, rx: 2}));
    entry.append(key, text);
    out.append(entry);
  }
  return out;
};

// caption: text and elements.
const figure = (picture, ...caption) => {
  const out = make('figure', undefined, 'picture'), scroll = make('div', undefined, 'scroll'), below = make('figcaption');
  scroll.append(picture);
  below.append(...caption);
  out.append(scroll, below);
  return out;
};

// Small pictures side by side.
const multiples = (pictures, ...caption) => {
  const out = make('figure'), grid = make('div', undefined, 'multiples'), below = make('figcaption');
  for (const picture of pictures) {
    const holder = make('div', undefined, 'picture');
    holder.append(picture);
    grid.append(holder);
  }
  below.append(...caption);
  out.append(grid, below);
  return out;
};

const frontCss = place => `front s${place + 1}`;
const frontKey = (place, trial) => [place === 4 ? 'fink' : `f${place + 1}`, `trial ${trial.id}`];

// The place of a pointer in the units of a picture.
const placeOf = (picture, event) =>
  new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());

// The user drags over an element of a picture: from the first place to the present one. A movement of less than a few
// units is a click and no drag. Fingers scroll, unless touch says that they drag. moved, ended: of (first, last place).
const onDrag = (element, picture, {moved, ended, clicked = () => {}, touch = false}) => {
  let first = null, dragging = false;
  element.addEventListener('pointerdown', event => {
    if (event.button !== 0 || (event.pointerType === 'touch' && !touch)) return;
    first = placeOf(picture, event);
    dragging = false;
  });
  element.addEventListener('pointermove', event => {
    if (!(event.buttons & 1)) first = null;  // released outside
    if (first === null) return;
    const last = placeOf(picture, event);
    if (!dragging && Math.hypot(last.x - first.x, last.y - first.y) < 4) return;
    if (!dragging) element.setPointerCapture(event.pointerId);
    dragging = true;
    moved(first, last);
  });
  const end = event => {
    if (first === null) return;
    if (dragging) ended(first, placeOf(picture, event)); else clicked(event);
    first = null;
  };
  element.addEventListener('pointerup', end);
  element.addEventListener('pointercancel', end);
};
