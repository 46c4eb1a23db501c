// SPDX-License-Identifier: Apache-2.0
// Elements of the page, and numbers as texts.
'use strict';

const all = (from, what) => Array.from(from.querySelectorAll(what));

const make = (name, text, css) => {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  if (css) out.className = css;
  return out;
};

// An element of a picture.
const shape = (name, attributes, text) => {
  const out = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes))
    out.setAttribute(key, typeof value === 'number' ? +value.toFixed(1) : value);
  if (text !== undefined) out.textContent = text;
  return out;
};

// What stands in the box beside the mouse while it rests on an element.
const hovers = new WeakMap();

// An element that stands for a trial: it lights up with the others of that trial, a click shows the trial, and it fades
// while the trial is not selected. trial: its id.
const markTrial = (element, trial, hover) => {
  element.dataset.t = trial;
  hovers.set(element, hover || '');
  return element;
};

// Of a group of copies: the mark has the id of its first trial.
const markGroup = (element, trial, hover) => {
  element.dataset.g = '';
  return markTrial(element, trial, hover);
};

const cutText = (text, most) => text.length <= most ? text : text.slice(0, Math.max(0, most - 3)) + '...';

const plural = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`;

// 4 digits: "0.9722", "1.5e-05"; null: "-".
const shortNumber = value => {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e7) return value.toFixed(0);
  const rounded = +value.toPrecision(4);
  if (value === 0 || (size >= 1e-4 && size < 1e4)) return String(rounded);
  return rounded.toExponential().replace(/([+-])(\d)$/, (_, sign, digit) => `${sign}0${digit}`);
};

// "0.42 s", "12.3 s", "4 min 05 s", "2 h 05 min", "3.2 d".
const secondsText = seconds => {
  if (!Number.isFinite(seconds) || seconds < 0) return '-';
  if (seconds < 60) return `${+seconds.toPrecision(seconds < 1 ? 2 : 3)} s`;
  const whole = Math.round(seconds), two = number => String(Math.floor(number)).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h ${two(whole % 3600 / 60)} min`;
  return `${+(seconds / 86400).toPrecision(3)} d`;
};

// Seconds as hours, minutes or seconds, whichever suits the longest time.
const timeUnit = longest => longest >= 7200 ? {seconds: 3600, name: 'h'}
  : longest >= 180 ? {seconds: 60, name: 'min'} : {seconds: 1, name: 's'};

// At most `most` of the items: the first ones, and the others evenly.
const thinned = (items, most, first) => {
  if (items.length <= most) return items;
  const rest = items.length - first, room = most - first;
  return [...items.slice(0, first), ...Array.from({length: room}, (_, i) => items[first + Math.floor(i * rest / room)])];
};
