// SPDX-License-Identifier: Apache-2.0
// The section `train`: losses, optimizers, schedules and the rest, and the exact messages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "experiment/documents.hpp"
#include "experiment/metric.hpp"

namespace hopscotch {
namespace train_section_test {

std::string const k_space = ", \"space\": {\"model.a\": [1]}";

std::string document_with(std::string const& section) { return document("\"train\": " + section + k_space); }

// Column 10 of line 2 is where the section begins.
std::string refused(std::string const& section) { return complaints(document_with(section)); }

TrainConfig read(std::string const& section) {
    Problems problems("e.json");
    auto const experiment = read_experiment(document_with(section), {}, problems);
    EXPECT_EQ(problems.text(), "");
    return experiment.train;
}
OptimizerConfig optimizer(std::string const& section) { return read("{\"optimizer\": " + section + "}").optimizer; }
ScheduleConfig schedule(std::string const& section) { return read("{\"schedule\": " + section + "}").schedule; }

TEST(Train, EveryKeyIsRead) {
    auto const train = read(R"({"loss": "cross_entropy", "label_smoothing": 0.1, "class_weights": [1, 0.5, 2.5],
        "precision": "bf16",
        "engine": "lean", "channels_last": false, "clip_norm": 1.5, "clip_value": 0.25, "accumulate": 4, "ema": 0.999,
        "early_stopping": {"patience": 5, "min_delta": 0.01}})");
    EXPECT_EQ(train.of_loss.label_smoothing, 0.1);
    EXPECT_EQ(train.of_loss.class_weights, (std::vector{1.0, 0.5, 2.5}));
    EXPECT_EQ(train.arithmetic.precision, Precision::bf16);
    EXPECT_EQ(train.arithmetic.engine, Engine::lean);
    EXPECT_FALSE(train.arithmetic.channels_last);
    EXPECT_EQ(train.clip.norm, 1.5);
    EXPECT_EQ(train.clip.value, 0.25);
    EXPECT_EQ(train.accumulate, 4);
    EXPECT_EQ(train.ema, 0.999);
    EXPECT_EQ(train.early_stopping.patience, 5);
    EXPECT_EQ(train.early_stopping.min_delta, 0.01);
    auto const huber = read(R"({"loss": "huber", "huber_delta": 0.5, "clip_norm": null, "clip_value": null})");
    EXPECT_EQ(huber.loss, LossKind::huber);
    EXPECT_EQ(huber.of_loss.huber_delta, 0.5);
    EXPECT_FALSE(huber.clip.norm || huber.clip.value);
    EXPECT_EQ(read(R"({"loss": "bce_with_logits", "class_weights": [3]})").of_loss.class_weights, (std::vector{3.0}));
}

// auto is decided once for a run, in its experiment: a trial whose searched value is auto has no choice of its own.
TEST(Train, ATrialHasTheEngineOfItsRun) {
    Problems problems("e.json");
    for (auto const* engine : {"torch", "lean"}) {
        auto const experiment = read_experiment(document_with(fmt::format(R"({{"engine": "{}"}})", engine)), {}, problems);
        EXPECT_EQ(resolve(experiment, {{"train.engine", "auto"}}, problems).train.arithmetic.engine,
                  experiment.train.arithmetic.engine);
        EXPECT_EQ(resolve(experiment, {{"train.engine", "torch"}}, problems).train.arithmetic.engine, Engine::torch);
    }
    EXPECT_EQ(problems.text(), "");
}

TEST(Train, RangesAreToldAllAtOnce) {
    EXPECT_EQ(refused(R"({"label_smoothing": 1, "clip_norm": 0, "clip_value": -1, "accumulate": 0, "ema": 1})"),
              "e.json:2:30: /train/label_smoothing: must be at least 0 and below 1 (got 1)\n"
              "e.json:2:46: /train/clip_norm: must be greater than 0 (got 0)\n"
              "e.json:2:63: /train/clip_value: must be greater than 0 (got -1)\n"
              "e.json:2:81: /train/accumulate: must be at least 1 (got 0)\n"
              "e.json:2:91: /train/ema: must be at least 0 and below 1 (got 1)");
    EXPECT_EQ(refused(R"({"early_stopping": {"patience": -1, "min_delta": -0.5}})"),
              "e.json:2:42: /train/early_stopping/patience: must be at least 0 (got -1)\n"
              "e.json:2:59: /train/early_stopping/min_delta: must be at least 0 (got -0.5)");
    EXPECT_EQ(refused(R"({"early_stopping": {"min_delta": 0.1}})"),
              "e.json:2:29: /train/early_stopping/patience: missing (required); say after how many epochs without an "
              "improvement a trial ends");
    EXPECT_EQ(refused(R"({"early_stopping": 3})"),
              "e.json:2:29: /train/early_stopping: expected an object (got an integer)");
}

TEST(Train, SeedScope) {
    EXPECT_EQ(read("{}").seed_scope, SeedScope::trial);
    EXPECT_EQ(read(R"({"seed_scope": "experiment"})").seed_scope, SeedScope::experiment);
    EXPECT_EQ(refused(R"({"seed_scope": "run"})"),
              "e.json:2:25: /train/seed_scope: unknown value \"run\" (known: trial, experiment)");
    TrialConfig config;
    config.repeat = 2;
    config.fold = 1;
    EXPECT_EQ(config.seed_key(TrialId(7)), TrialId(7));
    config.train.seed_scope = SeedScope::experiment;
    EXPECT_EQ(config.seed_key(TrialId(7)), TrialId(2));
}

TEST(Train, ClassWeights) {
    EXPECT_EQ(refused(R"({"class_weights": 2})"),
              "e.json:2:28: /train/class_weights: expected an array of numbers (got an integer)");
    EXPECT_EQ(refused(R"({"class_weights": [1, "a"]})"),
              "e.json:2:28: /train/class_weights: element 1 must be a number (got a string)");
    EXPECT_EQ(refused(R"({"class_weights": [1, -1]})"),
              "e.json:2:28: /train/class_weights: element 1 must be greater than 0 (got -1)");
    EXPECT_EQ(refused(R"({"class_weights": [0, 1]})"),
              "e.json:2:28: /train/class_weights: element 0 must be greater than 0 (got 0)");
}

TEST(Train, KeysOfOtherLosses) {
    EXPECT_EQ(
        refused(R"({"loss": "mse", "label_smoothing": 0.1, "class_weights": [1], "huber_delta": 2})"),
        "e.json:2:45: /train/label_smoothing: label_smoothing belongs to cross_entropy (the loss here is \"mse\"); leave it "
        "out\n"
        "e.json:2:67: /train/class_weights: class_weights belongs to cross_entropy and bce_with_logits (the loss here is "
        "\"mse\"); leave it out\n"
        "e.json:2:87: /train/huber_delta: huber_delta belongs to huber (the loss here is \"mse\"); leave it out");
    EXPECT_EQ(refused(R"({"loss": "hubber", "huber_delta": 2})"),
              "e.json:2:19: /train/loss: unknown value \"hubber\" (known: cross_entropy, bce_with_logits, mse, huber, mae, "
              "quantile); did you mean \"huber\"?")
        << "what else is wrong cannot be known";
}

TEST(Optimizer, EveryKindHasItsKeys) {
    auto const rmsprop =
        optimizer(R"({"name": "rmsprop", "alpha": 0.9, "centered": true, "momentum": 0.5, "epsilon": 1e-6})");
    EXPECT_EQ(rmsprop.kind, OptimizerKind::rmsprop);
    EXPECT_EQ(rmsprop.alpha, 0.9);
    EXPECT_TRUE(rmsprop.centered);
    EXPECT_EQ(rmsprop.momentum, 0.5);
    EXPECT_EQ(rmsprop.epsilon, 1e-6);
    auto const adagrad = optimizer(R"({"name": "adagrad", "lr_decay": 0.01})");
    EXPECT_EQ(adagrad.kind, OptimizerKind::adagrad);
    EXPECT_EQ(adagrad.lr_decay, 0.01);
    EXPECT_EQ(adagrad.epsilon, 1e-10);
    EXPECT_EQ(optimizer(R"({"name": "adagrad", "epsilon": 1e-4})").epsilon, 1e-4);
    EXPECT_EQ(optimizer(R"({"name": "adam"})").epsilon, 1e-8);
    EXPECT_TRUE(optimizer(R"({"weight_decay": 0.1})").decay_all);
    EXPECT_FALSE(optimizer(R"({"weight_decay": 0.1, "decay": "weights"})").decay_all);
    EXPECT_TRUE(optimizer(R"({"decay": "all"})").decay_all);
    EXPECT_EQ(
        refused(R"({"optimizer": {"decay": "weight"}})"),
        "e.json:2:34: /train/optimizer/decay: unknown value \"weight\" (known: all, weights); did you mean \"weights\"?");
    EXPECT_EQ(
        refused(R"({"optimizer": {"name": "adagrad", "alpha": 0.9, "beta1": 0.9, "nesterov": true}})"),
        "e.json:2:53: /train/optimizer/alpha: alpha belongs to rmsprop (the name here is \"adagrad\"); leave it out\n"
        "e.json:2:67: /train/optimizer/beta1: beta1 belongs to adam and adamw (the name here is \"adagrad\"); leave it out\n"
        "e.json:2:84: /train/optimizer/nesterov: nesterov belongs to sgd (the name here is \"adagrad\"); leave it out");
    EXPECT_EQ(refused(R"({"optimizer": {"epsilon": 1}})"),
              "e.json:2:36: /train/optimizer/epsilon: epsilon belongs to adam, adamw, rmsprop and adagrad (the name here is "
              "\"sgd\"); leave it out");
}

TEST(Schedule, EveryKindHasItsKeys) {
    auto const multistep = schedule(R"({"name": "multistep", "milestones": [3, 4.5, 9], "gamma": 0.5})");
    EXPECT_EQ(multistep.kind, ScheduleKind::multistep);
    EXPECT_EQ(multistep.milestones, (std::vector{3.0, 4.5, 9.0}));
    EXPECT_EQ(multistep.gamma, 0.5);
    EXPECT_EQ(schedule(R"({"name": "multistep", "milestones": [1]})").gamma, 0.1);
    EXPECT_EQ(schedule(R"({"name": "exponential"})").gamma, 0.95);
    EXPECT_EQ(schedule(R"({"name": "exponential", "gamma": 0.5})").gamma, 0.5);
    auto const polynomial = schedule(R"({"name": "polynomial", "power": 2, "min_lr": 0.01})");
    EXPECT_EQ(polynomial.power, 2);
    EXPECT_EQ(polynomial.min_lr, 0.01);
    auto const one_cycle = schedule(R"({"name": "one_cycle", "pct_start": 0.2, "div_factor": 10, "final_div_factor": 100})");
    EXPECT_EQ(one_cycle.kind, ScheduleKind::one_cycle);
    EXPECT_EQ(one_cycle.pct_start, 0.2);
    EXPECT_EQ(one_cycle.div_factor, 10);
    EXPECT_EQ(one_cycle.final_div_factor, 100);
    auto const plateau = schedule(
        R"({"name": "plateau", "factor": 0.5, "patience": 0, "threshold": 0.01, "min_lr": 1e-5, "warmup_epochs": 1})");
    EXPECT_EQ(plateau.kind, ScheduleKind::plateau);
    EXPECT_EQ(plateau.factor, 0.5);
    EXPECT_EQ(plateau.patience, 0);
    EXPECT_EQ(plateau.threshold, 0.01);
    EXPECT_EQ(plateau.min_lr, 1e-5);
    for (std::string const kind : {"constant", "step", "exponential", "cosine", "one_cycle", "polynomial", "plateau"})
        EXPECT_EQ(schedule("{\"name\": \"" + kind + "\", \"warmup_epochs\": 2}").warmup_epochs, 2) << kind;
}

TEST(Schedule, RangesAndForeignKeys) {
    EXPECT_EQ(refused(R"({"schedule": {"name": "multistep"}})"),
              "e.json:2:23: /train/schedule/milestones: missing (required); list the epochs, for example [30, 60, 80]");
    EXPECT_EQ(refused(R"({"schedule": {"name": "multistep", "milestones": [3, 3]}})"),
              "e.json:2:59: /train/schedule/milestones: must ascend (each is an epoch after the one before)");
    EXPECT_EQ(refused(R"({"schedule": {"name": "multistep", "milestones": [0, 3]}})"),
              "e.json:2:59: /train/schedule/milestones: element 0 must be greater than 0 (got 0)");
    EXPECT_EQ(refused(R"({"schedule": {"name": "plateau", "factor": 1, "patience": -1, "threshold": 1}})"),
              "e.json:2:53: /train/schedule/factor: must be greater than 0 and below 1 (got 1)\n"
              "e.json:2:68: /train/schedule/patience: must be at least 0 (got -1)\n"
              "e.json:2:85: /train/schedule/threshold: must be at least 0 and below 1 (got 1)");
    EXPECT_EQ(refused(R"({"schedule": {"name": "one_cycle", "pct_start": 1.5, "min_lr": 0.1}})"),
              "e.json:2:58: /train/schedule/pct_start: must be between 0 and 1 (got 1.5)\n"
              "e.json:2:73: /train/schedule/min_lr: min_lr belongs to cosine, polynomial and plateau (the name here is "
              "\"one_cycle\"); leave it out");
    EXPECT_EQ(
        refused(R"({"schedule": {"patience": 3, "power": 2}})"),
        "e.json:2:36: /train/schedule/patience: patience belongs to plateau (the name here is \"constant\"); leave it out\n"
        "e.json:2:48: /train/schedule/power: power belongs to polynomial (the name here is \"constant\"); leave it out");
}

TEST(Metric, ModesFollowTheMetric) {
    for (auto const& name : metric_names()) {
        Problems problems("e.json");
        auto const e = read_experiment(document("\"search\": {\"metric\": \"" + name + "\"}" + k_space), {}, problems);
        EXPECT_EQ(problems.text(), "");
        EXPECT_EQ(e.search.metric, name);
        EXPECT_EQ(e.search.mode, metric_traits(name).mode) << name;
    }
    for (auto const* name : {"train_loss", "val_loss", "val_mae", "val_perplexity"})
        EXPECT_EQ(metric_traits(name).mode, Mode::min) << name;
    for (auto const* name : {"val_accuracy", "val_top5", "val_f1", "val_auc", "val_r2"})
        EXPECT_EQ(metric_traits(name).mode, Mode::max) << name;
    EXPECT_EQ(complaints(document(R"("search": {"metric": "val_acc"})" + k_space)),
              "e.json:2:22: /search/metric: unknown value \"val_acc\" (known: " + listed(metric_names()) +
                  "); did you mean \"val_auc\"?");
}

TEST(DefaultLoss, IsWrittenWhereNobodyNamesOne) {
    Problems problems("e.json");
    auto e = read_experiment(document_with(R"({"epochs": 3})"), {}, problems);
    default_loss(e, LossKind::bce_with_logits, problems);
    EXPECT_EQ(e.train.loss, LossKind::bce_with_logits);
    EXPECT_EQ(e.train.epochs, 3);
    EXPECT_EQ(loss_of(e, {{"model.a", 1}}), LossKind::bce_with_logits) << "the trials have it too";
    EXPECT_EQ(e.document.at("train").at("loss"), "bce_with_logits");
    auto named = read_experiment(document_with(R"({"loss": "huber"})"), {}, problems);
    default_loss(named, LossKind::mse, problems);
    EXPECT_EQ(named.train.loss, LossKind::huber);
    auto searched = read_experiment(document(R"("space": {"train.loss": ["huber", "mse"]})"), {}, problems);
    default_loss(searched, LossKind::bce_with_logits, problems);
    EXPECT_EQ(loss_of(searched, {{"train.loss", "huber"}}), LossKind::huber);
    EXPECT_EQ(problems.text(), "");
    auto smooth = read_experiment(document_with(R"({"label_smoothing": 0.1})"), {}, problems);
    default_loss(smooth, LossKind::mse, problems);
    EXPECT_EQ(problems.text(),
              "e.json:2:30: /train/label_smoothing: label_smoothing belongs to cross_entropy (the loss here is \"mse\"); "
              "leave it out");
}

TEST(DefaultMetric, IsWrittenWhereNobodyNamesOne) {
    Problems problems("e.json");
    auto e = read_experiment(document(), {}, problems);
    default_metric(e, "val_loss", problems);
    EXPECT_EQ(e.search.metric, "val_loss");
    EXPECT_EQ(e.search.mode, Mode::min);
    EXPECT_EQ(e.document.at("search").at("metric"), "val_loss");
    auto named = read_experiment(document(R"("search": {"metric": "val_r2"}, "space": {"model.a": [1]})"), {}, problems);
    default_metric(named, "val_loss", problems);
    EXPECT_EQ(named.search.metric, "val_r2");
    EXPECT_EQ(problems.text(), "");
}

}  // namespace train_section_test
}  // namespace hopscotch
