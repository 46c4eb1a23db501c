#!/usr/bin/env python3
"""Draws the learning curves of a run as SVG: its search.metric, or another key of metrics.jsonl, by epoch.

scripts/plot_curves.py RUN_DIR [--metric val_loss] > curves.svg
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import html
import json
import math
import pathlib

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 320, 50, 250, 16, 40
COLOURS = ["#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#00798c", "#8d5a2b", "#666666"]


def label_of(trial):
    values = (f"{path.rsplit('.', 1)[-1]}={json.dumps(value)}" for path, value in trial["config"].items())
    return ", ".join(values) or f"trial {trial['id']}"


def round_step(span):
    """About five lines, at round numbers."""
    power = 10 ** math.floor(math.log10(span / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span / 5)


def draw(curves, labels, metric):
    values = [value for curve in curves.values() for value in curve.values()]
    step = round_step((max(values) - min(values)) or 1)
    low, high = math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step
    high = high if high > low else low + step
    last = max(epoch for curve in curves.values() for epoch in curve)

    def x(epoch):
        return LEFT + (WIDTH - LEFT - RIGHT) * epoch / max(last, 1)

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    )
    for i in range(round((high - low) / step) + 1):
        value = low + step * i
        yield (
            f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        )
    for epoch in range(0, last + 1, max(1, last // 8)):
        yield f'<text x="{x(epoch):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{epoch}</text>'
    yield (
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">epoch</text>'
        f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 10}" font-weight="bold">{html.escape(metric)}</text>'
    )
    for row, (trial, curve) in enumerate(curves.items()):
        colour = COLOURS[row % len(COLOURS)]
        points = " ".join(f"{x(epoch):.1f},{y(value):.1f}" for epoch, value in sorted(curve.items()))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        if row < 12:
            yield (
                f'<path d="M{WIDTH - RIGHT + 12} {TOP + 26 + 18 * row}h14" stroke="{colour}" stroke-width="3"/>'
                f'<text x="{WIDTH - RIGHT + 32}" y="{TOP + 30 + 18 * row}">{html.escape(labels[trial])}</text>'
            )
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dir", type=pathlib.Path)
    parser.add_argument("--metric", help="a key of metrics.jsonl (default: the run's search.metric)")
    options = parser.parse_args()
    try:
        summary = json.loads((options.run_dir / "summary.json").read_text())
        metric = options.metric or summary["metric"]
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{options.run_dir} is not a run directory ({error})")
    curves = {}
    for line in (options.run_dir / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry.get(metric) is not None:
            curves.setdefault(entry["trial"], {})[entry["epoch"]] = entry[metric]
    if not curves:
        parser.error(f"{options.run_dir} has no {metric} (see the keys of its metrics.jsonl)")
    labels = {trial["id"]: label_of(trial) for trial in summary["trials"]}
    print("\n".join(draw(dict(sorted(curves.items())), labels, metric)))


if __name__ == "__main__":
    main()
