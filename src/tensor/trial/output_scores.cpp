// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/output_scores.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <span>

#include "model/trial/evaluation.hpp"

namespace hopscotch {
namespace {

at::Tensor numbers_of_classes(at::Tensor const& outputs) {
    return at::arange(outputs.size(-1), outputs.options().dtype(at::kLong));
}

// The number of outputs that are better than the label's. Ranks as Evaluation does: equal outputs by their index; an output
// that is not smaller is better, even a NaN. index: the labels, with a last dimension of 1, which the result has not.
at::Tensor ranks(at::Tensor const& outputs, at::Tensor const& index) {
    auto const chosen = outputs.gather(-1, index);
    auto const classes = numbers_of_classes(outputs);
    auto const ahead = outputs.ne(chosen).logical_or(classes.lt(index));
    return outputs.lt(chosen).logical_not().logical_and(ahead).logical_and(classes.ne(index)).sum(-1);
}

}  // namespace

void OutputScores::add_labels(at::Tensor const& outputs, at::Tensor const& labels) {
    auto const index = labels.unsqueeze(1);
    auto const values = outputs.to(at::kDouble);
    auto const loss = values.logsumexp(1).sub(values.gather(1, index).squeeze(1));
    auto const rank = ranks(outputs, index);
    auto const sums = at::stack({loss.sum(), rank.eq(0).sum().to(at::kDouble), rank.lt(5).sum().to(at::kDouble)});

    auto const classes = numbers_of_classes(outputs);
    auto const is_largest = outputs.eq(outputs.amax(1, /*keepdim=*/true));
    auto const predicted = at::where(is_largest, classes, outputs.size(1) - 1).amin(1, true).eq(classes);
    auto const labelled = index.eq(classes);
    auto const counts = at::stack({predicted.logical_and(labelled).sum(0), predicted.sum(0), labelled.sum(0)});
    batches_.push_back({outputs.size(0), 1, sums});
    if (classes_.defined())
        classes_.add_(counts);
    else
        classes_ = counts;
}

void OutputScores::add_tokens(at::Tensor const& outputs, at::Tensor const& tokens) {
    auto const index = tokens.unsqueeze(2);
    auto const rank = ranks(outputs, index);
    auto const mean = [](at::Tensor const& each) { return each.to(at::kDouble).mean(); };
    auto const loss = mean(at::log_softmax(outputs, 2).gather(2, index)).neg();
    batches_.push_back(
        {outputs.size(0), static_cast<double>(outputs.size(0)), at::stack({loss, mean(rank.eq(0)), mean(rank.lt(5))})});
}

void OutputScores::move_into(Evaluation& sums) {
    if (batches_.empty()) return;
    std::vector<at::Tensor> values;
    for (auto const& batch : batches_) values.push_back(batch.values);
    auto const all = at::stack(values).to(at::kCPU);
    auto const* next = all.const_data_ptr<double>();
    for (auto const& batch : batches_) {
        sums.add_sums(batch.rows, batch.factor * next[0], batch.factor * next[1], batch.factor * next[2]);
        next += 3;
    }
    if (classes_.defined()) {
        auto const counts = classes_.to(at::kCPU);
        std::span const each(counts.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(counts.numel()));
        auto const n = each.size() / 3;
        sums.add_classes(each.first(n), each.subspan(n, n), each.subspan(2 * n));
    }
    batches_.clear();
    classes_.reset();
}

}  // namespace hopscotch
