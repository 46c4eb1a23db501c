"""Why claims do not hold. Written when the results are known, so these words are not in a figure's script: the results
stay valid, and `scripts/evidence.sh --draw` brings the words onto the page.

SPDX-License-Identifier: Apache-2.0
"""

REASONS = {  # by figure and claim
    "asynchronous_trials": {
        "Asynchronous trials with early stopping take at least 33 % less time than waves, as published": "Only on 2 "
        "trainers, by 1 %. By default `median` decides first after epoch 2, because a first epoch says little "
        "([0078](decisions/0078-the-first-decision.md)), and 2 is a third of these short trainings. With `min_epochs` 1 the "
        "same runs took 46, 49 and 50 % less time than waves.",
        "Virtual time costs at most 5 % of the time": "Virtual time costs more only on 8 trainers with `task_parallel`, "
        "where an epoch on one trainer is long beside the whole search: laps wait for the virtual clock. In a run of its "
        "own trainers were busy 76 % of the time, in order of arrival 93 %. Model hopping spreads each epoch over all "
        "trainers: with the same decisions in virtual time it took 9.23 s, and order of arrival 10.18 s.",
    },
    "ring_server": {
        "One server is a hot spot: its exchange takes K times as long for K workers as for one, within 25 %": "It is a "
        "hotter spot than that. For one worker, pushes and pulls overlap: 0.9 W/B. With more, all workers push at once into "
        "one link and then all pull: 1.3 K W/B on 2, 2.0 to 2.3 K W/B on 8. The server's link dropped no packet in 40 steps "
        "of 2 workers, 22 of 4 and 309 of 8; for each the worker waits until TCP sends it again (incast)."
    },
    "search_cifar": {
        "Hyperband, ASHA and BOHB need at most half of the epochs for what random search reaches with all": "Nine epochs "
        "are few: losses still fall, so a short training says little, and all procedures end within 1.5 % of each other. "
        "Hyperband and BOHB needed 87 % of the budget, ASHA 66 %. On the digits all three need less than half.",
        "At the end BOHB is ahead of Hyperband": "They differ by an eighth of the standard error: 243 epochs are few for a "
        "model of good values.",
    },
}
