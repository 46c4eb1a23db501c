// SPDX-License-Identifier: Apache-2.0
// The exact messages a user sees.
#include <gtest/gtest.h>

#include <cstdlib>

#include "experiment/documents.hpp"
#include "experiment/procedures.hpp"
#include "experiment/space.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace reader_test {

std::string const k_space = ", \"space\": {\"train.optimizer.lr\": [0.1]}";

std::string train(std::string const& section) { return document("\"train\": " + section + k_space); }
std::string with(std::string const& section) { return document(section + k_space); }

TEST(Reader, Defaults) {
    Problems problems("e.json");
    auto const e = read_experiment(document(), {}, problems);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(e.name, "experiment");
    EXPECT_EQ(e.train.epochs, 10);
    EXPECT_EQ(e.train.batch_size, 32);
    EXPECT_EQ(e.train.optimizer.kind, OptimizerKind::sgd);
    EXPECT_EQ(e.search.procedure, "grid");
    EXPECT_EQ(e.strategy.name, "mop");
    EXPECT_EQ(e.run.cpu.threads, 1);
    EXPECT_TRUE(e.run.gpu.deterministic);
    EXPECT_FALSE(e.run.gpu.tf32 || e.run.gpu.cudnn_benchmark);
    EXPECT_TRUE(e.run.gpu.cuda_graphs && e.run.gpu.fused_norm);
    EXPECT_TRUE(e.train.arithmetic.channels_last);
    EXPECT_EQ(e.run.dir, "r");
    EXPECT_EQ(e.model.arguments.dump(), "{}");
}

Experiment with_every_field() {
    Problems problems("e.json");
    auto const out = read_experiment(R"({"name": "n", "seed": 7,
        "data": {"path": "p", "augment": [], "last_batch": "drop", "validation": "replicated"},
        "model": {"name": "mlp", "hidden": [3]},
        "train": {"epochs": 2, "batch_size": 5, "loss": "mse", "precision": "fp32", "clip_norm": null,
                  "optimizer": {"name": "adamw", "lr": 0.5, "weight_decay": 0.25, "beta1": 0.8, "beta2": 0.9,
                   "epsilon": 1e-6},
                  "schedule": {"name": "step", "warmup_epochs": 0.5, "step_epochs": 3, "gamma": 0.2}},
        "search": {"procedure": "random", "trials": 3, "in_flight": 2, "metric": "val_loss"},
        "space": {"train.optimizer.lr": {"type": "float", "low": 0.1, "high": 0.2}},
        "strategy": {"name": "model_averaging", "every": 50, "outer": {"lr": 0.7, "momentum": 0.9, "nesterov": true}},
        "run": {"dir": "r", "device": "cpu", "threads": 2, "helper": "off", "exact": false,
        "deterministic": false, "cuda_graphs": false, "fused_norm": false,
        "tf32": true, "cudnn_benchmark": false,
        "checkpoint_every_s": 1, "checkpoint_keep": 5, "deadline_s": 2, "stall_s": 3, "setup_s": 4}})",
                                     {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

TEST(Reader, EveryFieldOfATrialIsRead) {
    auto const e = with_every_field();
    EXPECT_EQ(e.name, "n");
    EXPECT_EQ(e.seed, 7);
    EXPECT_EQ(e.data.path, "p");
    EXPECT_EQ(e.data.last_batch, LastBatch::drop);
    EXPECT_EQ(e.data.validation, ValidationData::replicated);
    EXPECT_EQ(e.model.name, "mlp");
    EXPECT_EQ(e.model.arguments.dump(), R"({"hidden":[3]})");
    EXPECT_EQ(e.train.epochs, 2);
    EXPECT_EQ(e.train.batch_size, 5);
    EXPECT_EQ(e.train.loss, LossKind::mse);
    EXPECT_EQ(e.train.optimizer.kind, OptimizerKind::adamw);
    EXPECT_EQ(e.train.optimizer.lr, 0.5);
    EXPECT_EQ(e.train.optimizer.weight_decay, 0.25);
    EXPECT_EQ(e.train.optimizer.beta1, 0.8);
    EXPECT_EQ(e.train.optimizer.beta2, 0.9);
    EXPECT_EQ(e.train.optimizer.epsilon, 1e-6);
    EXPECT_EQ(e.train.schedule.kind, ScheduleKind::step);
    EXPECT_EQ(e.train.schedule.warmup_epochs, 0.5);
    EXPECT_EQ(e.train.schedule.step_epochs, 3);
    EXPECT_EQ(e.train.schedule.gamma, 0.2);
}

TEST(Reader, EveryFieldOfARunIsRead) {
    auto const e = with_every_field();
    EXPECT_EQ(e.search.procedure, "random");
    EXPECT_EQ(e.search.trials, 3);
    EXPECT_EQ(e.search.in_flight, 2);
    EXPECT_EQ(e.search.metric, "val_loss");
    EXPECT_EQ(e.search.mode, Mode::min);  // follows the metric
    EXPECT_EQ(e.strategy.name, "model_averaging");
    EXPECT_EQ(e.strategy.batch, GroupBatch::per_worker) << "its default";
    EXPECT_EQ(e.strategy.averaging.every, 50);
    ASSERT_TRUE(e.strategy.averaging.outer);
    EXPECT_EQ(e.strategy.averaging.outer->momentum, 0.9);
    EXPECT_EQ(e.run.device, "cpu");
    EXPECT_EQ(e.run.cpu.threads, 2);
    EXPECT_EQ(e.run.cpu.helper, HelperThreads::off);
    EXPECT_FALSE(e.run.exact);
    EXPECT_FALSE(e.run.gpu.deterministic);
    EXPECT_FALSE(e.run.gpu.cuda_graphs || e.run.gpu.fused_norm);
    EXPECT_EQ(e.run.gpu.tf32, true);
    EXPECT_EQ(e.run.gpu.cudnn_benchmark, false);
    EXPECT_EQ(e.run.checkpoints.every_s, 1);
    EXPECT_EQ(e.run.checkpoints.keep, 5);
    EXPECT_EQ(e.run.limits.deadline_s, 2);
    EXPECT_EQ(e.run.limits.stall_s, 3);
    EXPECT_EQ(e.run.limits.setup_s, 4);
}

TEST(Reader, UnknownKeyWithTheNearestName) {
    EXPECT_EQ(complaints(train(R"({"lerning_rate": 1, "epcohs": 3})")),
              "e.json:2:11: /train/lerning_rate: unknown key (known: accumulate, batch_size, channels_last, class_weights, "
              "clip_norm, "
              "clip_value, early_stopping, ema, engine, epochs, huber_delta, label_smoothing, loss, optimizer, precision, "
              "quantile, schedule, seed_scope)\n"
              "e.json:2:30: /train/epcohs: unknown key; did you mean \"epochs\"?");
    EXPECT_EQ(complaints(with(R"("modle": {})")), "e.json:2:1: /modle: unknown key; did you mean \"model\"?");
}

TEST(Reader, SwitchesOfAGpu) {
    EXPECT_EQ(complaints(document(), {"run.tf32=null", "run.cudnn_benchmark=null"}), "");
    EXPECT_EQ(complaints(document(), {"run.deterministic=true", "run.tf32=true", "run.cudnn_benchmark=false"}), "");
    EXPECT_EQ(complaints(document(), {"run.deterministic=false", "run.cudnn_benchmark=true"}), "");
    EXPECT_EQ(complaints(document(), {"run.tf32=1"}), "--set run.tf32=1: expected true, false or null (got an integer)");
    EXPECT_EQ(
        complaints(document(), {"run.cudnn_benchmark=true"}),
        "--set run.cudnn_benchmark=true: needs deterministic false (each run may pick another algorithm, with other bits); "
        "set run.deterministic to false or leave it out");
    EXPECT_EQ(complaints(document("\"space\": {\"train.channels_last\": [true, false]}")), "") << "a trial's setting";
}

TEST(Reader, DuplicateKey) {
    EXPECT_EQ(complaints(train("{\"epochs\": 1,\n\"epochs\": 2}")),
              "e.json:3:1: /train/epochs: duplicate key (first at line 2); remove one of the two");
}

TEST(Reader, WrongTypeAndRange) {
    EXPECT_EQ(complaints(train(R"({"epochs": "ten"})")), "e.json:2:21: /train/epochs: expected an integer (got a string)");
    EXPECT_EQ(complaints(train(R"({"epochs": 0})")), "e.json:2:21: /train/epochs: must be at least 1 (got 0)");
    EXPECT_EQ(complaints(train(R"({"batch_size": -3})")), "e.json:2:25: /train/batch_size: must be at least 1 (got -3)");
    EXPECT_EQ(complaints(with("\"seed\": -1")), "e.json:2:9: /seed: must be at least 0 (got -1)");
    EXPECT_EQ(complaints(document(R"("train": {"optimizer": {"lr": -0.1}}, "space": {"train.epochs": [1]})")),
              "e.json:2:31: /train/optimizer/lr: must be at least 0 (got -0.1)");
    EXPECT_EQ(complaints("[]"), "e.json:1:1: /: expected an object (got an array)");
    EXPECT_EQ(complaints("null"), "e.json:1:1: /: expected an object (got null)");
    EXPECT_EQ(complaints(""), "e.json:1:1: /: the file is empty (expected one JSON object)");
    EXPECT_EQ(complaints(with("\"train\": 3")), "e.json:2:10: /train: expected an object (got an integer)");
}

TEST(Reader, RequiredKeys) {
    EXPECT_EQ(complaints(R"({"space": {"train.optimizer.lr": [0.1]}})"),
              "e.json: /data/path: missing (required); write the dataset directory, for example \"data/digits\"\n"
              "e.json: /model/name: missing (required); see `hopscotch models`\n"
              "e.json: /run/dir: missing (required); write the run directory, for example \"runs/digits\"");
}

TEST(Reader, SeveralErrorsInTheOrderOfTheFile) {
    EXPECT_EQ(
        complaints("{\"run\": {\"dir\": \"\", \"threads\": 0},\n"
                   "\"strategy\": {\"name\": \"mopp\"},\n"
                   "\"model\": {},\n"
                   "\"train\": {\"optimizer\": {\"lr\": \"x\", \"name\": \"sdg\"}},\n"
                   "\"space\": {\"train.optimizer.lr\": []},\n"
                   "\"data\": {\"path\": \"d\", \"last_batch\": \"kep\"}}"),
        "e.json:1:17: /run/dir: must not be empty\n"
        "e.json:1:32: /run/threads: must be at least 1 (got 0)\n"
        "e.json:2:22: /strategy/name: unknown value \"mopp\" (known: " +
            listed(strategy_names()) +
            "); did you mean \"mop\"?\n"
            "e.json:3:10: /model/name: missing (required); see `hopscotch models`\n"
            "e.json:4:31: /train/optimizer/lr: expected a number (got a string)\n"
            "e.json:4:44: /train/optimizer/name: unknown value \"sdg\" (known: sgd, adam, adamw, rmsprop, adagrad); did "
            "you mean \"sgd\"?\n"
            "e.json:5:33: /space/train.optimizer.lr: is empty (nothing to search); list at least one value\n"
            "e.json:6:37: /data/last_batch: unknown value \"kep\" (known: keep, drop); did you mean \"keep\"?");
}

TEST(Reader, StrategiesHaveKeysOfTheirOwn) {
    EXPECT_EQ(
        complaints(with(R"("strategy": {"name": "allreduce", "servers": 2, "scale_lr": true})")),
        "e.json:2:46: /strategy/servers: servers belongs to parameter_server (the name here is \"allreduce\"); leave it "
        "out\ne.json:2:61: /strategy/scale_lr: needs \"batch\": \"per_worker\" (with \"split\" the batch keeps its size); "
        "set it, or leave scale_lr out");
    EXPECT_EQ(complaints(with(R"("strategy": {"name": "parameter_server", "mode": "async", "staleness": 1})")),
              "e.json:2:72: /strategy/staleness: staleness belongs to ssp (the mode here is \"async\"); leave it out");
    EXPECT_EQ(complaints(with(R"("strategy": {"name": "allreduce", "collectives": "ncl"})")),
              "e.json:2:50: /strategy/collectives: unknown value \"ncl\" (known: auto, mpi, nccl); did you mean \"nccl\"?");
    EXPECT_EQ(complaints(with(R"("strategy": {"name": "parameter_server", "collectives": "nccl"})")),
              "e.json:2:57: /strategy/collectives: collectives belongs to " + owners(strategies_with("collectives")) +
                  " (the name here is "
                  "\"parameter_server\"); leave it out");
    EXPECT_EQ(complaints(with(R"("strategy": {"name": "model_averaging", "every": "week", "outer": {"nesterov": true}})")),
              "e.json:2:50: /strategy/every: expected \"epoch\" or a number of steps (got \"week\")\n"
              "e.json:2:80: /strategy/outer/nesterov: needs momentum > 0 (got 0); set momentum, or leave nesterov out");
}

TEST(Reader, InjectionsAreSpeltOut) {
    auto const said = [](char const* list) { return complaints(document(), {std::string("run.inject=") + list}); };
    EXPECT_EQ(said(R"(["slow:rank=3,factor=2", "delay:sync_s=20"])"), "");
    auto const refused = [&](std::string const& text, std::string const& why) {
        EXPECT_EQ(said(("[\"" + text + "\"]").c_str()), "--set run.inject=[\"" + text + "\"]: \"" + text + "\" " + why);
    };
    for (auto const* text : {"delay:20", "slow", "delay:sync_s=2s", "slow:rank=1"})
        refused(text,
                "is not a known fault; write \"slow:rank=3,factor=2\" (a trainer's rank, a factor of 1 to 1000) or "
                "\"delay:sync_s=20\" (0 to 3600)");
    refused("slow:rank=0,factor=2", "names rank 0 (which schedules and does not train; trainers are ranks 1 and up)");
    for (auto const* rank : {"-1", "1.5", "1e300", "nan"})
        refused(std::string("slow:rank=") + rank + ",factor=2", "names no trainer's rank (trainers are ranks 1 and up)");
    for (auto const* factor : {"0.5", "1001", "1e300", "inf", "nan"})
        refused(std::string("slow:rank=2,factor=") + factor, "has a factor out of range (1 to 1000)");
    for (auto const* seconds : {"-1", "3601", "1e300", "inf", "nan"})
        refused(std::string("delay:sync_s=") + seconds, "has a delay out of range (0 to 3600 seconds)");
    EXPECT_EQ(said(R"(["slow:rank=1,factor=1", "slow:rank=2,factor=1000", "delay:sync_s=0", "delay:sync_s=3600"])"), "");
}

TEST(Reader, IntegersBeyondTheirRangeAreCalledThat) {
    auto const set = [](std::string const& setting) {
        auto said = complaints(document(), {"strategy={\"name\":\"model_averaging\"}", setting});
        return said.substr(std::min(said.size(), ("--set " + setting + ": ").size()));
    };
    for (auto const* setting : {"strategy.every=99999999999999999999", "seed=99999999999999999999",
                                "train.epochs=99999999999999999999", "search.trials=99999999999999999999"})
        EXPECT_EQ(set(setting), "out of range (got 1e+20)") << setting;
    EXPECT_EQ(set("train.batch_size=9999999999"), "out of range (got 9999999999)");
    EXPECT_EQ(set("strategy.every=2.5"), "expected an integer (got a number)");
}

TEST(Reader, ChoicesAreListedForAnotherKindToo) {
    auto const averaging = [](std::string const& keys) {
        return complaints(with("\"strategy\": {\"name\": \"model_averaging\", " + keys + "}"));
    };
    EXPECT_EQ(averaging("\"momentum\": 0.9"),
              "e.json:2:53: /strategy/momentum: expected one of local, averaged, reset (got a number)");
    EXPECT_EQ(complaints(with("\"strategy\": {\"name\": 3}")),
              "e.json:2:22: /strategy/name: expected one of " + listed(strategy_names()) + " (got an integer)");
    EXPECT_EQ(complaints(document(), {"run.device=true"}),
              "--set run.device=true: expected one of auto, cpu, cuda (got a boolean)");
    EXPECT_EQ(complaints(document(), {"search.procedure=null"}),
              "--set search.procedure=null: expected one of " + listed(procedure_names()) + ", auto (got null)");
}

TEST(Reader, WhatThisVersionDoesNotHave) {
    EXPECT_EQ(complaints(with(R"("strategy": {"bundle": 4})")),
              "e.json:2:24: /strategy/bundle: \"bundle\" is not available in this version; leave it out");
    EXPECT_EQ(complaints(with(R"("search": {"procedure": "pb2"})")),
              "e.json:2:25: /search/procedure: procedure \"pb2\" is not available in this version (available: " +
                  listed(procedure_names()) + ", auto)");
    EXPECT_EQ(complaints(train(R"({"precision": "fp16"})")),
              "e.json:2:24: /train/precision: precision \"fp16\" is not available in this version (available: fp32, bf16)");
    EXPECT_EQ(complaints("{\"model\": {\"name\": \"mlp\"}, \"run\": {\"dir\": \"r\"}, \"space\": {\"train.epochs\": 1},\n"
                         "\"data\": {\"path\": \"d\", \"validation\": \"sharded\"}}"),
              "e.json:2:37: /data/validation: validation \"sharded\" is not available in this version (available: auto, "
              "replicated)");
}

TEST(Reader, KeysOfOtherKinds) {
    EXPECT_EQ(complaints(train(R"({"optimizer": {"name": "adam", "momentum": 0.9}})")),
              "e.json:2:53: /train/optimizer/momentum: momentum belongs to sgd and rmsprop (the name here is \"adam\"); "
              "leave it out");
    EXPECT_EQ(
        complaints(train(R"({"optimizer": {"beta1": 0.9}})")),
        "e.json:2:34: /train/optimizer/beta1: beta1 belongs to adam and adamw (the name here is \"sgd\"); leave it out");
    EXPECT_EQ(complaints(train(R"({"optimizer": {"nesterov": true}})")),
              "e.json:2:37: /train/optimizer/nesterov: needs momentum > 0 (got 0); set momentum, or leave nesterov out");
    EXPECT_EQ(complaints(train(R"({"optimizer": {"momentum": 1}})")),
              "e.json:2:37: /train/optimizer/momentum: must be at least 0 and below 1 (got 1)");
    EXPECT_EQ(complaints(train(R"({"schedule": {"name": "cosine", "gamma": 1}})")),
              "e.json:2:51: /train/schedule/gamma: gamma belongs to step, multistep and exponential (the name here is "
              "\"cosine\"); leave it out");
}

TEST(Reader, Threads) {
    auto const threads = [](std::string const& value) {
        return complaints(R"({"data": {"path": "d"}, "model": {"name": "m"}, "space": {"train.epochs": [1]}, "run": )"
                          R"({"dir": "r", "threads": )" +
                          value + "}}");
    };
    EXPECT_EQ(threads("\"auto\""), "");
    EXPECT_EQ(threads("4"), "");
    EXPECT_EQ(threads("\"all\""), "e.json:1:112: /run/threads: expected \"auto\" or an integer (got \"all\")");
    EXPECT_EQ(threads("1.5"), "e.json:1:112: /run/threads: expected an integer (got a number)");
}

TEST(Reader, RandomNeedsTrials) {
    EXPECT_EQ(complaints(with(R"("search": {"procedure": "random"})")),
              "e.json:2:11: /search/trials: missing (required); say how many configurations random search should draw, for "
              "example 16");
    EXPECT_EQ(complaints(with(R"("search": {"procedure": "random", "trials": 0})")),
              "e.json:2:45: /search/trials: must be at least 1 (got 0)");
}

TEST(Overrides, ReplaceAndAdd) {
    Problems problems("e.json");
    auto const e =
        read_experiment(train(R"({"epochs": 3})"),
                        {"train.epochs=5", "train.optimizer.momentum=0.5", "run.dir=runs/a b", "model.hidden=[1,2]",
                         "name=7up", "seed=3", "space.train.optimizer.lr=[0.3,0.4]", "space.train.batch_size=[8]"},
                        problems);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(e.train.epochs, 5);
    EXPECT_EQ(e.train.optimizer.momentum, 0.5);
    EXPECT_EQ(e.run.dir, "runs/a b");
    EXPECT_EQ(e.name, "7up");
    EXPECT_EQ(e.seed, 3);
    EXPECT_EQ(e.model.arguments.dump(), R"({"hidden":[1,2]})");
    EXPECT_EQ(e.space.dump(), R"({"train.optimizer.lr":[0.3,0.4],"train.batch_size":[8]})");
    EXPECT_EQ(e.document.at("train").at("epochs").integer(), 5);
}

TEST(Overrides, ComplaintsNameTheOption) {
    EXPECT_EQ(
        complaints(document(), {"train.lerning_rate=0.1"}),
        "--set train.lerning_rate=0.1: unknown key (known: accumulate, batch_size, channels_last, class_weights, clip_norm, "
        "clip_value, "
        "early_stopping, ema, engine, epochs, huber_delta, label_smoothing, loss, optimizer, precision, quantile, schedule, "
        "seed_scope)");
    EXPECT_EQ(
        complaints(document(), {"train.epochs=0", "train.epocs=1"}),
        "--set train.epochs=0: must be at least 1 (got 0)\n--set train.epocs=1: unknown key; did you mean \"epochs\"?");
    EXPECT_EQ(complaints(document(), {"train.optimizer={\"name\":\"sgd\",\"lrr\":1}"}),
              "--set train.optimizer={\"name\":\"sgd\",\"lrr\":1}: /train/optimizer/lrr: unknown key; did you mean \"lr\"?");
    EXPECT_EQ(complaints(document(), {"train.clip_norm=-1"}), "--set train.clip_norm=-1: must be greater than 0 (got -1)");
    EXPECT_EQ(complaints(document(), {"epochs"}), "--set epochs: expected path=value (for example train.optimizer.lr=0.1)");
    EXPECT_EQ(complaints(document(), {"=3"}), "--set =3: expected path=value (for example train.optimizer.lr=0.1)");
    EXPECT_EQ(complaints(document(), {"strategy.bundle=4"}),
              "--set strategy.bundle=4: \"bundle\" is not available in this version; leave it out");
}

TEST(Resolve, WritesTheAssignmentAndDropsInactiveKeys) {
    Problems problems("e.json");
    auto const e = read_experiment(
        document(R"("train": {"optimizer": {"momentum": 0.5}}, "space": {"train.optimizer.name": ["sgd", "adam"],
        "train.optimizer.momentum": {"type": "choice", "values": [0.1, 0.9], "when": {"train.optimizer.name": "sgd"}},
        "model.hidden": [[1], [2]]})"),
        {}, problems);
    EXPECT_EQ(problems.text(), "");
    auto const sgd =
        resolve(e,
                {{"train.optimizer.name", "sgd"}, {"train.optimizer.momentum", 0.9}, {"model.hidden", Json(Json::Array{2})}},
                problems);
    EXPECT_EQ(sgd.train.optimizer.momentum, 0.9);
    EXPECT_EQ(sgd.model.arguments.dump(), R"({"hidden":[2]})");
    EXPECT_EQ(sgd.data.path, "d");
    auto const adam = resolve(e, {{"train.optimizer.name", "adam"}, {"model.hidden", Json(Json::Array{2})}}, problems);
    EXPECT_EQ(adam.train.optimizer.kind, OptimizerKind::adam);
    EXPECT_EQ(adam.train.optimizer.momentum, 0);
    EXPECT_EQ(problems.text(), "");
    resolve(e, {{"train.optimizer.name", "adamm"}}, problems);
    EXPECT_EQ(problems.text(),
              "e.json:2:78: /train/optimizer/name: unknown value \"adamm\" (known: sgd, adam, adamw, rmsprop, adagrad); did "
              "you mean \"adam\"?");
}

TEST(Assignments, ToJsonAndBack) {
    Assignment const assignment{{"train.optimizer.lr", 0.1}, {"model.hidden", Json(Json::Array{1, 2})}};
    EXPECT_EQ(to_json(assignment).dump(), R"({"train.optimizer.lr":0.1,"model.hidden":[1,2]})");
    EXPECT_EQ(assignment_from_json(to_json(assignment)), assignment);
}

// What would be listed, waited for or started without an end.
TEST(Reader, AmountsThatNoMachineHasAreRefused) {
    auto const space = std::string("\"space\": {\"train.optimizer.lr\": [0.1]}, ");
    auto const said = [&](std::string const& more) { return complaints(document(space + more)); };
    EXPECT_NE(said("\"train\": {\"epochs\": 2000000000}").find("/train/epochs: must be at most 100000 "), std::string::npos);
    EXPECT_NE(said("\"search\": {\"procedure\": \"random\", \"trials\": 1000000000000}")
                  .find("/search/trials: must be at most 1000000 "),
              std::string::npos);
    auto const limits = complaints(
        "{\"data\": {\"path\": \"d\"}, \"model\": {\"name\": \"mlp\"}, \"space\": {\"train.optimizer.lr\": [0.1]}, \"run\": "
        "{\"dir\": \"r\", "
        "\"threads\": 2000000000, \"deadline_s\": 1e300, \"stall_s\": 1e10, \"checkpoint_keep\": 0, \"setup_s\": 0}}");
    for (std::string const key :
         {"threads: must be at most 1024 ", "deadline_s: must be at most 1000000000 ", "stall_s: must be at most",
          "checkpoint_keep: must be at least 1 ", "setup_s: must be greater than 0 "})
        EXPECT_NE(limits.find("/run/" + key), std::string::npos) << limits;
}

// A trial has its value from the space, so a --set of the same key would change nothing.
TEST(Reader, AValueForASearchedKeyIsRefused) {
    std::string const searched = "is searched (each trial takes its value from ";
    EXPECT_EQ(complaints(document(), {"train.optimizer.lr=0.1"}),
              "--set train.optimizer.lr=0.1: " + searched +
                  "the space, so this one would not be used); write --set space.train.optimizer.lr=0.1");
    EXPECT_EQ(complaints(document(), {"space.train.optimizer.lr=[0.2]", "space.train.epochs=[1, 2]", "train.epochs=3"}),
              "--set train.epochs=3: " + searched +
                  "the space, so this one would not be used); write --set space.train.epochs=3");
    EXPECT_EQ(
        complaints(document(R"("space": {"train.optimizer": [{"name": "sgd", "lr": 0.1}]})"), {"train.optimizer.lr=1"}),
        "--set train.optimizer.lr=1: " + searched + "the space, so this one would not be used); change the value there");
    auto const listed =
        document(R"("search": {"procedure": "manual", "configurations": [{"train.epochs": 2, "train.ema": 0.5},
        {"train.epochs": 3}]})");
    EXPECT_EQ(complaints(listed, {"train.epochs=3"}),
              "--set train.epochs=3: " + searched +
                  "search.configurations, so this one would not be used); change the value there");
    EXPECT_EQ(complaints(listed, {"train.ema=0.9"}), "") << "the second configuration uses it";
    EXPECT_EQ(complaints(document(), {"train.optimizer.name=adam", "space.train.optimizer.lr=0.1"}), "");
}

TEST(Paths, HomeIsExpandedWhereverAPathStands) {
    std::string const before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", "/home/me", 1);
    Problems problems("e.json");
    auto const e = read_experiment(R"({"data": {"path": "~/d", "stage": "~"}, "run": {"dir": "~/r", "spill": "~/s",
        "on_end": ["~/tell", "~anna", "a"]}, "model": {"name": "plugin", "file": "~/m.so"},
        "search": {"procedure": "random", "trials": 1, "start_from": "~/old", "start_with": [{"model.init_from": "~/a"}]},
        "space": {"model.init_from": ["~/a", "~/b"]}})",
                                   {"run.spill=~/other"}, problems);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(e.data.path, "/home/me/d");
    EXPECT_EQ(e.data.stage, "/home/me");
    EXPECT_EQ(e.run.dir, "/home/me/r");
    EXPECT_EQ(e.run.states.spill, "/home/me/other");
    EXPECT_EQ(e.run.on_end, (std::vector<std::string>{"/home/me/tell", "~anna", "a"}));
    EXPECT_EQ(e.model.file, "/home/me/m.so");
    EXPECT_EQ(e.search.proposals.start_from, "/home/me/old");
    EXPECT_EQ(e.space.dump(), R"({"model.init_from":["/home/me/a","/home/me/b"]})");
    EXPECT_EQ(read_space(e, problems).start_with.size(), 1U);
    EXPECT_EQ(e.document.at("run").at("dir").string(), "/home/me/r") << "trainers elsewhere have another home";
    ::setenv("HOME", before.c_str(), 1);
    EXPECT_EQ(
        complaints(document(), {"run.dir=~anna/r"}),
        "--set run.dir=~anna/r: ~anna is not known (only ~ and ~/ are: your own home directory); write the whole path, "
        "or ./~anna for a file of that name");
}

TEST(Paths, NamesThatAreTooLongAreRefused) {
    std::string const name(300, 'x');
    auto const said = [](std::string const& most) {
        return "the name \"xxxxxxxxxxxxxxxxxxxx...\" has 300 bytes (at most " + most +
               " are possible); choose a shorter name";
    };
    for (auto const* key : {"run.dir", "run.spill", "data.stage"})
        EXPECT_EQ(complaints(document(), {std::string(key) + "=a/" + name}),
                  "--set " + std::string(key) + "=a/" + name + ": " + said("230"));
    EXPECT_EQ(complaints(document(), {"data.path=" + name}), "--set data.path=" + name + ": " + said("255"));
    EXPECT_EQ(complaints("{\"data\": {\"path\": \"d\"}, \"model\": {\"name\": \"mlp\"}, \"run\": {\"dir\": \"" + name +
                         "\"}, \"space\": {\"train.optimizer.lr\": [0.1]}}"),
              "e.json:1:66: /run/dir: " + said("230"));
    EXPECT_NE(complaints(document("\"space\": {\"model.init_from\": [\"" + name + "\", \"\"]}"))
                  .find("/space/model.init_from/0: " + said("255")),
              std::string::npos);
}

TEST(Overrides, ANumberBeyondDoubleIsNoText) {
    EXPECT_EQ(complaints(document(), {"train.ema=1e999"}),
              "--set train.ema=1e999: 1e999 is too large for a number (at most about 1.8e308); write a smaller one");
}

}  // namespace reader_test
}  // namespace hopscotch
