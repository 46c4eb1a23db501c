# SPDX-License-Identifier: Apache-2.0
"""Random experiments over everything that combines: experiment(seed) is a pure function. Each is small: an undisturbed run
takes a second or so. What the program refuses is left out here as far as a few rules can say it. datasets(folder) makes what
they train on."""

import pathlib
import random
import subprocess

from harness import BINARY, SOURCE, known, owners


def and_new(names, all_names):
    """The names in this order, then those that the program has beside them: what is drawn from a seed stays."""
    return (*names, *(each for each in all_names if each not in names))


RULES = tuple(owners("search", "max_epochs", procedure="grid"))
FIRST_RULES = ("successive_halving", "hyperband", "bohb", "asha", "median", "pbt")  # as drawn since the first seeds
FIRST_SAMPLERS = ("grid", "random", "sobol", "tpe", "manual", "ablation")  # likewise
NEW = tuple(each for each in known("search", "procedure") if each not in FIRST_RULES + FIRST_SAMPLERS + ("auto",))
UNDRAWN = ("grid", "manual", "ablation")  # samplers that draw no values
SAMPLERS_OF_RULES = ("random", "random", "sobol", "grid", "manual", "tpe")
NEW_OF_RULES = tuple(each for each in known("search", "sampler", procedure="asha") if each not in SAMPLERS_OF_RULES)
COUNTED = owners("search", "trials", procedure="pbt")
WITH_OBJECTIVES = owners("search", "objectives", procedure="pbt")
OF_RULES = {key: owners("search", key, procedure="grid") for key in ("eta", "variant", "min_epochs", "min_trials", "keep")}
GROUPS = and_new(("allreduce", "parameter_server", "model_averaging"), owners("strategy", "scale_lr", name="mop"))
STRATEGIES = and_new(("mop", "task_parallel", "sequential", *GROUPS), known("strategy", "name"))  # of GROUPS: K matters
# Of each dataset: its task, and whether rows are images.
DATASETS = {
    "digits4": ("classes", True),
    "digits6": ("classes", True),
    "digits3": ("classes", True),
    "numbers": ("targets", False),
    "flags": ("labels", False),
}
METRICS = {
    "classes": ("val_loss", "val_accuracy", "val_top5", "val_f1", "train_loss", "val_perplexity"),
    "targets": ("val_loss", "val_mae", "val_r2", "train_loss"),
    "labels": ("val_loss", "val_accuracy", "val_f1", "val_auc", "train_loss"),
}
RATES = {
    "sgd": (0.005, 0.3),
    "adam": (0.0005, 0.03),
    "adamw": (0.0005, 0.03),
    "rmsprop": (0.0005, 0.02),
    "adagrad": (0.01, 0.2),
}


def datasets(folder):
    """digits in three cuts, one of them with test rows; a regression and a multilabel table."""

    def imported(name, source, shards, *options):
        subprocess.run(
            [
                BINARY,
                "data",
                "import",
                "csv",
                str(source),
                "--out",
                str(folder / name),
                "--shards",
                str(shards),
                "--valid",
                "0.2",
                *options,
            ],
            check=True,
            capture_output=True,
        )

    pathlib.Path(folder).mkdir(parents=True)
    digits = SOURCE / "data/digits.csv"
    for name, shards, options in (("digits4", 4, ()), ("digits6", 6, ()), ("digits3", 3, ("--test", "0.1"))):
        imported(name, digits, shards, "--shape", "1x8x8", "--label", "label", *options)
    draw = random.Random(1)
    rows = [[draw.uniform(-1, 1) for _ in range(6)] for _ in range(1000)]
    for name, targets, task in (
        ("numbers", lambda x: (x[0] * x[1] + x[2], x[3] - x[4]), ("--regression", "--no-standardise")),
        ("flags", lambda x: (int(x[0] > x[1]), int(x[2] > 0), int(x[3] * x[4] > 0)), ("--multilabel",)),
    ):
        labels = [f"y{i}" for i in range(len(targets(rows[0])))]
        lines = [",".join([*(f"x{i}" for i in range(6)), *labels])] + [
            ",".join(f"{each:.6g}" for each in (*row, *targets(row))) for row in rows
        ]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        imported(name, folder / f"{name}.csv", 4, *task, *(word for label in labels for word in ("--label", label)))


class Maker:
    """Draws the sections of one experiment, in an order in which each knows what it depends on."""

    def __init__(self, seed):
        self.draw = random.Random(f"experiment {seed}")
        one_of = self.draw.choice
        self.procedure = one_of(FIRST_SAMPLERS + FIRST_RULES + ("asha", "pbt"))
        self.rare = random.Random(f"new rule {seed}")  # another stream: what the first seeds draw stays
        if NEW and self.rare.random() < 0.05 * len(NEW):
            self.procedure = self.rare.choice(NEW)
        self.rule = self.procedure in RULES
        self.pbt = self.procedure == "pbt"
        self.sampler = self.sampler_of()
        self.strategy = self.strategy_section()
        self.group = self.strategy["name"] in GROUPS
        self.dataset = self.draw.choices(list(DATASETS), (8, 4, 3, 2, 2))[0]
        self.task, self.images = DATASETS[self.dataset]
        self.model = self.model_section()
        self.copies = self.copies_keys()
        self.size_up()

    def chance(self, probability):
        return self.draw.random() < probability

    def some(self, probability, **keys):
        """These keys, or none; a value that is a function is drawn."""
        return (
            {key: value() if callable(value) else value for key, value in keys.items()} if self.chance(probability) else {}
        )

    def sampler_of(self):
        if not self.rule:
            return self.procedure
        if self.procedure == "bohb":
            return "tpe"
        drawn = self.draw.choice([each for each in SAMPLERS_OF_RULES if not (self.pbt and each == "tpe")])
        return self.rare.choice((drawn, *NEW_OF_RULES)) if not self.pbt and self.rare.random() < 0.1 else drawn

    def strategy_section(self):
        one_of = self.draw.choice
        weights = (10, 6, 4, 2, 2, 2)
        name = self.draw.choices(STRATEGIES, weights + (2,) * (len(STRATEGIES) - len(weights)))[0]
        whole = ("mop", "task_parallel", "sequential", "allreduce")
        if self.pbt and name not in whole:  # others keep states in parts, or may do so
            name = "mop"
        if name == "task_parallel":
            return {"name": name, **self.some(0.4, data="remote")}
        if name == "allreduce":
            return {
                "name": name,
                **self.some(0.4, algorithm="deterministic"),
                **self.some(0.3, first_bucket_mb=0.001, bucket_mb=0.002),
                **self.some(0.3, batch="per_worker", scale_lr=lambda: one_of((True, False))),
            }
        if name == "parameter_server":
            return {
                "name": name,
                **self.some(0.3, placement="dedicated"),
                **self.some(0.3, batch="per_worker"),
                "servers": 1,
            }
        if name == "model_averaging":
            return {
                "name": name,
                "momentum": one_of(("local", "averaged", "reset")),
                **self.some(0.5, every=lambda: one_of((1, 5, 9))),
                **self.some(0.3, via="master"),
                **self.some(0.3, outer={"lr": 0.7, "momentum": 0.9, "nesterov": True}),
            }
        return {"name": name}

    def model_section(self):
        one_of = self.draw.choice
        name = self.draw.choices(
            ("logistic", "mlp", "cnn", "lenet", "vit"), (3, 6, *((1, 0.5, 0.5) if self.images else (0, 0, 0)))
        )[0]
        return {
            "name": name,
            **{
                "logistic": lambda: {},
                "mlp": lambda: {
                    "hidden": one_of(([8], [16], [32], [16, 8])),
                    **self.some(0.4, dropout=0.2),
                    **self.some(0.2, batch_norm=True),
                    **self.some(0.2, activation="tanh"),
                },
                "cnn": lambda: {"channels": one_of(([4], [2, 4])), **self.some(0.4, dropout=0.2)},
                "lenet": lambda: self.some(0.4, dropout=0.2),
                "vit": lambda: {"patch": 4, "width": 8, "heads": 2, "depth": 1, **self.some(0.4, dropout=0.1)},
            }[name](),
        }

    def copies_keys(self):
        averages = self.strategy["name"] == "model_averaging" and self.strategy["momentum"] == "local"
        if self.pbt or averages:
            return {}
        return {
            **self.some(0.15, repeats=2),
            **({} if self.group else self.some(0.12, folds=lambda: self.draw.choice((2, 3)))),
        }

    def size_up(self):
        """This many laps that the run is over soon: of the epochs a rule trains about a third."""
        laps = (
            (100 if self.model["name"] in ("logistic", "mlp") else 30)
            * (0.5 if self.group else 1)
            * (2 if self.rule and not self.pbt else 1)
        )
        laps /= self.copies.get("repeats", 1) * self.copies.get("folds", 1)
        few = 3 if self.rule else 1
        self.epochs = self.draw.randint(few, max(few, min(12 if self.pbt else 9, int(laps) // 4)))
        self.trials = max(3, min(12, int(laps) // self.epochs))

    def data_section(self):
        one_of = self.draw.choice
        augment = [
            {"name": "flip", "probability": 0.3},
            {"name": "crop", "padding": one_of((1, 4))},
            {"name": "cutout", "size": one_of((1, 3)), "probability": 0.5},
        ]
        return {
            "path": f"../data/{self.dataset}",
            **(self.some(0.35, augment=[each for each in augment if self.chance(0.6)]) if self.images else {}),
            **self.some(0.15, normalise=False),
            **self.some(0.25, last_batch="drop"),
            **self.some(0.4, cache=lambda: one_of(("window", "none"))),
            **self.some(0.3, shuffle_rows=lambda: one_of((32, 100))),
        }

    def optimizer(self):
        one_of = self.draw.choice
        name = one_of(list(RATES))
        adam = lambda: self.some(0.3, beta1=0.8, beta2=0.99)
        return {
            "name": name,
            "lr": self.rate(name),
            **self.some(0.3, weight_decay=0.01),
            **self.some(0.2, decay="weights"),
            **{
                "sgd": lambda: self.some(
                    0.6, momentum=lambda: one_of((0.5, 0.9, 0.99)), nesterov=lambda: one_of((True, False))
                ),
                "adam": adam,
                "adamw": adam,
                "rmsprop": lambda: {
                    **self.some(0.4, momentum=0.5),
                    **self.some(0.3, centered=True),
                    **self.some(0.3, alpha=0.9),
                },
                "adagrad": lambda: self.some(0.4, lr_decay=0.01),
            }[name](),
        }

    def rate(self, name):
        low, high = RATES[name]
        return float(f"{low * (high / low) ** self.draw.random():.3g}")

    def schedule(self):
        one_of = self.draw.choice
        name = one_of(
            ("constant", "constant", "step", "multistep", "exponential", "cosine", "one_cycle", "polynomial", "plateau")
        )
        return {
            "name": name,
            **self.some(0.3, warmup_epochs=lambda: one_of((0.5, 1))),
            **{
                "constant": {},
                "step": {"step_epochs": 2, "gamma": 0.5},
                "multistep": {"milestones": [1, 2.5]},
                "exponential": {"gamma": 0.8},
                "cosine": {"min_lr": 0.0001},
                "one_cycle": {"pct_start": 0.4, "div_factor": 5},
                "polynomial": {"power": 0.5, "min_lr": 0.0001},
                "plateau": {"factor": 0.3, "patience": 0},
            }[name],
        }

    def train_section(self):
        one_of = self.draw.choice
        losses = {"classes": ("cross_entropy",), "labels": ("bce_with_logits",), "targets": ("mse", "huber")}[self.task]
        loss = one_of(losses)
        return {
            "epochs": self.epochs,
            "batch_size": one_of((16, 32, 50, 100)),
            "optimizer": self.optimizer(),
            "schedule": self.schedule(),
            "loss": loss,
            **(self.some(0.3, label_smoothing=0.1) if loss == "cross_entropy" else {}),
            **self.some(0.2, precision="bf16"),
            **({} if self.strategy["name"] == "parameter_server" else self.some(0.25, ema=0.9)),
            **self.some(0.2, accumulate=lambda: one_of((2, 7))),
            **self.some(0.2, clip_norm=1),
            **self.some(0.1, clip_value=0.5),
            **(
                {}
                if self.pbt
                else self.some(0.2, early_stopping=lambda: {"patience": one_of((1, 2)), "min_delta": one_of((0, 0.01))})
            ),
            **self.some(0.1, seed_scope="experiment"),
        }

    def searchable(self, train):
        """Each key that may be searched: its list, and its range (low, high, log, step) if it has one."""
        low, high = RATES[train["optimizer"]["name"]]
        keys = {
            "train.optimizer.weight_decay": ([0, 0.001, 0.1], (1e-5, 0.1, True)),
            "train.batch_size": ([16, 40, 64], (16, 64, 16)),
            "train.schedule.warmup_epochs": ([0, 1], (0.0, 2.0, False)),
            "train.clip_norm": ([0.5, 2], (0.1, 2.0, True)),
            "data.last_batch": (["keep", "drop"], None),
        }
        if "momentum" in train["optimizer"]:
            keys["train.optimizer.momentum"] = ([0.5, 0.9], (0.3, 0.95, False))
        if "dropout" in self.model:
            keys["model.dropout"] = ([0.1, 0.3], (0.05, 0.5, False))
        if train["loss"] == "cross_entropy":
            keys["train.label_smoothing"] = ([0, 0.1], (0.0, 0.3, False))
        if self.images:
            keys["data.augment"] = ([[], ["flip"], ["flip", {"name": "crop", "padding": 2}]], None)
        if self.model["name"] == "mlp" and not self.pbt:
            keys["model.hidden"] = ([[8], [16], [24, 8]], None)
        if not self.rule and self.epochs > 1:
            keys["train.epochs"] = ([self.epochs, self.epochs - 1], None)
        keys = {key: keys[key] for key in self.draw.sample(sorted(keys), self.draw.randint(0, 3))}
        high *= 3000 if self.chance(0.07) else 1  # some diverge
        return {
            "train.optimizer.lr": (
                [float(f"{low * (high / low) ** part:.3g}") for part in (0.1, 0.5, 0.9)],
                (low, high, True),
            ),
            **keys,
        }

    def space(self, keys):
        out, combinations = {}, 1
        for key, (values, bounds) in keys.items():
            if self.sampler in ("grid", "manual", "ablation") and combinations * len(values) > self.trials and out:
                values, bounds = values[:1], None
            listed = bounds is None or self.sampler == "ablation" or self.chance(0.3)
            if listed and (self.sampler != "cma_es" or key != "train.optimizer.lr"):  # which needs a number
                out[key] = list(values)
            else:
                whole = isinstance(bounds[0], int)
                out[key] = {
                    "type": "int" if whole else "float",
                    "low": bounds[0],
                    "high": bounds[1],
                    **({"step": bounds[2]} if whole else {"log": True} if bounds[2] else {}),
                    **({} if whole or self.sampler != "grid" else {"count": len(values)}),
                    **({"prior": bounds[1]} if self.sampler not in UNDRAWN and self.rare.random() < 0.1 else {}),
                }
            combinations *= len(values)
        return out

    def configurations(self, keys):
        out = []
        for number in range(self.trials):
            each = {key: self.draw.choice(values) for key, (values, _) in keys.items()}
            each["train.optimizer.lr"] = round(
                keys["train.optimizer.lr"][0][number % 3] * (1 + number / 16), 6
            )  # no two alike
            out.append(each)
        return out

    def budget(self, metric):
        one_of = self.draw.choice
        targets = {"val_accuracy": 0.9, "val_top5": 0.99, "val_f1": 0.9, "val_loss": 0.3, "train_loss": 0.3}
        return {
            **self.some(0.15, trials=lambda: self.trials - 1),
            **self.some(0.15, epochs=lambda: max(4, self.trials * self.epochs // 2)),
            **(self.some(0.15, target=targets[metric]) if metric in targets else {}),
            **({} if self.pbt else self.some(0.1, patience=lambda: one_of((2, 4)))),
        }

    def search_section(self, keys):
        one_of = self.draw.choice
        metric = one_of(METRICS[self.task])
        counted = self.procedure not in ("manual", "ablation", "pbt", "hyperband", "bohb", "grid") and self.sampler not in (
            "grid",
            "manual",
        )
        counted = counted and self.procedure in COUNTED
        has = lambda key: self.procedure in OF_RULES[key]
        budget = self.some(0.4, budget=lambda: self.budget(metric))
        if self.procedure in ("hyperband", "bohb"):  # with such a budget there is more than one iteration of it
            budget.get("budget", {}).pop("trials", None)
        section = {
            "procedure": self.procedure,
            **({"sampler": self.sampler} if self.rule and self.procedure != "bohb" else {}),
            "metric": metric,
            **self.some(0.35, objective="best"),
            **self.copies,
            **budget,
            **({"trials": self.trials} if counted else {}),
            **self.some(0.25, in_flight=lambda: self.draw.randint(1, 6)),
            **self.some(0.25, lookahead=lambda: one_of((0, 0.5, 2, 4))),
            **({} if self.group else self.some(0.15, retries=1)),
            **({"eta": one_of((2, 3, 3))} if has("eta") else {}),
            **(self.some(0.5, variant="stop") if has("variant") else {}),
            **(self.some(0.3, min_epochs=2) if has("min_epochs") else {}),
            **(self.some(0.3, max_epochs=lambda: self.epochs - 1) if self.rule else {}),
            **({"min_trials": 2} if has("min_trials") else {}),
            **(self.some(0.5, keep=lambda: one_of((1, 2, 50))) if has("keep") else {}),
            **({"startup": one_of((2, 4)), **self.some(0.3, multivariate=False)} if self.sampler == "tpe" else {}),
            **({"startup": 2} if self.sampler == "gp" else {}),
            **({"parents": 3} if self.sampler == "nsga2" else {}),
            **(
                {"population": min(8, self.trials), "interval": one_of((1, 1, 2)), "quantile": one_of((0.25, 0.34, 0.5))}
                if self.pbt
                else {}
            ),
            **({"configurations": self.configurations(keys)} if self.sampler == "manual" else {}),
        }
        return self.raced(self.traded(section))

    def raced(self, section):
        """Now and then the copies of a configuration begin one by one."""
        budget = section.get("budget", {})
        counted = "trials" in section or "trials" in budget or self.sampler in ("grid", "manual")
        ends = budget.keys() & ({"target", "patience"} if counted else {"target", "patience", "epochs"})
        suits = self.copies and not ends and "objectives" not in section and self.procedure != "ablation"
        return {**section, "race": True} if suits and self.rare.random() < 0.4 else section

    def traded(self, section):
        """Now and then with several objectives."""
        if self.procedure not in WITH_OBJECTIVES or self.sampler in ("gp", "priorband") or self.rare.random() >= 0.15:
            return section
        section.pop("objective", None)
        others = [name for name in ("parameters", "state_mb", "val_loss", "train_loss") if name != section["metric"]]
        names = [section["metric"], *self.rare.sample(others, self.rare.choice((1, 1, 2)))]
        section["objectives"] = self.rare.sample(names, len(names))
        return section

    def run_section(self):
        whole = self.strategy["name"] != "model_averaging" or self.strategy["momentum"] != "local"
        return {
            "dir": "out",
            "device": "cpu",
            "checkpoint_every_s": round(0.02 * 25 ** self.draw.random(), 3),
            **self.some(0.25, state_memory=lambda: self.draw.choice(("2kB", "20kB"))),
            **(self.some(0.2, keep_best="trial") if whole else {}),
        }


def experiment(seed):
    maker = Maker(seed)
    train = maker.train_section()
    keys = maker.searchable(train)
    return {
        "name": "random",
        "seed": maker.draw.randrange(1000),
        "data": maker.data_section(),
        "model": maker.model,
        "train": train,
        "search": maker.search_section(keys),
        **({} if maker.sampler == "manual" else {"space": maker.space(keys)}),
        "strategy": maker.strategy,
        "run": maker.run_section(),
    }
