// SPDX-License-Identifier: Apache-2.0
#include "model/trial/error_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_groups = 20;  // of rows, for the jackknife
constexpr std::int64_t k_fewest_rows = 2 * k_groups;
constexpr std::size_t k_most_confusion = 50, k_most_classes = 1000, k_most_confused = 30, k_most_targets = 16;
constexpr std::size_t k_most_sample = 1000;
constexpr std::int64_t k_most_ranked = 2'000'000;  // rows x outputs
constexpr std::array k_residual_quantiles{0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};

// Seven digits, as a float has them.
Json rounded(double value) { return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr); }

// By linear interpolation, as numpy's default. values: sorted, not empty.
double quantile(std::vector<float> const& values, double share) {
    auto const at = share * static_cast<double>(values.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    double const low = values[below], high = values[std::min(below + 1, values.size() - 1)];
    return low + (high - low) * (at - static_cast<double>(below));
}

// Of a share that is the same in all groups of rows, such as 0 or 1: with two more right rows and two more wrong ones
// (Agresti and Coull 1998). Near 1.4 / rows, so one row more or less is within the noise.
double error_of_share(double share, std::int64_t rows) {
    auto const count = static_cast<double>(rows) + 4;
    auto const near = (share * static_cast<double>(rows) + 2) / count;
    return std::sqrt(near * (1 - near) / count);
}

}  // namespace

ErrorAnalysis::ErrorAnalysis(Manifest const& data, TrainConfig const& train, std::string metric)
    : data_(data),
      train_(train),
      metric_(std::move(metric)),
      groups_(k_groups, Evaluation(data.task, data.outputs)),
      labelled_(data.task == Task::regression ? 0 : static_cast<std::size_t>(data.outputs)),
      predicted_(labelled_.size()),
      right_(labelled_.size()),
      residuals_(data.task == Task::regression ? std::min(static_cast<std::size_t>(data.outputs), k_most_targets) : 0) {}

// Ranks are kept for val_auc alone, and only while they are few.
void ErrorAnalysis::add_to_group(auto const& add) {
    auto& group = groups_[static_cast<std::size_t>(rows_) % k_groups];
    add(group);
    if (metric_ != k_val_auc || rows_ * data_.outputs > k_most_ranked) group.forget_ranks();
}

void ErrorAnalysis::labels(std::span<float const> outputs, std::span<std::int64_t const> labels) {
    auto const width = static_cast<std::size_t>(data_.outputs);
    for (std::size_t r = 0; r < labels.size(); ++r) {
        auto const row = outputs.subspan(r * width, width);
        add_to_group([&](Evaluation& group) { group.add_labels(row, labels.subspan(r, 1)); });
        hear_row(row, labels[r]);
        ++rows_;
    }
}

void ErrorAnalysis::targets(std::span<float const> outputs, std::span<float const> targets) {
    auto const width = static_cast<std::size_t>(data_.outputs);
    auto const loss = target_loss(train_, data_.targets.stddev);
    for (std::size_t first = 0; first < targets.size(); first += width) {
        auto const row = outputs.subspan(first, width), answers = targets.subspan(first, width);
        add_to_group([&](Evaluation& group) { group.add_targets(row, answers, loss); });
        hear_row(row, answers);
        ++rows_;
    }
}

// The predicted class as in Evaluation: of equal outputs the first.
void ErrorAnalysis::hear_row(std::span<float const> outputs, std::int64_t label) {
    auto const predicted = std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
    ++labelled_[static_cast<std::size_t>(label)];
    ++predicted_[static_cast<std::size_t>(predicted)];
    if (predicted == label) ++right_[static_cast<std::size_t>(label)];
    ++confused_[{static_cast<int>(label), static_cast<int>(predicted)}];
}

void ErrorAnalysis::hear_row(std::span<float const> outputs, std::span<float const> targets) {
    for (std::size_t i = 0; i < labelled_.size(); ++i) {
        bool const positive = targets[i] > 0.5F, predicted = outputs[i] > 0;
        labelled_[i] += positive ? 1 : 0;
        predicted_[i] += predicted ? 1 : 0;
        right_[i] += positive && predicted ? 1 : 0;
    }
    bool const sampled = rows_ % stride_ == 0;
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
        auto const target = target_in_units(data_, i, targets[i]), value = target_in_units(data_, i, outputs[i]);
        residuals_[i].all.push_back(static_cast<float>(value - target));
        if (sampled) residuals_[i].sample.emplace_back(target, value);
    }
    if (residuals_.empty() || residuals_.front().sample.size() <= k_most_sample) return;
    stride_ *= 2;
    for (auto& residuals : residuals_) {  // every second one stays
        for (std::size_t i = 1; 2 * i < residuals.sample.size(); ++i) residuals.sample[i] = residuals.sample[2 * i];
        residuals.sample.resize((residuals.sample.size() + 1) / 2);
    }
}

// The delete-a-group jackknife (Efron and Tibshirani 1993, chapter 11): it works for any metric, also for an AUC, which is
// not a mean over rows.
double ErrorAnalysis::standard_error() const {
    if (!is_metric(metric_) || rows_ < k_fewest_rows) return ValidationScores::none;
    auto const& metric = metric_traits(metric_);
    if (!metric.is_of_validation() || !has_metric(train_.loss, metric)) return ValidationScores::none;
    if (metric_ == k_val_auc && rows_ * data_.outputs > k_most_ranked) return ValidationScores::none;
    std::vector<double> values;
    for (std::size_t left_out = 0; left_out < k_groups; ++left_out) {
        Evaluation rest(data_.task, data_.outputs);
        for (std::size_t g = 0; g < k_groups; ++g)
            if (g != left_out) rest.merge(groups_[g]);
        values.push_back(metric.value(rest.scores()));
    }
    if (std::ranges::count(values, values.front()) == std::ssize(values))  // these values do not show the noise
        return metric.is_share ? error_of_share(values.front(), rows_) : ValidationScores::none;
    constexpr auto count = static_cast<double>(k_groups);
    auto const mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (auto const value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares * (count - 1) / count);
}

void ErrorAnalysis::add_classes(Json& document) const {
    if (labelled_.empty()) return;
    if (labelled_.size() <= k_most_classes)
        document["classes"] = Json::object(
            {{"names", data_.class_names}, {"labelled", labelled_}, {"predicted", predicted_}, {"right", right_}});
    if (data_.task != Task::classification) return;
    if (labelled_.size() <= k_most_confusion) {
        std::vector<std::vector<std::int64_t>> matrix(labelled_.size(), std::vector<std::int64_t>(labelled_.size()));
        for (auto const& [pair, rows] : confused_)
            matrix[static_cast<std::size_t>(pair.first)][static_cast<std::size_t>(pair.second)] = rows;
        Json::Array lines;
        for (auto const& line : matrix) lines.emplace_back(line);
        document["confusion"] = std::move(lines);
    }
    std::vector<std::pair<std::pair<int, int>, std::int64_t>> wrong;
    for (auto const& each : confused_)
        if (each.first.first != each.first.second) wrong.emplace_back(each);
    std::ranges::stable_sort(wrong, std::greater(), [](auto const& each) { return each.second; });
    wrong.resize(std::min(wrong.size(), k_most_confused));
    Json::Array pairs;
    for (auto const& [pair, rows] : wrong) pairs.emplace_back(Json::Array{pair.first, pair.second, rows});
    document["confused"] = std::move(pairs);
}

Json ErrorAnalysis::residuals_of(std::size_t target, Evaluation::TargetScores const& scores) const {
    auto sorted = residuals_[target].all;
    std::ranges::sort(sorted);
    auto const count = static_cast<double>(sorted.size());
    auto const mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
    double squares = 0;
    for (double const value : sorted) squares += (value - mean) * (value - mean);
    Json::Array quantiles, sample;
    for (auto const share : k_residual_quantiles) quantiles.push_back(rounded(quantile(sorted, share)));
    for (auto const& [answer, predicted] : residuals_[target].sample)
        sample.emplace_back(Json::Array{rounded(answer), rounded(predicted)});
    return Json::object({{"name", output_name(data_, target)},
                         {"mae", scores.mae},
                         {"rmse", scores.rmse},
                         {"r2", scores.r2},
                         {"mean", mean},
                         {"stddev", std::sqrt(squares / count)},
                         {"quantiles", std::move(quantiles)},
                         {"sample", std::move(sample)}});
}

Json ErrorAnalysis::document() const {
    auto out = Json::object({{"rows", rows_}, {"metric", metric_}});
    auto const error = standard_error();
    out["standard_error"] = std::isfinite(error) ? Json(error) : Json();
    if (rows_ == 0) return out;
    add_classes(out);
    Evaluation all(data_.task, data_.outputs);
    for (auto const& group : groups_) all.merge(group);
    auto const scores = all.target_scores();
    Json::Array targets;
    for (std::size_t i = 0; i < residuals_.size(); ++i) targets.push_back(residuals_of(i, scores[i]));
    if (!targets.empty()) out["targets"] = std::move(targets);
    return out;
}

}  // namespace hopscotch
