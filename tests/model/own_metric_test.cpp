// SPDX-License-Identifier: Apache-2.0
// Metrics that a plug-in brings with it.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/validation_scores.hpp"
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
    EXPECT_EQ(failure("metric_throws_number"), file + ": val_answer threw something that is not a std::exception");
    EXPECT_EQ(failure("metric_nan"), "val_answer is nan (a metric must be a finite number); mend its value()");
}

// Against the same number from the outputs themselves.
TEST_F(OwnMetrics, OfTheExampleIsTheWorstClass) {
    Trial trial(example(0), manifest_);
    AlignedBlock block(trial->state->layout().bytes);
    trial->state->initialise(block.bytes(), 42, TrialId(3));
    trial->state->bind(block.bytes());
    auto const outputs = trial->evaluation->predict(*source(shard_), {0, 3});
    auto const predicted = [&](std::size_t row) {
        auto const first = outputs.begin() + static_cast<std::ptrdiff_t>(10 * row);
        return std::max_element(first, first + 10) - first;
    };
    // Every class is predicted rightly, but the first one: it is the answer of every fourth row, too.
    double right = 0, rows = 0;
    for (std::size_t r = 0; r < k_rows; ++r) {
        shard_.labels[r] = r % 4 == 0 ? predicted(0) : predicted(r);
        if (shard_.labels[r] != predicted(0)) continue;
        rows += 1;
        right += predicted(r) == predicted(0) ? 1 : 0;
    }
    ASSERT_LT(right, rows);
    auto const found = scores(example(0), {0, 3});
    ASSERT_EQ(found.own.size(), 1U);
    EXPECT_EQ(found.own[0].name, "val_worst_class");
    EXPECT_EQ(found.own[0].value, right / rows);
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
