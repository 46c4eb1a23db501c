"""What the page says about the figures of search procedures: claims and charts, which follow from the data.

SPDX-License-Identifier: Apache-2.0
"""

import math

from job import claim
from searches import KINDS

EARLY = ("Hyperband", "ASHA", "BOHB")  # they end bad trials early


def at(data, kind, share):
    """The mean best loss at this share of the budget."""
    epochs = share * data["grid"][-1]
    return max(
        zip(data["grid"], data["curves"][kind]["mean"], strict=True), key=lambda point: point[0] * (point[0] <= epochs)
    )[1]


def epochs_to(data, kind, loss):
    """The first point of the grid whose mean is as good; None: there is none."""
    means = zip(data["grid"], data["curves"][kind]["mean"], strict=True)
    return next((epochs for epochs, mean in means if mean <= loss), None)


def claims_of(data):
    budget = data["grid"][-1]
    spent = [min(curve["epochs"]) for curve in data["curves"].values()]
    yield claim("Every search spends its whole budget", min(spent) >= budget, budget=budget, least=min(spent))
    if data["seeds"] >= 5:  # fewer are for tests, and noise
        yield from comparisons(data, budget)


def comparisons(data, budget):
    end = {kind: at(data, kind, 1) for kind in KINDS}
    error = {kind: data["curves"][kind]["error"][-1] for kind in KINDS}
    reached = {kind: epochs_to(data, kind, end["random"]) for kind in EARLY}
    yield claim(
        "Hyperband, ASHA and BOHB need at most half of the epochs for what random search reaches with all",
        all(epochs and epochs <= budget / 2 for epochs in reached.values()),
        **{f"epochs_of_{kind}": epochs or "more than all" for kind, epochs in reached.items()},
        budget=budget,
    )
    fifth = {kind: at(data, kind, 0.2) for kind in KINDS}
    yield claim(
        "After a fifth of the budget Hyperband, ASHA and BOHB are ahead of random search and TPE",
        max(fifth[kind] for kind in EARLY) < min(fifth["random"], fifth["TPE"]),
        **fifth,
    )
    for first, second in (("TPE", "random"), ("BOHB", "Hyperband"), ("PBT", "random")):
        yield claim(
            f"At the end {first} is ahead of {'random search' if second == 'random' else second}",
            end[first] < end[second],
            difference=end[first] - end[second],
            standard_error=math.hypot(error[first], error[second]),
        )
    yield claim("At the end no procedure is behind random search", all(end[kind] <= end["random"] for kind in KINDS), **end)


def chart_of(data, title):
    def series(kind, curve):
        points = list(zip(data["grid"], curve["mean"], curve["error"], strict=True))
        return {
            "name": kind,
            "points": [[epochs, mean] for epochs, mean, _ in points],
            "band": [[epochs, mean - error, mean + error] for epochs, mean, error in points],
            "every": 3,
        }

    all_series = [series(kind, curve) for kind, curve in data["curves"].items()]
    edges = [edge for each in all_series for _, *both in each["band"] for edge in both]
    wide = max(edges) > 5 * min(edges)
    budget = data["grid"][-1]
    return {
        "kind": "lines",
        "title": title,
        "x": {"label": "trial-epochs", "log": True, "high": budget, "ticks": doubled(data["grid"][0], budget)},
        "y": {
            "label": "lowest validation loss so far",
            **({"log": True, "ticks": round_values(min(edges), max(edges))} if wide else {}),
        },
        "series": all_series,
    }


def doubled(first, last):
    return [first * 2**step for step in range(20) if first * 2**step <= last]


def round_values(low, high):
    """1, 2 and 5 times powers of ten, from below the lowest to above the highest value."""
    values = [factor * 10.0**power for power in range(-6, 7) for factor in (1, 2, 5)]
    return [round(value, 6) for value in values if low / 2.5 < value < high * 2.5][:: 1 if high < 1000 * low else 3]
