"""Search procedures on images of CIFAR-10: the best loss against trial-epochs.

SPDX-License-Identifier: Apache-2.0
"""

import search_page
import searches

USES = ("searches.py",)
TITLE = "Search procedures on CIFAR-10"
MINUTES = 10
ASKS = "Which procedure finds a good convolutional network with the fewest epochs?"
HOW = (
    "A small convolutional network (`cnn` with 4, 8 and 16 channels) on 1500 images of CIFAR-10, the first 150 of each "
    "class; 500 of them are for validation. A full training has 9 epochs, the budget is 27 of them. `HOPSCOTCH_CIFAR10` "
    "names the folder of the images; without it this figure is skipped. " + searches.COMMON
)
PAPER = searches.PAPER
NEEDS = "the images of CIFAR-10 (`HOPSCOTCH_CIFAR10`)"


def measure(job):
    setting = {
        # The tests have no CIFAR-10.
        "data": job.cifar(2, 1500, valid=1 / 3) if job.size == "full" else job.digits(2, rows=600),
        "model": {"name": "cnn", "channels": [4, 8, 16]},
        "epochs": job.pick(9, 3),
        "trials": job.pick(27, 4),
    }
    return searches.searches(job, setting, job.pick(10, 2))


def claims(data):
    yield from search_page.claims_of(data)


def chart(data):
    return search_page.chart_of(data, "Search on CIFAR-10, ten seeds")
