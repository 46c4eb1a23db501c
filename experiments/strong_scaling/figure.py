"""Speed-up of 8 trials on 1 to 8 trainers, and how long trainers are idle.

SPDX-License-Identifier: Apache-2.0
"""

from job import claim, training

TITLE = "Strong scaling"
MINUTES = 3
ASKS = "How much faster are 8 trials on 8 trainers than on one?"
HOW = (
    "Synthetic models of 100,000 numbers that wait 10 ms a batch, 8 trials on 8 shards of the digits, 45 batches an "
    "epoch, 5 epochs with validation after each. Trainers are threads of one process. Median of three runs, by "
    "makespan."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), figure 8A: 8 models, Cerebro about 8.0 times as fast on 8 workers (more "
    "than linear, because the data then fits into memory), Horovod 3.9. Logs of Zhang et al. (PVLDB 14, 2021): 1.0, "
    "2.03, 3.91 and 6.69 on 1, 2, 4 and 8 workers; at 8, trainers were idle 19.7 % of the time."
)
PUBLISHED = [[1, 1.0], [2, 39122 / 19239], [4, 39122 / 10013], [8, 39122 / 5848]]
TRIALS = 8


def one_count(job, trainers):
    experiment = training(job.digits(8), TRIALS, job.pick(5, 1), 32)
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": 0.01, "parameters": 100_000}
    experiment["strategy"] = {"name": "mop", "owners": "equal"}  # waiting does not depend on a core's speed
    runs = [job.run(experiment, trainers) for _ in range(job.pick(3, 1))]
    middle = sorted(runs, key=lambda summary: summary["makespan_s"])[len(runs) // 2]
    return {
        "trainers": trainers,
        "makespan_s": middle["makespan_s"],
        "all_s": [summary["makespan_s"] for summary in runs],
        "idle": 1 - middle["utilisation"],
        "bound_s": middle["lower_bound_s"],
    }


def measure(job):
    return [job.part(str(trainers), lambda n=trainers: one_count(job, n)) for trainers in job.pick((1, 2, 4, 6, 8), (4, 8))]


def speed_ups(rows):
    """Over the smallest number of trainers, as if that one were perfect."""
    return [[row["trainers"], rows[0]["trainers"] * rows[0]["makespan_s"] / row["makespan_s"]] for row in rows]


def claims(rows):
    last = rows[-1]
    yield claim(
        "8 trainers are at least 6.69 times as fast as one, as published",
        speed_ups(rows)[-1][1] >= 6.69,
        speed_up=speed_ups(rows)[-1][1],
    )
    yield claim(
        "8 trainers are at least 7.6 times as fast as one",
        speed_ups(rows)[-1][1] >= 7.6,
        "With as many trials as trainers no other trial hides a hop or a validation.",
        speed_up=speed_ups(rows)[-1][1],
    )
    yield claim("At 8 trainers the idle share is below the published 19.7 %", last["idle"] < 0.197, idle=last["idle"])
    yield claim(
        "At 8 trainers the idle share is at most 5 %",
        last["idle"] <= 0.05,
        "With as many trials as trainers no other trial hides a hop or a validation.",
        idle=last["idle"],
    )


def chart(rows):
    return {
        "kind": "lines",
        "title": "Speed-up of 8 trials over one trainer",
        "x": {"label": "trainers", "ticks": [0, 2, 4, 6, 8]},
        "y": {"label": "speed-up", "low": 0},
        "series": [
            {"name": "mop, measured", "points": speed_ups(rows)},
            {"name": "published (Cerebro on Spark)", "points": PUBLISHED},
            {"name": "perfect", "points": [[0, 0], [8, 8]], "dash": True},
        ],
    }
