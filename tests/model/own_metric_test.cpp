// SPDX-License-Identifier: Apache-2.0
// Metrics that a plug-in brings with it.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "model/own_model.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch::testing {
namespace own_metric_test {

constexpr std::int64_t k_rows = 700;  // three batches of evaluation

class OwnMetrics : public ::testing::Test {
protected:
    // Batches [first, last) of a shard, piece by piece.
    ValidationScores scores(TrialConfig const& config, std::vector<std::int64_t> const& cuts) {
        Trial trial(config, manifest_);
        AlignedBlock block(trial->state->layout().bytes);
        trial->state->initialise(block.bytes(), 42, TrialId(3));
        trial->state->bind(block.bytes());
        auto const data = source(shard_);
        Evaluation all(manifest_.task, manifest_.outputs);
        for (std::size_t i = 1; i < cuts.size(); ++i)
            trial->evaluation->evaluate(*data, {cuts[i - 1], cuts[i] - cuts[i - 1]}, all);
        return trial->evaluation->scores(all);
    }
    std::string failure(std::string const& fault) {
        try {
            scores(odd(fault), {0, 3});
        } catch (Error const& error) {
            return error.what();
        }
        return "";
    }

    Manifest manifest_ = digits(k_rows);
    Shard shard_ = random_shard(manifest_, k_rows, 5);
};

TEST_F(OwnMetrics, AddUpOverBatchesInAnyCut) {
    auto const found = scores(odd("metrics"), {0, 3});
    ASSERT_EQ(found.own.size(), 1U);
    EXPECT_EQ(found.own[0].name, "val_answer");
    double mean = 0;
    for (auto const label : shard_.labels) mean += static_cast<double>(label) / k_rows;
    EXPECT_NEAR(found.own[0].value, mean, 1e-9);
    EXPECT_EQ(scores(odd("metrics"), {0, 1, 3}).own[0].value, found.own[0].value);
    EXPECT_EQ(scores(odd("metrics"), {0, 1, 2, 3}).own[0].value, found.own[0].value);
    EXPECT_TRUE(scores(odd("metrics"), {0}).own.empty()) << "no rows";
}

TEST_F(OwnMetrics, ThatFailSayWhoAndWhy) {
    auto const file = k_plugins + "odd_model.so";
    EXPECT_EQ(failure("metric_throws"), file + ": val_answer: no such answer");
    EXPECT_EQ(failure("metric_throws_number"), file + ": val_answer threw something that is no std::exception");
    EXPECT_EQ(failure("metric_nan"), "val_answer is nan");
}

// Against the same number from the outputs themselves.
TEST_F(OwnMetrics, OfTheExampleIsTheWorstClass) {
    Trial trial(example(0), manifest_);
    AlignedBlock block(trial->state->layout().bytes);
    trial->state->initialise(block.bytes(), 42, TrialId(3));
    trial->state->bind(block.bytes());
    auto const outputs = trial->evaluation->predict(*source(shard_), {0, 3});
    std::vector<double> right(10), rows(10);
    for (std::size_t r = 0; r < k_rows; ++r) {
        auto const first = outputs.begin() + static_cast<std::ptrdiff_t>(10 * r);
        auto const label = static_cast<std::size_t>(shard_.labels[r]);
        right[label] += std::max_element(first, first + 10) - first == shard_.labels[r] ? 1 : 0;
        rows[label] += 1;
    }
    double worst = 1;
    for (std::size_t c = 0; c < 10; ++c) worst = std::min(worst, right[c] / rows[c]);
    auto const found = scores(example(0), {0, 3});
    ASSERT_EQ(found.own.size(), 1U);
    EXPECT_EQ(found.own[0].name, "val_worst_class");
    EXPECT_EQ(found.own[0].value, worst);
}

TEST_F(OwnMetrics, HaveADirection) {
    auto const schema = schema_of(manifest_);
    auto const odd_ones = own_metrics(odd("").model, schema), examples = own_metrics(example().model, schema);
    ASSERT_EQ(odd_ones.size(), 1U);
    EXPECT_EQ(odd_ones[0].mode, Mode::min);
    ASSERT_EQ(examples.size(), 1U);
    EXPECT_EQ(examples[0].mode, Mode::max);
    EXPECT_TRUE(own_metrics(trial_config("mlp").model, schema).empty());
    EXPECT_TRUE(own_metrics(own("plugin", "nothing.so").model, schema).empty());
}

}  // namespace own_metric_test
}  // namespace hopscotch::testing
