// SPDX-License-Identifier: Apache-2.0
// Metrics against their definitions, written down the slow way, on random outputs with ties.
#include "model/trial/evaluation.hpp"
#include "experiment/validation_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"

namespace hopscotch {
namespace evaluation_test {

struct Random {
    Rng rng;
    std::vector<float> outputs, targets;
    std::vector<std::int64_t> labels;

    Random(std::uint64_t seed, std::size_t rows, std::size_t width) : rng(seed) {
        // Few different values, so that scores tie.
        for (std::size_t i = 0; i < rows * width; ++i) outputs.push_back(static_cast<float>(rng.below(9)) - 4.0F);
        for (std::size_t i = 0; i < rows * width; ++i) targets.push_back(static_cast<float>(rng.below(2)));
        for (std::size_t i = 0; i < rows; ++i) labels.push_back(rng.below(static_cast<std::uint32_t>(width)));
    }
};

// Every pair of a positive and a negative row, one by one.
double slow_auc(std::vector<double> const& scores, std::vector<bool> const& positive) {
    double wins = 0, pairs = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t j = 0; j < scores.size(); ++j) {
            if (!positive[i] || positive[j]) continue;
            pairs += 1;
            wins += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
        }
    return wins / pairs;
}

double slow_f1(std::vector<std::int64_t> const& predicted, std::vector<std::int64_t> const& actual, std::int64_t of) {
    double both = 0, all_predicted = 0, all_actual = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        both += predicted[i] == of && actual[i] == of ? 1 : 0;
        all_predicted += predicted[i] == of ? 1 : 0;
        all_actual += actual[i] == of ? 1 : 0;
    }
    if (both == 0) return 0;
    auto const precision = both / all_predicted, recall = both / all_actual;
    return 2 * precision * recall / (precision + recall);
}

TEST(Evaluation, BinaryClassification) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random const r(seed, 57, 2);
        Evaluation sums(Task::classification, 2);
        sums.add_labels(r.outputs, r.labels);
        std::vector<double> scores;
        std::vector<bool> positive;
        std::vector<std::int64_t> predicted;
        for (std::size_t i = 0; i < 57; ++i) {
            scores.push_back(r.outputs[2 * i + 1] - r.outputs[2 * i]);
            positive.push_back(r.labels[i] == 1);
            predicted.push_back(scores.back() > 0 ? 1 : 0);
        }
        EXPECT_NEAR(sums.scores().auc, slow_auc(scores, positive), 1e-12) << seed;
        EXPECT_NEAR(sums.scores().f1, slow_f1(predicted, r.labels, 1), 1e-12) << seed;
        EXPECT_TRUE(std::isnan(sums.scores().mae));
    }
}

TEST(Evaluation, PiecesInAnyCutGiveTheSameBits) {
    Random const r(5, 60, 4);
    Evaluation whole(Task::multilabel, 4), pieces(Task::multilabel, 4);
    whole.add_targets(r.outputs, r.targets, {Evaluation::TargetLoss::Kind::logistic});
    std::span const outputs(r.outputs), targets(r.targets);
    for (auto const& [first, rows] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 1}, {8, 52}})
        pieces.add_targets(outputs.subspan(first * 4, rows * 4), targets.subspan(first * 4, rows * 4),
                           {Evaluation::TargetLoss::Kind::logistic});
    EXPECT_EQ(pieces.loss(), whole.loss());
    EXPECT_EQ(pieces.scores().auc, whole.scores().auc);
    EXPECT_EQ(pieces.scores().f1, whole.scores().f1);
    EXPECT_EQ(pieces.rows(), 60);
}

TEST(Evaluation, ManyClassesAreMacroAveraged) {
    Random const r(3, 90, 5);
    Evaluation sums(Task::classification, 5);
    sums.add_labels(r.outputs, r.labels);
    std::vector<std::int64_t> predicted;
    for (std::size_t i = 0; i < 90; ++i) {
        auto const row = std::span(r.outputs).subspan(5 * i, 5);
        predicted.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    }
    double mean = 0, correct = 0;
    for (std::int64_t c = 0; c < 5; ++c) mean += slow_f1(predicted, r.labels, c) / 5;
    for (std::size_t i = 0; i < 90; ++i) correct += predicted[i] == r.labels[i] ? 1 : 0;
    EXPECT_NEAR(sums.scores().f1, mean, 1e-12);
    EXPECT_EQ(sums.correct(), correct);
    EXPECT_EQ(sums.top5(), 90);
    EXPECT_TRUE(std::isnan(sums.scores().auc));
}

TEST(Evaluation, Multilabel) {
    Random const r(4, 80, 3);
    Evaluation sums(Task::multilabel, 3);
    sums.add_targets(r.outputs, r.targets, {Evaluation::TargetLoss::Kind::logistic});
    double f1 = 0, auc = 0, loss = 0, right = 0;
    for (std::size_t c = 0; c < 3; ++c) {
        std::vector<double> scores;
        std::vector<bool> positive;
        std::vector<std::int64_t> predicted, actual;
        for (std::size_t i = c; i < 240; i += 3) {
            scores.push_back(r.outputs[i]);
            positive.push_back(r.targets[i] == 1);
            predicted.push_back(r.outputs[i] > 0 ? 1 : 0);
            actual.push_back(positive.back() ? 1 : 0);
            auto const p = 1 / (1 + std::exp(-scores.back()));
            loss -= positive.back() ? std::log(p) : std::log(1 - p);
            right += predicted.back() == actual.back() ? 1 : 0;
        }
        f1 += slow_f1(predicted, actual, 1) / 3;
        auc += slow_auc(scores, positive) / 3;
    }
    EXPECT_NEAR(sums.loss(), loss / 3, 1e-9);
    EXPECT_NEAR(sums.correct(), right / 3, 1e-9);
    EXPECT_NEAR(sums.scores().f1, f1, 1e-12);
    EXPECT_NEAR(sums.scores().auc, auc, 1e-12);
}

TEST(Evaluation, Regression) {
    std::vector<float> const outputs{2.5F, 0, 2, 8}, targets{3, -0.5F, 2, 7};  // scikit-learn's own example
    Evaluation sums(Task::regression, 1);
    sums.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::squared});
    EXPECT_NEAR(sums.scores().r2, 0.948608137, 1e-9);
    EXPECT_NEAR(sums.scores().mae, 0.5, 1e-12);
    EXPECT_NEAR(sums.loss() / 4, 0.375, 1e-12);
    Evaluation huber(Task::regression, 2);
    huber.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::huber, 0.5});
    EXPECT_NEAR(huber.loss(), (0.125 + 0.125 + 0 + 0.5 * (1 - 0.25)) / 2, 1e-12);
    EXPECT_EQ(huber.rows(), 2);
    Evaluation absolute(Task::regression, 1), quantile(Task::regression, 1);
    absolute.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::absolute});
    EXPECT_NEAR(absolute.loss(), 0.5 + 0.5 + 0 + 1, 1e-12);
    quantile.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::quantile, 0.9});
    EXPECT_NEAR(quantile.loss(), 0.9 * 0.5 + 0.1 * (0.5 + 0 + 1), 1e-12) << "too low is nine times as bad as too high";
}

TEST(Evaluation, TargetsHaveTheUnitsOfTheSource) {
    std::vector<float> const outputs{2.5F, 1, 0, 4, 2, 0, 8, 1}, targets{3, 1, -0.5F, 2, 2, 1, 7, 3};
    std::vector<double> const stddev{1000, 0.5};
    Evaluation sums(Task::regression, 2), plain(Task::regression, 2);
    sums.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::squared, 0, stddev});
    plain.add_targets(outputs, targets, {Evaluation::TargetLoss::Kind::squared});
    EXPECT_EQ(sums.loss(), plain.loss()) << "the loss is that of the training";
    EXPECT_NEAR(sums.scores().r2, plain.scores().r2, 1e-12);
    EXPECT_NEAR(sums.scores().mae, (500 + 0.5 * 5 / 4) / 2, 1e-9);
    EXPECT_NEAR(sums.scores().rmse, (std::sqrt(0.375) * 1000 + std::sqrt(9.0 / 4) * 0.5) / 2, 1e-9);
}

TEST(Evaluation, AScoreThatDoesNotExistIsNaN) {
    Evaluation none(Task::classification, 2);
    EXPECT_TRUE(std::isnan(none.scores().f1));
    std::vector<float> const outputs{1, 2};
    std::vector<std::int64_t> const labels{1};
    none.add_labels(outputs, labels);
    EXPECT_TRUE(std::isnan(none.scores().auc)) << "no negative row";
    EXPECT_EQ(none.scores().f1, 1);
}

TEST(Evaluation, NaNHitsNothing) {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    Evaluation sums(Task::classification, 7);
    std::vector<std::int64_t> const labels{0, 3};
    sums.add_labels(std::vector<float>(14, nan), labels);
    EXPECT_EQ(sums.correct(), 0);
    EXPECT_EQ(sums.top5(), 0);
    EXPECT_TRUE(std::isnan(sums.loss()));
}

TEST(EvaluationBatch, IsBoundedByFeaturesAndOutputs) {
    EXPECT_EQ(evaluation_batch(64, 10), 256);
    EXPECT_EQ(evaluation_batch(3 * 224 * 224, 1000), 27);
    EXPECT_EQ(evaluation_batch(1024, 1024 * 50257), 1);
}

}  // namespace evaluation_test
}  // namespace hopscotch
