// SPDX-License-Identifier: Apache-2.0
// Scores that are taken where the outputs are, against Evaluation's own, on random outputs with ties.
#include "tensor/trial/output_scores.hpp"

#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rng.hpp"
#include "experiment/validation_scores.hpp"
#include "model/trial/evaluation.hpp"

namespace hopscotch {
namespace output_scores_test {

struct Batch {
    std::int64_t rows, classes;
    std::vector<float> outputs;
    std::vector<std::int64_t> labels;

    Batch(Rng& rng, std::int64_t n, std::int64_t width) : rows(n), classes(width) {
        for (std::int64_t i = 0; i < n * width; ++i) outputs.push_back(static_cast<float>(rng.below(9)) / 2 - 2.0F);
        for (std::int64_t i = 0; i < n; ++i) labels.push_back(rng.below(static_cast<std::uint32_t>(width)));
    }
    at::Tensor x() { return at::from_blob(outputs.data(), {rows, classes}, at::kFloat); }
    at::Tensor y() { return at::from_blob(labels.data(), {rows}, at::kLong); }
};

TEST(OutputScores, LabelsCountAsEvaluationCountsThem) {
    Rng rng(1);
    for (std::int64_t const classes : {3, 4, 7, 1000}) {
        Evaluation expected(Task::classification, classes), found(Task::classification, classes);
        OutputScores scores;
        for (std::int64_t const rows : {64, 1, 33}) {
            Batch batch(rng, rows, classes);
            expected.add_labels(batch.outputs, batch.labels);
            scores.add_labels(batch.x(), batch.y());
        }
        scores.move_into(found);
        EXPECT_EQ(found.rows(), 98);
        EXPECT_EQ(found.correct(), expected.correct()) << classes;
        EXPECT_EQ(found.top5(), expected.top5()) << classes;
        EXPECT_EQ(found.scores().f1, expected.scores().f1) << classes;
        EXPECT_NEAR(found.loss(), expected.loss(), 1e-12 * expected.loss()) << classes;
    }
}

TEST(OutputScores, BatchesInAnyCutGiveTheSameBits) {
    Rng rng(2);
    std::vector<Batch> batches;
    for (int i = 0; i < 7; ++i) batches.emplace_back(rng, 16 + i, 5);
    Evaluation whole(Task::classification, 5), pieces(Task::classification, 5);
    OutputScores all;
    for (auto& batch : batches) {
        all.add_labels(batch.x(), batch.y());
        OutputScores one;
        one.add_labels(batch.x(), batch.y());
        one.move_into(pieces);
    }
    all.move_into(whole);
    all.move_into(whole);  // has nothing any more
    EXPECT_EQ(pieces.loss(), whole.loss());
    EXPECT_EQ(pieces.correct(), whole.correct());
    EXPECT_EQ(pieces.scores().f1, whole.scores().f1);
    EXPECT_EQ(pieces.rows(), whole.rows());
}

TEST(OutputScores, ARowWithANaNHitsNothing) {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> outputs{nan, nan, nan, 1, nan, 0, 3, 2, 1};
    std::vector<std::int64_t> labels{0, 0, 0};
    Evaluation expected(Task::classification, 3), found(Task::classification, 3);
    expected.add_labels(outputs, labels);
    OutputScores scores;
    scores.add_labels(at::from_blob(outputs.data(), {3, 3}, at::kFloat), at::from_blob(labels.data(), {3}, at::kLong));
    scores.move_into(found);
    EXPECT_EQ(found.correct(), expected.correct());
    EXPECT_EQ(found.correct(), 1);
    EXPECT_TRUE(std::isnan(found.loss()));
}

}  // namespace output_scores_test
}  // namespace hopscotch
