"""Charts as SVG: lines, or bars in groups. A chart is a dictionary (see draw).

SPDX-License-Identifier: Apache-2.0
"""

import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 700, 380, 64, 16, 66, 66
# Okabe and Ito's colours, which colour-blind people tell apart. Markers and dashes differ as well.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
MARKERS = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-4-4h8v8h-8z",
    "M0-5L5 4H-5z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 5L5-4H-5z",
    "M-4-4h8v8h-8z",
]
INK, QUIET, GRID = "#1a1a1a", "#4a4a4a", "#dddddd"


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def number(value):
    """As on an axis: 0.05, 8, 1.5k, 2M."""
    for bound, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= bound:
            return f"{value / bound:.3g}{name}"
    return f"{value:.3g}"


class Axis:
    """From values to a place in 0..1, with round ticks."""

    def __init__(self, spec, values):
        self.log, self.label = spec.get("log", False), spec["label"]
        values = [value for value in values if value > 0 or not self.log]
        self.low, self.high = spec.get("low", min(values)), max([spec.get("high", max(values)), *values])
        self.ticks = spec.get("ticks") or (self.decades() if self.log else self.steps())
        self.low, self.high = min(self.low, self.ticks[0]), max(self.high, self.ticks[-1])

    def decades(self):
        low, high = math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high) - 1e-9)
        stride = max(1, round((high - low) / 6))
        return [10.0**power for power in range(low, max(high, low + 1) + 1, stride)]

    def steps(self):
        span = (self.high - self.low) or 1
        power = 10 ** math.floor(math.log10(span / 5))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span / 5 * 0.999)
        first, last = math.floor(self.low / step + 1e-9), math.ceil(self.high / step - 1e-9)
        return [round(step * i, 12) for i in range(first, max(last, first + 1) + 1)]

    def place(self, value):
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def x_of(place):
    return LEFT + (WIDTH - LEFT - RIGHT) * place


def y_of(place):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * place


def frame(chart, y_axis):
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">'
    )
    yield f"<title>{html.escape(chart['title'])}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield text(LEFT, 20, chart["title"], "start", ' font-size="15" font-weight="bold"')
    for tick in y_axis.ticks:
        y = y_of(y_axis.place(tick))
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
        yield text(LEFT - 6, y + 4, number(tick), "end", f' fill="{QUIET}"')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text(0, 0, y_axis.label, "middle", f' transform="translate(14 {middle}) rotate(-90)"')
    below = HEIGHT - 8 if "categories" in chart["x"] else HEIGHT - BOTTOM + 38
    yield text((LEFT + WIDTH - RIGHT) / 2, below, chart["x"]["label"])


def legend(chart, symbol):
    x, y = LEFT, 38
    for row, series in enumerate(chart["series"]):
        wide = 46 + 7.6 * len(series["name"])
        if x + wide > WIDTH:
            x, y = LEFT, y + 17
        yield from symbol(row, series, x, y)
        yield text(x + 28, y + 4, series["name"], "start")
        x += wide


def marker(row, x, y):
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{MARKERS[row % 6]}" fill="{COLOURS[row % 6]}"/>'


def stroke(row, series):
    return f'stroke="{COLOURS[row % 6]}" stroke-width="2" fill="none"' + (
        ' stroke-dasharray="6 4"' if series.get("dash") else ""
    )


def lines(chart):
    points = [point for series in chart["series"] for point in series["points"]]
    x_axis = Axis(chart["x"], [x for x, _ in points])
    y_axis = Axis(chart["y"], [y for _, y in points])
    yield from frame(chart, y_axis)
    for tick in x_axis.ticks:
        yield text(x_of(x_axis.place(tick)), HEIGHT - BOTTOM + 18, number(tick), more=f' fill="{QUIET}"')
    for row, series in enumerate(chart["series"]):
        places = [(x_of(x_axis.place(x)), y_of(y_axis.place(y))) for x, y in series["points"]]
        yield f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" {stroke(row, series)}/>'
        if not series.get("dash"):
            yield from (marker(row, x, y) for x, y in places)

    def symbol(row, series, x, y):
        yield f'<path d="M{x} {y}h22" {stroke(row, series)}/>'
        if not series.get("dash"):
            yield marker(row, x + 11, y)

    yield from legend(chart, symbol)


def bars(chart):
    categories = chart["x"]["categories"]
    values = [value for series in chart["series"] for value in series["values"] if value is not None]
    y_axis = Axis(chart["y"] if chart["y"].get("log") else {"low": 0, **chart["y"]}, values)
    yield from frame(chart, y_axis)
    group = (WIDTH - LEFT - RIGHT) / len(categories)
    wide = group * 0.84 / len(chart["series"])
    for place, category in enumerate(categories):
        for line, words in enumerate(category.split("\n")):
            yield text(
                LEFT + group * (place + 0.5), HEIGHT - BOTTOM + 14 + 13 * line, words, more=f' fill="{QUIET}" font-size="11"'
            )
        for row, series in enumerate(chart["series"]):
            value = series["values"][place]
            if value is not None:
                x, y = LEFT + group * (place + 0.08) + wide * row, y_of(y_axis.place(max(value, y_axis.low)))
                shape = f'x="{x:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" height="{max(0, y_of(0) - y):.1f}"'
                yield f'<rect {shape} fill="{COLOURS[row % 6]}"/>'

    def symbol(row, series, x, y):
        yield f'<rect x="{x}" y="{y - 6}" width="22" height="12" fill="{COLOURS[row % 6]}"/>'

    yield from legend(chart, symbol)


def draw(chart):
    """chart: `kind` lines or bars; `title`; `x` and `y`: {`label`, `log`, `low`, `ticks`}, of bars x: {`label`,
    `categories`}; `series`: [{`name`, `points` [[x, y]] or `values` by category, `dash`: a reference, without markers}]."""
    parts = {"lines": lines, "bars": bars}[chart["kind"]](chart)
    return "\n".join([*parts, "</svg>"]) + "\n"
