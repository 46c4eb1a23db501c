"""Charts as SVG: lines, bars in groups, or panels of lines. A chart is a dictionary (see draw).

SPDX-License-Identifier: Apache-2.0
"""

import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 700, 380, 64, 16, 66, 66
HEAD, PANEL = 80, 240  # of panels: above all of them, and the height of one
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


def fitted(words, room, size, wide=0.61):
    """The font size at which the longest of some words fits. wide: of a letter in the widest of the usual fonts, over its
    size."""
    return round(min(size, room / (wide * max(map(len, words)))), 1)


def heading(words, place):
    size = fitted([words], place.edge - place.left - 4, 15, 0.67)
    return text(place.left, place.title, words, "start", f' font-size="{size:g}" font-weight="bold"')


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


class Place:
    """Where a chart lies on the picture. Around its axes is room for the title, the legend and the labels."""

    def __init__(self, x=0, y=0, width=WIDTH, height=HEIGHT, top=TOP, bottom=BOTTOM):
        self.begin, self.edge, self.title = x, x + width, y + 20
        self.left, self.right, self.top, self.bottom = x + LEFT, x + width - RIGHT, y + top, y + height - bottom
        self.end = y + height

    def x(self, part):
        return self.left + (self.right - self.left) * part

    def y(self, part):
        return self.bottom - (self.bottom - self.top) * part


def frame(chart, place, y_axis):
    yield heading(chart["title"], place)
    for tick in y_axis.ticks:
        y = place.y(y_axis.place(tick))
        yield f'<path d="M{place.left} {y:.1f}H{place.right}" stroke="{GRID}"/>'
        yield text(place.left - 6, y + 4, number(tick), "end", f' fill="{QUIET}"')
    turned = f' transform="translate({place.begin + 14} {(place.top + place.bottom) / 2}) rotate(-90)"'
    yield text(0, 0, y_axis.label, "middle", turned)
    below = place.end - 8 if "categories" in chart["x"] else place.bottom + 38
    yield text((place.left + place.right) / 2, below, chart["x"]["label"])


def legend(names, symbol, place):
    x, y = place.left, place.title + 18
    for row, name in enumerate(names):
        wide = 46 + 7.6 * len(name)
        if x + wide > place.edge:
            x, y = place.left, y + 17
        yield from symbol(row, x, y)
        yield text(x + 28, y + 4, name, "start")
        x += wide


def marker(row, x, y):
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{MARKERS[row % 6]}" fill="{COLOURS[row % 6]}"/>'


def stroke(row, series):
    return f'stroke="{COLOURS[row % 6]}" stroke-width="2" fill="none"' + (
        ' stroke-dasharray="6 4"' if series.get("dash") else ""
    )


def shade(row, edge):
    if edge:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        yield f'<polygon points="{places}" fill="{COLOURS[row % 6]}" fill-opacity="0.13"/>'


def lines(chart, place):
    points = [point for series in chart["series"] for point in series["points"]]
    edges = [edge for series in chart["series"] for _, *both in series.get("band", []) for edge in both]
    x_axis = Axis(chart["x"], [x for x, _ in points])
    y_axis = Axis(chart["y"], [*(y for _, y in points), *edges])
    yield from frame(chart, place, y_axis)
    for tick in x_axis.ticks:
        yield text(place.x(x_axis.place(tick)), place.bottom + 18, number(tick), more=f' fill="{QUIET}"')
    for row, series in enumerate(chart["series"]):
        edge = [(x, low) for x, low, _ in series.get("band", [])] + [
            (x, high) for x, _, high in series.get("band", [])[::-1]
        ]
        yield from shade(row, [(place.x(x_axis.place(x)), place.y(y_axis.place(y))) for x, y in edge])
    for row, series in enumerate(chart["series"]):
        places = [(place.x(x_axis.place(x)), place.y(y_axis.place(y))) for x, y in series["points"]]
        yield f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" {stroke(row, series)}/>'
        if not series.get("dash"):
            yield from (marker(row, x, y) for x, y in places[:: series.get("every", 1)])


def line_symbol(series):
    def symbol(row, x, y):
        yield f'<path d="M{x} {y}h22" {stroke(row, series[row])}/>'
        if not series[row].get("dash"):
            yield marker(row, x + 11, y)

    return symbol


def bars(chart, place):
    categories = chart["x"]["categories"]
    values = [value for series in chart["series"] for value in series["values"] if value is not None]
    values += [high for series in chart["series"] for _, high in series.get("spans", [])]
    y_axis = Axis(chart["y"] if chart["y"].get("log") else {"low": 0, **chart["y"]}, values)
    yield from frame(chart, place, y_axis)
    group = (place.right - place.left) / len(categories)
    wide = group * 0.84 / len(chart["series"])
    size = fitted([words for category in categories for words in category.split("\n")], group - 3, 11)
    for at, category in enumerate(categories):
        for line, words in enumerate(category.split("\n")):
            x, y = place.left + group * (at + 0.5), place.bottom + 14 + 13 * line
            yield text(x, y, words, more=f' fill="{QUIET}" font-size="{size:g}"')
        for row, series in enumerate(chart["series"]):
            value = series["values"][at]
            if value is not None:
                x, y = place.left + group * (at + 0.08) + wide * row, place.y(y_axis.place(max(value, y_axis.low)))
                shape = f'x="{x:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" height="{max(0, place.bottom - y):.1f}"'
                yield f'<rect {shape} fill="{COLOURS[row % 6]}"/>'
            if value is not None and "spans" in series:
                low, high = (place.y(y_axis.place(bound)) for bound in series["spans"][at])
                yield whisker(x + (wide - 1) / 2, low, high)


def whisker(x, low, high):
    return f'<path d="M{x:.1f} {low:.1f}V{high:.1f}m-4 0h8M{x - 4:.1f} {low:.1f}h8" stroke="{INK}"/>'


def bar_symbol(_):
    def symbol(row, x, y):
        yield f'<rect x="{x}" y="{y - 6}" width="22" height="12" fill="{COLOURS[row % 6]}"/>'

    return symbol


KINDS = {"lines": (lines, line_symbol), "bars": (bars, bar_symbol)}


def single(chart, place):
    plot, symbol = KINDS[chart["kind"]]
    yield from plot(chart, place)
    yield from legend([series["name"] for series in chart["series"]], symbol(chart["series"]), place)


def panels(chart):
    """Two beside each other. One legend above all of them, that of the first: the others have the same series. Or, with
    `columns` 1, whole charts below each other."""
    if chart.get("columns") == 1:
        for i, panel in enumerate(chart["panels"]):
            yield from single(panel, Place(y=HEIGHT * i))
        return
    yield heading(chart["title"], Place())
    series = chart["panels"][0]["series"]
    yield from legend([each["name"] for each in series], line_symbol(series), Place())
    for i, panel in enumerate(chart["panels"]):
        place = Place(WIDTH / 2 * (i % 2), HEAD + PANEL * (i // 2), WIDTH / 2, PANEL, top=32, bottom=46)
        yield from lines(panel, place)


def height_of(chart):
    if chart.get("columns") == 1:
        return HEIGHT * len(chart["panels"])
    return HEAD + PANEL * ((len(chart["panels"]) + 1) // 2) if chart["kind"] == "panels" else HEIGHT


def draw(chart):
    """chart: `kind` lines or bars; `title`; `x` and `y`: {`label`, `log`, `low`, `ticks`}, of bars x: {`label`,
    `categories`}; `series`: [{`name`, `points` [[x, y]] or `values` by category, `dash`: a reference, without markers,
    `spans` [[low, high]] by category: a whisker on each bar; of lines `band` [[x, low, high]], which is shaded, and `every`:
    only each so-manieth point has a marker}]. Or `kind` panels; `title`; `panels`: charts of lines; `columns` 1 or 2."""
    high = height_of(chart)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">',
        f"<title>{html.escape(chart['title'])}</title>",
        f'<rect width="{WIDTH}" height="{high}" fill="#ffffff"/>',
        *(panels(chart) if chart["kind"] == "panels" else single(chart, Place())),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
