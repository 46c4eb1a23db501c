// SPDX-License-Identifier: Apache-2.0
// Experiment files, with every section and setting that there is; and the trials that come of what was read.
#include "core/durable_file.hpp"
#include "core/file.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "fuzz/kinds.hpp"
#include "fuzz/mutate.hpp"
#include "rundir/records.hpp"
#include "search/search.hpp"

namespace hopscotch::fuzz {
namespace {

// Each is good; between them they have every section and every kind of distribution.
constexpr std::string_view k_good[] = {
    R"({"name": "digits", "seed": 42,
"data": {"path": "data/digits", "augment": ["flip", {"name": "crop", "padding": 2}, {"name": "cutout", "size": 4,
 "probability": 0.5}],
         "normalise": true, "last_batch": "keep", "validation": "auto", "cache": "window", "shuffle_rows": 512},
"model": {"name": "mlp", "hidden": [64, 32], "dropout": 0.1, "init_from": "w.safetensors", "init_mode": "head",
 "freeze": ["layers.0.*"]},
"train": {"epochs": 10, "batch_size": 32, "loss": "cross_entropy", "label_smoothing": 0.1, "class_weights": [1, 2.5],
 "precision": "bf16", "channels_last": false,
          "clip_norm": 1.0, "clip_value": null, "accumulate": 2, "ema": 0.99, "early_stopping": {"patience": 3,
           "min_delta": 0.001},
          "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 0.0001, "decay": "weights"},
          "schedule": {"name": "multistep", "warmup_epochs": 1, "milestones": [3, 6.5], "gamma": 0.1}},
"search": {"procedure": "grid", "metric": "val_accuracy", "mode": "max", "in_flight": 4,
           "start_with": [{"train.optimizer.lr": 0.1, "model.hidden": [16], "train.optimizer.name": "sgd",
            "train.optimizer.momentum": 0.5,
                           "model.dropout": 0.1}],
           "forbid": [{"train.optimizer.lr": {"above": 0.2, "below": 0.5}, "model.hidden": [[16], [32]]}]},
"space": {"train.optimizer.lr": [0.01, 0.03, 0.1, 0.3], "model.hidden": {"type": "choice", "values": [[16], [32], [64, 64]]},
          "train.optimizer.name": ["sgd", "adam"], "model.dropout": {"type": "float", "low": 0, "high": 0.5, "step": 0.1},
          "train.optimizer.momentum": {"type": "float", "low": 0.5, "high": 0.9, "count": 3,
           "when": {"train.optimizer.name": "sgd"}}},
"strategy": {"name": "mop", "policy": "planned"},
"run": {"dir": "runs/digits", "device": "cpu", "threads": "auto", "helper": "on", "exact": true, "deterministic": true,
 "cuda_graphs": true, "fused_norm": true, "tf32": null, "cudnn_benchmark": false, "checkpoint_every_s": 60,
        "checkpoint_mbps": 100, "checkpoint_keep": 3, "setup_s": 100,
        "deadline_s": 60, "stall_s": 300, "inject": ["slow:rank=3,factor=2", "delay:sync_s=0.5"]}})",
    R"({"seed": 1, "data": {"path": "d", "cache": "none"}, "model": {"name": "torchscript", "file": "m.pt"},
"train": {"loss": "huber", "huber_delta": 2, "optimizer": {"name": "adamw", "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-7},
          "schedule": {"name": "plateau", "factor": 0.5, "patience": 2, "threshold": 0.01, "min_lr": 1e-6}},
"search": {"procedure": "random", "trials": 12, "metric": "val_loss", "objective": "best", "repeats": 2, "folds": 3,
           "subject_to": {"parameters": {"above": 10, "below": 1e6}}, "pareto": ["val_loss", "train_s"]},
"space": {"train.optimizer.lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true},
 "train.batch_size": {"type": "int", "low": 8, "high": 256, "log": true},
          "train.epochs": {"type": "int", "low": 1, "high": 9, "step": 4}, "model.width": {"type": "const", "value": 3},
           "train.ema": 0.5},
"strategy": {"name": "parameter_server", "mode": "ssp", "servers": 2, "placement": "dedicated", "part_mb": 1.5,
 "staleness": 2, "batch": "per_worker",
             "scale_lr": true},
"run": {"dir": "r", "threads": 2}})",
    R"({"data": {"path": "d"}, "model": {"name": "lenet"}, "train": {"optimizer": {"name": "rmsprop", "alpha": 0.9,
     "centered": true},
"schedule": {"name": "one_cycle", "pct_start": 0.2, "div_factor": 10, "final_div_factor": 100}},
 "space": {"train.optimizer.lr": [0.1]},
"strategy": {"name": "model_averaging", "every": 5, "momentum": "averaged", "via": "master", "outer": {"lr": 0.7,
 "momentum": 0.9, "nesterov": true},
             "algorithm": "deterministic", "bucket_mb": 1, "first_bucket_mb": 0.5},
"run": {"dir": "r", "scheduler": "shared", "state_memory": "4GB", "spill": "/tmp", "keep_best": "trial"}})",
    R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"epochs": 27, "optimizer": {"name": "sgd"}},
"search": {"procedure": "asha", "sampler": "tpe", "variant": "stop", "trials": 30, "eta": 4, "min_epochs": 2,
 "max_epochs": 20, "lookahead": 0.5, "startup": 5,
           "candidates": 12, "multivariate": false, "deterministic": false, "budget": {"trials": 20, "epochs": 200,
            "hours": 2, "hours_per_trial": 0.5}, "retries": 2},
"space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true}, "model.hidden": [[16], [32]]},
 "run": {"dir": "r"}})",
    R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"epochs": 9, "optimizer": {"name": "adam"}},
"search": {"procedure": "pbt", "population": 6, "interval": 2, "quantile": 0.3, "resample": 0.1, "factors": [0.5, 2]},
"space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true}}, "run": {"dir": "r"}})",
    R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"epochs": 5},
"search": {"procedure": "tpe", "trials": 9, "start_from": "runs/first", "budget": {"target": 0.9, "patience": 4}},
"space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true}}, "run": {"dir": "r"}})",
    R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"optimizer": {"name": "adam"}},
"search": {"procedure": "manual", "configurations": [{"train.optimizer.lr": 0.1}, {"model.hidden": [8]}]},
 "run": {"dir": "r"}})"};

constexpr int k_most_laps = 30;     // of a trial, reported
constexpr int k_most_trials = 200;  // looked at; there may be a million

class ExperimentKind : public Kind {
public:
    ExperimentKind() {
        for (auto const text : k_good) {
            Problems problems("good");
            read_experiment(text, {}, problems);
            problems.throw_if_any();
            good_.push_back(parse_json(text, problems));
        }
    }
    std::string name() const override { return "experiment"; }
    std::string place() const override { return "e.json"; }
    void damage(std::filesystem::path const& folder, Rng& rng) override {
        testing::write(folder / "e.json", mutated_json(any_of(rng, good_), rng));
        overrides_.clear();
        static std::vector<std::string> const settings{
            "train.epochs", "run.dir", "space.train.optimizer.lr", "space", "a.b.c.d", "train..x", "data", ""};
        if (one_in(rng, 5))
            overrides_ = {any_of(rng, settings) + "=" + mutated_json(any_of(rng, good_), rng).substr(0, below(rng, 400))};
    }
    void read(std::filesystem::path const& folder) override {
        Problems problems("e.json");
        auto const experiment = read_experiment(read_whole(folder / "e.json"), overrides_, problems);
        problems.throw_if_any();
        auto const search = make_search(experiment);
        for (int i = 0; i < k_most_trials; ++i) {
            auto const proposal = search->next();
            if (!proposal) break;
            resolve(experiment, proposal->assignment, problems);
            (void)loss_of(experiment, proposal->assignment);
            auto const loss = i % 5 == 4 ? std::optional<double>() : 1.0 / (1 + i % 7);
            if (proposal->kind == Proposal::Kind::resume || proposal->until_epoch > k_most_laps) continue;
            for (int epoch = 0; epoch < (loss ? proposal->until_epoch : 1); ++epoch)
                search->report({proposal->trial, epoch, loss});
        }
        (void)experiment.document.dump(2);
    }

private:
    std::vector<Json> good_;
    std::vector<std::string> overrides_;
};

}  // namespace

void add_experiment_kind(std::vector<std::unique_ptr<Kind>>& out) { out.push_back(std::make_unique<ExperimentKind>()); }

}  // namespace hopscotch::fuzz
