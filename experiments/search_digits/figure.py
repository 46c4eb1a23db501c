"""Search procedures on the digits: the best loss against trial-epochs.

SPDX-License-Identifier: Apache-2.0
"""

import search_page
import searches

USES = ("searches.py",)
TITLE = "Search procedures on the digits"
MINUTES = 4
ASKS = "Which procedure finds a good model of the digits with the fewest epochs?"
HOW = "An MLP (64-64-10) on 1437 training rows. A full training has 27 epochs, the budget is 40 of them. " + searches.COMMON
PAPER = searches.PAPER


def measure(job):
    setting = {
        "data": job.digits(2, rows=job.pick(1797, 600)),
        "model": {"name": "mlp", "hidden": [64]},
        "epochs": job.pick(27, 9),
        "trials": job.pick(40, 4),
    }
    return searches.searches(job, setting, job.pick(10, 2))


def claims(data):
    yield from search_page.claims_of(data)


def chart(data):
    return search_page.chart_of(data, "Search on the digits, ten seeds")
