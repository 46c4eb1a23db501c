// SPDX-License-Identifier: Apache-2.0
// The sums of a validation, exact over all rows together. Batches have a fixed size, which does not depend on
// train.batch_size, and are added one by one in order. So the cut into shards, pieces and trainers changes no bit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

struct ValidationScores;

// Rows of an evaluation batch for rows of this many features and outputs (of all tokens): bounded memory, at most 256.
std::int64_t evaluation_batch(std::int64_t row_size, std::int64_t row_outputs);

// Gets each row of an evaluation instead of the sums: outputs and answers as Evaluation gets them.
class RowListener {
public:
    virtual ~RowListener() = default;
    virtual void labels(std::span<float const> outputs, std::span<std::int64_t const> labels) = 0;
    virtual void targets(std::span<float const> outputs, std::span<float const> targets) = 0;
};

class Evaluation {
public:
    Evaluation(Task task, std::int64_t outputs) : task_(task), outputs_(static_cast<std::size_t>(outputs)) {}

    // outputs: [rows, outputs]. Row sums of cross entropy, hits and hits among the best five (equal outputs rank by their
    // index, as in argmax; a row with a NaN hits nothing).
    void add_labels(std::span<float const> outputs, std::span<std::int64_t const> labels);

    // targets: [rows, outputs]. A row's loss is the mean over its outputs; logistic: multilabel, the others: regression.
    // parameter: delta of huber; the quantile. stddev: of each target's unit, for mae and rmse; empty: 1.
    struct TargetLoss {
        enum class Kind { squared, huber, absolute, quantile, logistic };
        Kind kind = Kind::squared;
        double parameter = 1;
        std::span<double const> stddev = {};

        double operator()(double output, double target) const;
    };
    void add_targets(std::span<float const> outputs, std::span<float const> targets, TargetLoss const& loss);

    // From now on rows reach the listener and are not added up. The listener must outlive their evaluation.
    void pass_rows_to(RowListener& listener) { listener_ = &listener; }
    bool passes_rows() const { return listener_ != nullptr; }

    // Sums of rows that are already known (output_scores.hpp).
    void add_sums(std::int64_t rows, double loss, double correct, double top5);

    // Rows whose sums are known (add_sums), by class: predicted rightly, predicted, labelled.
    void add_classes(std::span<std::int64_t const> right, std::span<std::int64_t const> predicted,
                     std::span<std::int64_t const> labelled);

    // Of the batches so far: sums of the user's own metrics, which add up over batches.
    void add_own(std::span<double const> sums);
    std::vector<double> const& own() const { return own_; }

    void forget_ranks() { scored_.clear(); }  // only the AUC needs them: a number for each row and label

    // The rows of `other`, which follow those of this one.
    void merge(Evaluation const& other);

    std::int64_t rows() const { return rows_; }
    double loss() const { return loss_; }        // sums over rows
    double correct() const { return correct_; }  // rows; multilabel: fractions of a row's labels
    double top5() const { return top5_; }
    ValidationScores scores() const;  // of all rows added

    struct TargetScores {
        double mae = 0, rmse = 0, r2 = 0;  // mae and rmse in the unit of the target
    };
    std::vector<TargetScores> target_scores() const;  // of each target of a regression; scores() has their means

private:
    struct Counts {
        std::int64_t right = 0, predicted = 0, actual = 0;  // of one class or label
    };
    struct Scored {
        float score = 0;
        bool positive = false;
    };
    struct Moments {  // of one target, by Welford's update
        double count = 0, mean = 0, squares = 0, squared_error = 0, absolute_error = 0;

        void add(double output, double target);
    };
    // How it travels (comm/codec.hpp).
    template <class A>
    friend void fields(A& a, Counts& m) {
        a(m.right, m.predicted, m.actual);
    }
    template <class A>
    friend void fields(A& a, Scored& m) {
        a(m.score, m.positive);
    }
    template <class A>
    friend void fields(A& a, Moments& m) {
        a(m.count, m.mean, m.squares, m.squared_error, m.absolute_error);
    }
    template <class A>
    friend void fields(A& a, Evaluation& m) {
        a(m.rows_, m.loss_, m.correct_, m.top5_, m.counts_, m.scored_, m.moments_);
        // Checkpoints of earlier versions end here. An Evaluation is the last part of every message.
        bool more = !m.own_.empty();
        if constexpr (requires { a.empty(); }) more = !a.empty();
        if (more) a(m.own_);
    }
    double f1() const;
    static double auc(std::vector<Scored> scored);

    Task task_;
    std::size_t outputs_;
    std::int64_t rows_ = 0;
    double loss_ = 0, correct_ = 0, top5_ = 0;
    std::vector<Counts> counts_;
    std::vector<std::vector<Scored>> scored_;  // by label; binary classification: one
    std::vector<Moments> moments_;
    std::vector<double> own_;
    RowListener* listener_ = nullptr;
};

// Of a trial with targets, not classes. The result refers to `stddev`. Throws Error for cross_entropy.
Evaluation::TargetLoss target_loss(TrainConfig const& train, std::span<double const> stddev);

}  // namespace hopscotch
