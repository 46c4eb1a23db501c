"""Why claims do not hold. Written when the results are known, so these words are not in a figure's script: the results
stay valid, and `scripts/evidence.sh --draw` brings the words onto the page.

SPDX-License-Identifier: Apache-2.0
"""

REASONS = {  # by figure and claim
    "asynchronous_trials": {
        "Virtual time costs at most 5 % of the time": "Virtual time costs more only on 8 trainers with `task_parallel`, "
        "where an epoch on one trainer is long beside the whole search: laps wait for the virtual clock. In a run of its "
        "own trainers were busy 68 % of the time, in order of arrival 82 %. Model hopping spreads each epoch over all "
        "trainers: with the same decisions in virtual time it took 8.27 s, and order of arrival 8.93 s."
    },
    "ring_server": {
        "One server is a hot spot: its exchange takes K times as long for K workers as for one, within 25 %": "It is a "
        "hotter spot than that. For one worker, pushes and pulls overlap: 0.9 W/B. With more, all workers push at once into "
        "one link and then all pull: 1.3 K W/B on 2, up to 2.2 K W/B on 8. The server's link dropped no packet in 40 steps "
        "of 2 workers, 22 of 4 and 309 of 8; for each the worker waits until TCP sends it again (incast)."
    },
    "search_cifar": {
        "Hyperband, ASHA and BOHB need at most half of the epochs for what random search reaches with all": "Nine epochs "
        "are few: losses still fall, so a short training says little, and all procedures end within 1.8 % of each other. "
        "Hyperband and BOHB needed 58 % of the budget, ASHA 87 %. On the digits all three need less than half.",
        "At the end TPE is ahead of random search": "They differ by a ninth of the standard error. 27 trainings are few: "
        "the first of them are random in TPE, too.",
        "At the end no procedure is behind random search": "Only TPE is, by a ninth of the standard error.",
    },
}
