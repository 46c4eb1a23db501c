// SPDX-License-Identifier: Apache-2.0
#include "model/trial/evaluation.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiment/validation_scores.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_inputs = 4 << 20, k_most_outputs = 16 << 20;  // floats of one batch

double log_sum_exp(std::span<float const> row) {
    double const top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (auto const value : row) sum += std::exp(static_cast<double>(value) - top);
    return top + std::log(sum);
}

// As torch's BCEWithLogitsLoss computes it, without overflow.
double logistic_loss(double x, double target) { return std::max(x, 0.0) - x * target + std::log1p(std::exp(-std::abs(x))); }

double huber_loss(double error, double delta) {
    auto const size = std::abs(error);
    return size <= delta ? 0.5 * error * error : delta * (size - 0.5 * delta);
}

}  // namespace

Evaluation::TargetLoss target_loss(TrainConfig const& train, std::span<double const> stddev) {
    using Kind = Evaluation::TargetLoss::Kind;
    switch (train.loss) {
        case LossKind::mse: return {Kind::squared, 0, stddev};
        case LossKind::huber: return {Kind::huber, train.of_loss.huber_delta, stddev};
        case LossKind::mae: return {Kind::absolute, 0, stddev};
        case LossKind::quantile: return {Kind::quantile, train.of_loss.quantile, stddev};
        case LossKind::bce_with_logits: return {Kind::logistic};
        case LossKind::cross_entropy: break;  // of classes
    }
    throw Error("a loss without targets");
}

std::int64_t evaluation_batch(std::int64_t row_size, std::int64_t row_outputs) {
    auto const most = std::min(k_most_inputs / std::max<std::int64_t>(1, row_size),
                               k_most_outputs / std::max<std::int64_t>(1, row_outputs));
    return std::clamp<std::int64_t>(most, 1, 256);
}

void Evaluation::add_labels(std::span<float const> outputs, std::span<std::int64_t const> labels) {
    if (listener_ != nullptr) return listener_->labels(outputs, labels);
    counts_.resize(outputs_);
    if (outputs_ == 2) scored_.resize(1);
    for (std::size_t r = 0; r < labels.size(); ++r) {
        auto const row = outputs.subspan(r * outputs_, outputs_);
        auto const label = static_cast<std::size_t>(labels[r]);
        std::size_t rank = 0;
        for (std::size_t i = 0; i < outputs_; ++i)
            if (!(row[i] < row[label]) && (i < label || row[i] != row[label]) && i != label) ++rank;  // a NaN is not a hit
        auto const predicted = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
        loss_ += log_sum_exp(row) - static_cast<double>(row[label]);
        correct_ += rank == 0 ? 1 : 0;
        top5_ += rank < 5 ? 1 : 0;
        ++counts_[label].actual;
        ++counts_[predicted].predicted;
        if (predicted == label) ++counts_[label].right;
        if (outputs_ == 2) scored_[0].push_back({row[1] - row[0], label == 1});
    }
    rows_ += static_cast<std::int64_t>(labels.size());
}

double Evaluation::TargetLoss::operator()(double output, double target) const {
    auto const error = output - target;
    switch (kind) {
        case Kind::squared: return error * error;
        case Kind::huber: return huber_loss(error, parameter);
        case Kind::absolute: return std::abs(error);
        case Kind::quantile: return std::max(-parameter * error, (1 - parameter) * error);
        case Kind::logistic: break;
    }
    return logistic_loss(output, target);
}

void Evaluation::add_targets(std::span<float const> outputs, std::span<float const> targets, TargetLoss const& loss) {
    if (listener_ != nullptr) return listener_->targets(outputs, targets);
    bool const labels = loss.kind == TargetLoss::Kind::logistic;
    if (labels) {
        counts_.resize(outputs_);
        scored_.resize(outputs_);
    } else {
        moments_.resize(outputs_);
    }
    auto const width = static_cast<double>(outputs_);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        auto const column = i % outputs_;
        loss_ += loss(outputs[i], targets[i]) / width;
        if (labels) {
            bool const positive = targets[i] > 0.5F, predicted = outputs[i] > 0;
            correct_ += (positive == predicted ? 1 : 0) / width;
            auto& counts = counts_[column];
            counts.actual += positive ? 1 : 0;
            counts.predicted += predicted ? 1 : 0;
            counts.right += positive && predicted ? 1 : 0;
            scored_[column].push_back({outputs[i], positive});
        } else {
            auto const unit = loss.stddev.empty() ? 1.0 : loss.stddev[column];
            moments_[column].add(static_cast<double>(outputs[i]) * unit, static_cast<double>(targets[i]) * unit);
        }
    }
    rows_ += static_cast<std::int64_t>(targets.size() / outputs_);
}

void Evaluation::Moments::add(double output, double target) {
    auto const error = output - target;
    count += 1;
    auto const from_old_mean = target - mean;
    mean += from_old_mean / count;
    squares += from_old_mean * (target - mean);
    squared_error += error * error;
    absolute_error += std::abs(error);
}

void Evaluation::add_sums(std::int64_t rows, double loss, double correct, double top5) {
    rows_ += rows;
    loss_ += loss;
    correct_ += correct;
    top5_ += top5;
}

void Evaluation::add_classes(std::span<std::int64_t const> right, std::span<std::int64_t const> predicted,
                             std::span<std::int64_t const> labelled) {
    counts_.resize(outputs_);
    for (std::size_t i = 0; i < right.size(); ++i) {
        counts_[i].right += right[i];
        counts_[i].predicted += predicted[i];
        counts_[i].actual += labelled[i];
    }
}

void Evaluation::add_own(std::span<double const> sums) {
    own_.resize(std::max(own_.size(), sums.size()));
    for (std::size_t i = 0; i < sums.size(); ++i) own_[i] += sums[i];
}

// Moments as in Chan, Golub and LeVeque (1979).
void Evaluation::merge(Evaluation const& other) {
    add_sums(other.rows_, other.loss_, other.correct_, other.top5_);
    add_own(other.own_);
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (std::size_t i = 0; i < other.counts_.size(); ++i) {
        counts_[i].right += other.counts_[i].right;
        counts_[i].predicted += other.counts_[i].predicted;
        counts_[i].actual += other.counts_[i].actual;
    }
    scored_.resize(std::max(scored_.size(), other.scored_.size()));
    for (std::size_t i = 0; i < other.scored_.size(); ++i)
        scored_[i].insert(scored_[i].end(), other.scored_[i].begin(), other.scored_[i].end());
    moments_.resize(std::max(moments_.size(), other.moments_.size()));
    for (std::size_t i = 0; i < other.moments_.size(); ++i) {
        auto& a = moments_[i];
        auto const& b = other.moments_[i];
        if (b.count == 0) continue;
        auto const apart = b.mean - a.mean, count = a.count + b.count;
        a.mean += apart * b.count / count;
        a.squares += b.squares + apart * apart * a.count * b.count / count;
        a.count = count;
        a.squared_error += b.squared_error;
        a.absolute_error += b.absolute_error;
    }
}

double Evaluation::f1() const {
    auto const of = [](Counts const& c) {
        auto const both = static_cast<double>(c.predicted + c.actual);
        return both > 0 ? 2 * static_cast<double>(c.right) / both : 0.0;
    };
    if (task_ == Task::classification && outputs_ == 2) return of(counts_[1]);
    double sum = 0;
    for (auto const& counts : counts_) sum += of(counts);
    return sum / static_cast<double>(counts_.size());
}

// The probability that a positive row scores above a negative one, ties counting half (Mann-Whitney), from one sort.
double Evaluation::auc(std::vector<Scored> scored) {
    std::sort(scored.begin(), scored.end(), [](Scored const& a, Scored const& b) { return a.score < b.score; });
    double positives = 0, negatives = 0, wins = 0;
    for (std::size_t i = 0; i < scored.size();) {
        double tied_positives = 0, tied_negatives = 0;
        auto const score = scored[i].score;
        for (; i < scored.size() && scored[i].score == score; ++i)
            (scored[i].positive ? tied_positives : tied_negatives) += 1;
        wins += tied_positives * (negatives + 0.5 * tied_negatives);
        positives += tied_positives;
        negatives += tied_negatives;
    }
    return positives > 0 && negatives > 0 ? wins / (positives * negatives) : ValidationScores::none;
}

std::vector<Evaluation::TargetScores> Evaluation::target_scores() const {
    std::vector<TargetScores> out;
    for (auto const& m : moments_)
        // As scikit-learn: constant targets give 1 when predicted exactly, else 0.
        out.push_back({.mae = m.absolute_error / m.count,
                       .rmse = std::sqrt(m.squared_error / m.count),
                       .r2 = m.squares > 0         ? 1 - m.squared_error / m.squares
                             : m.squared_error > 0 ? 0.0
                                                   : 1.0});
    return out;
}

ValidationScores Evaluation::scores() const {
    ValidationScores out{.rows = rows_, .loss = loss_, .correct = correct_, .top5 = top5_};
    if (!counts_.empty()) out.f1 = f1();
    double sum = 0, labels = 0;
    for (auto const& scored : scored_) {
        for (auto const& each : scored)
            if (std::isnan(each.score)) return out;
        auto const value = auc(scored);
        if (std::isnan(value)) continue;
        sum += value;
        labels += 1;
    }
    if (labels > 0) out.auc = sum / labels;
    if (moments_.empty()) return out;
    auto const width = static_cast<double>(moments_.size());
    out.mae = out.rmse = out.r2 = 0;
    for (auto const& target : target_scores()) {
        out.mae += target.mae / width;
        out.rmse += target.rmse / width;
        out.r2 += target.r2 / width;
    }
    return out;
}

}  // namespace hopscotch
