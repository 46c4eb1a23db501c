"""docs/results.md, from the results of the figures.

SPDX-License-Identifier: Apache-2.0
"""

import textwrap

ORDER = (
    "scheduler_quality",
    "communication",
    "storage",
    "hop_hiding",
    "strong_scaling",
    "overhead",
    "run_times",
    "ring_server",
    "slow_worker",
    "faults",
    "learning_curves",
    "sparknet",
    "visit_orders",
    "asynchronous_trials",
    "search_digits",
    "search_cifar",
    "search_quality",
    "search_rules",
    "predictions",
)

HEAD = """# Results: the papers' figures

Hopscotch measures the claims of the papers that it builds on. Each figure is one command; `scripts/evidence.sh --list` lists
them. A program checks every claim and writes it to `experiments/results`. This page is generated from these files. A claim
that does not hold stays on the page, with the reason.
```
scripts/evidence.sh                      # all figures; a figure that was measured here is not measured again
scripts/evidence.sh scheduler_quality    # one
```
Synthetic models wait instead of computing, so that many trainers fit on few cores. Their times are real. Their shards are
dealt out equally (`owners` `equal`), so 6 trainers with 8 shards are as fast as 4.
"""


def wrapped(words, first="", rest=""):
    return textwrap.fill(
        words, 125, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def value(number):
    if isinstance(number, list):
        return ", ".join(value(each) for each in number)
    return f"{number:,}" if isinstance(number, int) else f"{number:.3g}" if isinstance(number, float) else str(number)


def statement(each):
    numbers = "; ".join(f"{key.replace('_', ' ')} {value(number)}" for key, number in each["numbers"].items())
    words = f"{'Holds' if each['holds'] else '**Does not hold**'}: {each['claim']}"
    words += (f" ({numbers})" if numbers else "") + "."
    return wrapped(words + (f" {each['why']}" if "why" in each else ""), "- ", "  ")


def remarks(figure, data):
    """What a figure adds to its claims, such as a table."""
    lines = list(figure.remarks(data)) if hasattr(figure, "remarks") else []
    return [*lines, ""] if lines else []


def section(name, figure, result):
    return "\n".join(
        [
            f"## {figure.TITLE}",
            wrapped(figure.ASKS),
            "",
            f"![{figure.TITLE}](results/{name}.svg)",
            "",
            *(statement(each) for each in result["claims"]),
            "",
            *remarks(figure, result["data"]),
            wrapped(f"**How.** {figure.HOW}"),
            "",
            wrapped(f"**Published.** {figure.PAPER}"),
            "",
            wrapped(
                f"`scripts/evidence.sh {name}`: {result['seconds']:.0f} s on {result['machine']}, {result['date']}, commit "
                f"`{result['commit']}`."
            ),
            "",
        ]
    )


def not_measured(name, figure):
    return wrapped(f"**Not measured yet**: {figure.TITLE}. `scripts/evidence.sh {name}` needs {figure.NEEDS}.") + "\n"


def write(entries, missing):
    """entries: {name: (figure, result)}; missing: {name: figure} without results, which need other machines."""
    claims = [each for _, result in entries.values() for each in result["claims"]]
    count = f"Of {len(claims)} claims, {sum(each['holds'] for each in claims)} hold.\n"
    sections = [section(name, *entry) for name, entry in entries.items()]
    return "\n".join([HEAD, count, *sections, *(not_measured(*each) for each in missing.items())]).rstrip("\n") + "\n"
