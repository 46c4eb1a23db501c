// SPDX-License-Identifier: Apache-2.0
// What the analysis says, against the definitions written down the slow way.
#include "model/trial/error_analysis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/rng.hpp"

namespace hopscotch {
namespace error_analysis_test {

Manifest data_of(Task task, std::int64_t outputs) {
    Manifest out;
    out.task = task;
    out.outputs = outputs;
    return out;
}

std::vector<float> normal_outputs(Rng& rng, std::size_t count) {
    std::vector<float> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(rng.normal()));
    return out;
}

std::int64_t at(Json const& array, std::size_t i) { return array.array().at(i).integer(); }

TEST(ErrorAnalysis, CountsEachPairOfClasses) {
    constexpr std::size_t rows = 333, classes = 4;
    Rng rng(3);
    auto const outputs = normal_outputs(rng, rows * classes);
    std::vector<std::int64_t> labels;
    for (std::size_t r = 0; r < rows; ++r) labels.push_back(rng.below(classes));
    auto const data = data_of(Task::classification, classes);
    TrainConfig const train;
    ErrorAnalysis analysis(data, train, "val_accuracy");
    // In pieces of any size.
    for (std::size_t from = 0; from < rows; from += 100) {
        auto const count = std::min<std::size_t>(100, rows - from);
        analysis.labels(std::span(outputs).subspan(from * classes, count * classes), std::span(labels).subspan(from, count));
    }
    std::vector<std::vector<std::int64_t>> expected(classes, std::vector<std::int64_t>(classes));
    for (std::size_t r = 0; r < rows; ++r) {
        auto const* row = &outputs[r * classes];
        ++expected[static_cast<std::size_t>(labels[r])]
                  [static_cast<std::size_t>(std::max_element(row, row + classes) - row)];
    }
    auto const document = analysis.document();
    EXPECT_EQ(document.at("rows").integer(), 333);
    std::int64_t wrong = 0, most = 0;
    for (std::size_t r = 0; r < classes; ++r)
        for (std::size_t c = 0; c < classes; ++c) {
            EXPECT_EQ(at(document.at("confusion").array().at(r), c), expected[r][c]);
            if (r != c) wrong += expected[r][c];
            if (r != c) most = std::max(most, expected[r][c]);
        }
    std::int64_t confused = 0;
    for (auto const& pair : document.at("confused").array()) confused += at(pair, 2);
    EXPECT_EQ(confused, wrong);
    EXPECT_EQ(at(document.at("confused").array().front(), 2), most);
    auto const& counts = document.at("classes");
    for (std::size_t c = 0; c < classes; ++c) {
        EXPECT_EQ(at(counts.at("right"), c), expected[c][c]);
        EXPECT_EQ(at(counts.at("labelled"), c), std::ranges::count(labels, static_cast<std::int64_t>(c)));
    }
}

// Of a mean over rows the jackknife is the deviation of the groups' means, which has a closed form.
TEST(ErrorAnalysis, KnowsTheErrorOfAMean) {
    constexpr std::size_t rows = 4000, groups = 20;
    Rng rng(11);
    auto const outputs = normal_outputs(rng, rows), targets = normal_outputs(rng, rows);
    auto const data = data_of(Task::regression, 1);
    TrainConfig train;
    train.loss = LossKind::mae;
    ErrorAnalysis analysis(data, train, "val_mae");
    analysis.targets(outputs, targets);
    std::vector<double> means(groups);
    for (std::size_t i = 0; i < rows; ++i) means[i % groups] += std::abs(outputs[i] - targets[i]) / (rows / groups);
    auto const mean = std::accumulate(means.begin(), means.end(), 0.0) / groups;
    double squares = 0;
    for (auto const each : means) squares += (each - mean) * (each - mean);
    auto const expected = std::sqrt(squares / (groups * (groups - 1)));
    EXPECT_NEAR(analysis.document().at("standard_error").number(), expected, 1e-9);
}

constexpr std::size_t k_rows = 1000;

struct Answered {
    std::vector<float> outputs;  // of two classes
    std::vector<std::int64_t> labels;
};

// The root of the mean square over many datasets, since 20 groups are few.
double usual_error(std::string const& metric, std::function<Answered(Rng&)> const& draw) {
    constexpr int datasets = 60;
    auto const data = data_of(Task::classification, 2);
    TrainConfig const train;
    double sum = 0;
    for (int seed = 0; seed < datasets; ++seed) {
        Rng rng(static_cast<std::uint64_t>(seed));
        auto const drawn = draw(rng);
        ErrorAnalysis analysis(data, train, metric);
        analysis.labels(drawn.outputs, drawn.labels);
        auto const error = analysis.document().at("standard_error").number();
        sum += error * error / datasets;
    }
    return std::sqrt(sum);
}

// Of an accuracy it is near the root of p (1 - p) / n.
TEST(ErrorAnalysis, KnowsTheErrorOfAnAccuracy) {
    auto const error = usual_error("val_accuracy", [](Rng& rng) {
        Answered out{{}, std::vector<std::int64_t>(k_rows, 0)};
        for (std::size_t r = 0; r < k_rows; ++r)
            out.outputs.insert(out.outputs.end(), {rng.uniform() < 0.8 ? 1.0F : -1.0F, 0.0F});
        return out;
    });
    auto const expected = std::sqrt(0.8 * 0.2 / k_rows);
    EXPECT_NEAR(error, expected, 0.05 * expected);
}

// With outputs that give each row its label, or never do.
Json error_of_a_sure_model(std::string const& metric, float sign, std::size_t rows) {
    auto const data = data_of(Task::classification, 2);
    TrainConfig const train;
    ErrorAnalysis analysis(data, train, metric);
    std::vector<float> outputs;
    std::vector<std::int64_t> labels;
    for (std::size_t r = 0; r < rows; ++r) {
        labels.push_back(static_cast<std::int64_t>(r % 2));
        auto const truth = r % 2 == 0 ? sign : -sign;
        outputs.insert(outputs.end(), {truth, -truth});
    }
    analysis.labels(outputs, labels);
    return analysis.document().at("standard_error");
}

// Agresti and Coull (1998): the root of q (1 - q) / (n + 4), with q = (right + 2) / (n + 4). So a row is never beyond.
TEST(ErrorAnalysis, KnowsTheErrorOfAPerfectAccuracy) {
    for (std::size_t const rows : {40, 400, 10000})
        for (float const sign : {1.0F, -1.0F}) {
            auto const n = static_cast<double>(rows);
            auto const error = error_of_a_sure_model("val_accuracy", sign, rows).number();
            EXPECT_NEAR(error, std::sqrt(2 * (n + 2)) / std::pow(n + 4, 1.5), 1e-12);
            EXPECT_GT(2 * error, 1 / n);
        }
}

// Of other scores no closed form is known, and equal values in all groups of rows say nothing.
TEST(ErrorAnalysis, KnowsNoErrorOfOtherPerfectScores) {
    for (auto const* metric : {"val_f1", "val_auc"}) EXPECT_TRUE(error_of_a_sure_model(metric, 1, 400).is_null()) << metric;
}

// Hanley and McNeil (1982): of equal scores in both classes the variance is (positives + negatives + 1) / (12 p n).
TEST(ErrorAnalysis, KnowsTheErrorOfAnAuc) {
    auto const error = usual_error("val_auc", [](Rng& rng) {
        Answered out{normal_outputs(rng, 2 * k_rows), {}};
        for (std::size_t r = 0; r < k_rows; ++r) out.labels.push_back(rng.below(2));
        return out;
    });
    auto const expected = std::sqrt(1001.0 / (12 * 500.0 * 500.0));
    EXPECT_NEAR(error, expected, 0.07 * expected);
}

TEST(ErrorAnalysis, SortsNoHugeListOfScores) {
    constexpr std::size_t rows = 1'000'001;
    auto const data = data_of(Task::classification, 2);
    TrainConfig const train;
    ErrorAnalysis analysis(data, train, "val_auc");
    analysis.labels(std::vector<float>(2 * rows, 0.5F), std::vector<std::int64_t>(rows, 1));
    EXPECT_EQ(analysis.document().at("rows").integer(), 1'000'001);
    EXPECT_TRUE(analysis.document().at("standard_error").is_null());
}

TEST(ErrorAnalysis, SaysNothingItDoesNotKnow) {
    auto const data = data_of(Task::classification, 2);
    TrainConfig const train;
    for (auto const* metric : {"train_loss", "val_own", "val_r2"}) {
        ErrorAnalysis analysis(data, train, metric);
        analysis.labels(std::vector<float>(200, 0.5F), std::vector<std::int64_t>(100, 1));
        EXPECT_TRUE(analysis.document().at("standard_error").is_null()) << metric;
    }
    ErrorAnalysis few(data, train, "val_accuracy");
    few.labels(std::vector<float>(78, 0.5F), std::vector<std::int64_t>(39, 1));
    EXPECT_TRUE(few.document().at("standard_error").is_null());
    EXPECT_EQ(ErrorAnalysis(data, train, "val_accuracy").document().at("rows").integer(), 0);
}

TEST(ErrorAnalysis, TellsResidualsInTheUnitOfTheSource) {
    constexpr std::size_t rows = 5001;
    auto data = data_of(Task::regression, 2);
    data.targets.mean = {100, -5};
    data.targets.stddev = {10, 0.5};
    TrainConfig train;
    train.loss = LossKind::mse;
    std::vector<float> outputs, targets;
    for (std::size_t r = 0; r < rows; ++r) {
        auto const residual = static_cast<float>(r) / 1000;  // 0 to 5 deviations
        targets.insert(targets.end(), {1.0F, 0.0F});
        outputs.insert(outputs.end(), {1.0F + residual, -residual});
    }
    ErrorAnalysis analysis(data, train, "val_loss");
    analysis.targets(outputs, targets);
    auto const document = analysis.document();
    auto const& first = document.at("targets").array().at(0);
    auto const& second = document.at("targets").array().at(1);
    EXPECT_NEAR(first.at("mean").number(), 25, 1e-3);
    EXPECT_NEAR(first.at("mae").number(), 25, 1e-3);
    EXPECT_NEAR(second.at("mae").number(), 25.0 / 20, 1e-3);
    EXPECT_NEAR(second.at("rmse").number(), 50 / std::sqrt(3.0) / 20, 1e-3);
    EXPECT_EQ(second.at("r2").number(), 0) << "constant targets";
    double const expected[] = {0, 2.5, 12.5, 25, 37.5, 47.5, 50};
    for (std::size_t q = 0; q < 7; ++q) {
        EXPECT_NEAR(first.at("quantiles").array()[q].number(), expected[q], 1e-3);
        EXPECT_NEAR(second.at("quantiles").array()[q].number(), -expected[6 - q] / 20, 1e-4);
    }
    auto const& sample = first.at("sample").array();
    EXPECT_GT(sample.size(), 500u);
    EXPECT_LE(sample.size(), 1001u);
    for (std::size_t i = 0; i < sample.size(); ++i) {
        EXPECT_EQ(sample[i].array()[0].number(), 110);
        auto const step = static_cast<double>(rows - 1) / static_cast<double>(sample.size() - 1);
        EXPECT_NEAR(sample[i].array()[1].number(), 110 + static_cast<double>(i) * step / 100, 0.1);
    }
}

TEST(ErrorAnalysis, CountsLabels) {
    auto const data = data_of(Task::multilabel, 2);
    TrainConfig train;
    train.loss = LossKind::bce_with_logits;
    ErrorAnalysis analysis(data, train, "val_f1");
    analysis.targets(std::vector<float>{1, -1, 1, 1, -1, 1}, std::vector<float>{1, 0, 0, 1, 1, 1});
    auto const document = analysis.document();
    EXPECT_EQ(document.find("confusion"), nullptr);
    EXPECT_EQ(document.at("classes").at("labelled"), Json(std::vector<int>{2, 2}));
    EXPECT_EQ(document.at("classes").at("predicted"), Json(std::vector<int>{2, 2}));
    EXPECT_EQ(document.at("classes").at("right"), Json(std::vector<int>{1, 2}));
}

}  // namespace error_analysis_test
}  // namespace hopscotch
