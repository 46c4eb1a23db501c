// SPDX-License-Identifier: Apache-2.0
// From values to places on a picture, with ticks at round numbers.

const MOST_TICKS = 12;

// 1, 2 or 5 times a power of ten.
const roundStep = least => {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find(factor => factor * power >= least * (1 - 1e-9)) || 10);
};

const tickText = (value, step) => {
  if (Math.abs(value) < step * 1e-6) return '0';
  if (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4) return shortNumber(value);
  return value.toFixed(Math.min(8, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))));
};

// Values from low to high lie between the places `from` and `to`, which may be the smaller. low == high lies in the middle.
// A logarithmic scale of values that are not all above 0 is linear.
class Scale {
  constructor(kind, low, high, from = 0, to = 1) {
    const most = 1e300, within = (value, least) => Math.min(most, Math.max(least, value));
    this.low = Number.isFinite(low) ? within(low, -most) : 0;
    this.high = Number.isFinite(high) ? within(high, this.low) : this.low;
    this.log = kind === 'log' && this.low > 0;
    this.from = from;
    this.to = to;
  }

  between(from, to) { return new Scale(this.log ? 'log' : 'linear', this.low, this.high, from, to); }

  position(value) {
    if (this.high === this.low) return 0.5;
    if (!(value > this.low)) return 0;
    if (value >= this.high) return 1;
    if (this.log) return (Math.log(value) - Math.log(this.low)) / (Math.log(this.high) - Math.log(this.low));
    return (value / 2 - this.low / 2) / (this.high / 2 - this.low / 2);  // halves: the difference of huge numbers is finite
  }

  // Values outside lie at the nearer end; NaN at `from`.
  at(value) { return this.from + (this.to - this.from) * this.position(Number.isFinite(value) ? value : this.low); }

  // Of a linear scale; values outside lie outside.
  beyond(value) { return this.from + (this.to - this.from) * (value - this.low) / (this.high - this.low); }

  // The value at a place.
  value(place) {
    const share = Math.min(1, Math.max(0, (place - this.from) / (this.to - this.from)));
    return this.log ? this.low * (this.high / this.low) ** share : this.low * (1 - share) + this.high * share;
  }

  // [{value, text}] within low to high.
  ticks(about) {
    const decades = this.log ? this.decades(about) : [];
    return decades.length >= 2 ? decades : this.linearTicks(about);
  }

  linearTicks(about) {
    const span = this.high - this.low;
    if (!(span > 0) || !Number.isFinite(span) || span < Math.max(Math.abs(this.low), Math.abs(this.high)) * 1e-12)
      return [{value: this.low, text: shortNumber(this.low)}];
    const step = roundStep(span / Math.max(1, about)), first = Math.ceil(this.low / step - 1e-9), out = [];
    for (let i = 0; i < MOST_TICKS && (first + i) * step <= this.high + step * 1e-9; ++i)
      out.push({value: (first + i) * step, text: tickText((first + i) * step, step)});
    return out;
  }

  // Powers of ten; of many, every second, third ...
  decades(about) {
    const first = Math.ceil(Math.log10(this.low) - 1e-9), last = Math.floor(Math.log10(this.high) + 1e-9), out = [];
    const every = Math.max(1, Math.floor((last - first + about - 1) / about));
    for (let power = first; power <= last; power += every)
      out.push({value: 10 ** power, text: power >= -4 && power < 5 ? String(+(10 ** power).toPrecision(1)) : `1e${power}`});
    return out;
  }
}

// A linear scale that is a little wider than the values, and logarithmic where positive values span over two decades.
const scaleOver = values => {
  const known = values.filter(Number.isFinite);
  if (!known.length) return new Scale('linear', 0, 1);
  const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  if (low > 0 && high / low > 100) return new Scale('log', low / 1.1, high * 1.1);
  const margin = high > low ? (high - low) * 0.05 : Math.max(Math.abs(low) * 0.05, 1e-9);
  return new Scale('linear', low - margin, high + margin);
};

// For values of a metric: bad ones that would press the others together lie outside. mode: "min" or "max".
const metricScale = (values, mode) => {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b), far = 50;
  if (known.length < 4) return scaleOver(known);
  const at = share => known[Math.floor(share * (known.length - 1))];
  const reach = (quarter, best) => far * Math.max(Math.abs(quarter - best), Math.abs(quarter) * 1e-3);
  if (mode === 'min') return scaleOver(known.filter(value => value <= at(0.75) + reach(at(0.75), known[0])));
  return scaleOver(known.filter(value => value >= at(0.25) - reach(at(0.25), known.at(-1))));
};
