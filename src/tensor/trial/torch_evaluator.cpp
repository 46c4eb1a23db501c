// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/torch_evaluator.hpp"

#include <fmt/format.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "data/batches/shard_source.hpp"
#include "experiment/validation_scores.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/trial/output_scores.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_waiting_outputs = std::size_t{64} << 20;  // bytes of evaluation, on a GPU

std::int64_t outputs_of_a_row(DataSchema const& data) {
    return data.task == Task::language ? elements(data.shape) * data.outputs : data.outputs;
}

// On a CPU the rows stay in its caches. On a GPU small batches leave it idle, and a training batch fits.
std::int64_t rows_of_a_batch(TorchTrialState const& state) {
    auto const rows = evaluation_batch(elements(state.data().shape), outputs_of_a_row(state.data()));
    return state.workspace().device.is_cpu() ? rows : std::max<std::int64_t>(rows, state.config().train.batch_size);
}

}  // namespace

TorchEvaluator::TorchEvaluator(std::shared_ptr<TorchTrialState> state)
    : state_(std::move(state)),
      workspace_(state_->workspace()),
      feed_(state_->feed()),
      step_(state_->step()),
      evaluation_batch_(rows_of_a_batch(*state_)) {}

template <class Visit>
void TorchEvaluator::for_each_batch(ShardSource& shard, BatchRange const& batches, Visit visit) {
    state_->require_bound("evaluation");
    workspace_.enter();
    state_->claim();
    workspace_.expect(Workspace::Impl::Shape::rare);
    step_.use(Step::Weights::averaged);
    auto const [order, cut] = evaluation_cut(shard.rows(), batches, evaluation_batch_);
    BatchRange const rows{order.empty() ? 0 : order.front(), static_cast<std::int64_t>(order.size())};
    auto const features = cut.empty() ? nullptr : state_->features(shard, rows, {});
    auto pass = feed_.begin(features ? *features : shard, order, cut, {});
    for (std::size_t i = 0; i < cut.size(); ++i) {
        c10::InferenceMode const unrecorded;
        auto const batch = feed_.next(pass);
        auto const work = [&] {
            visit(step_.evaluate(batch.x), batch);
        };  // a second try is safe: visit() keeps nothing until its end
        if (workspace_.gpu.admission)
            workspace_.gpu.admission->run(
                {{state_->memory_kind() + " evaluated", batch.x.size(0)}, state_->held(), work, [] {}});
        else
            work();
    }
    feed_.end(pass);
}

// A vocabulary is too wide for scalar code. Two classes have an AUC, for which the host needs every row.
bool TorchEvaluator::scores_where_they_are() const {
    auto const task = state_->data().task;
    if (task == Task::language) return true;
    return task == Task::classification && state_->data().outputs > 2 && !workspace_.in_place();
}

// On a GPU the outputs of some batches wait there: each copy to the host waits for all that has been launched.
void TorchEvaluator::evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) {
    std::vector<at::Tensor> outputs, answers;
    std::size_t bytes = 0;
    OutputScores scores;
    auto const add_waiting = [&] {
        if (outputs.empty()) return;
        auto const all_outputs = at::cat(outputs).to(at::kCPU).contiguous(), all_answers = at::cat(answers).to(at::kCPU);
        for (std::int64_t first = 0; auto const& batch : outputs) {
            add(all_outputs.narrow(0, first, batch.size(0)), all_answers.narrow(0, first, batch.size(0)), into);
            first += batch.size(0);
        }
        outputs.clear();
        answers.clear();
        bytes = 0;
    };
    bool const there = scores_where_they_are() && !into.passes_rows();
    bool const language = state_->data().task == Task::language;
    for_each_batch(shard, batches, [&](at::Tensor const& out, Batch const& batch) {
        if (there) {
            auto const own = own_sums(out, batch.y);
            language ? scores.add_tokens(out, batch.y) : scores.add_labels(out, batch.y);
            return into.add_own(own);
        }
        if (workspace_.in_place()) return add(out.contiguous(), batch.y, into);
        if (bytes > k_waiting_outputs) add_waiting();
        // The next batch lies there, too. Kept last: if a copy finds no memory, all of this is done once more.
        auto const copies = std::pair(out.clone(), batch.y.clone());
        outputs.push_back(copies.first);
        answers.push_back(copies.second);
        bytes += out.nbytes();
    });
    c10::InferenceMode const unrecorded;
    add_waiting();
    scores.move_into(into);
}

// Targets, or predictions of them, in the units of the source: a metric of the user's own takes these.
at::Tensor TorchEvaluator::in_units(at::Tensor const& targets) const {
    auto const& data = state_->data();
    if (data.target_mean.empty()) return targets;
    auto const row = [&](std::vector<double> const& values) {
        return at::tensor(values, at::kDouble).to(targets.device(), targets.scalar_type());
    };
    return targets.mul(row(data.target_stddev)).add_(row(data.target_mean));
}

// Before anything is added: an exception must leave the sums as they were.
std::vector<double> TorchEvaluator::own_sums(at::Tensor const& outputs, at::Tensor const& answers) const {
    std::vector<double> out;
    for (auto const& metric : step_.network().metrics()) {
        std::vector<double> sums(metric.sums);
        metric.add(in_units(outputs), in_units(answers), sums);
        out.insert(out.end(), sums.begin(), sums.end());
    }
    return out;
}

ValidationScores TorchEvaluator::scores(Evaluation const& sums) const {
    auto out = sums.scores();
    auto const own = std::span(sums.own());
    if (own.empty()) return out;
    std::size_t at = 0;
    for (auto const& metric : step_.network().metrics()) {
        auto const value = metric.value(own.subspan(at, metric.sums), out.rows);
        at += metric.sums;
        bool const diverged = !std::isfinite(out.loss);  // it tells more than the metric
        if (!diverged && !std::isfinite(value))
            throw Error(fmt::format("{} is {} (a metric must be a finite number); mend its value()", metric.name, value));
        out.own.push_back({metric.name, value});
    }
    return out;
}

void TorchEvaluator::add(at::Tensor const& outputs, at::Tensor const& answers, Evaluation& into) const {
    auto const own = own_sums(outputs, answers);
    if (state_->data().task == Task::classification)
        into.add_labels(floats_of(outputs),
                        {answers.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(answers.numel())});
    else
        into.add_targets(floats_of(outputs), floats_of(answers),
                         target_loss(state_->config().train, state_->data().target_stddev));
    into.add_own(own);
}

void TorchEvaluator::add_own(std::span<float const> outputs, std::span<std::int64_t const> labels,
                             std::span<float const> targets, Evaluation& into) const {
    c10::InferenceMode const unrecorded;
    auto const width = state_->data().outputs;
    // A metric only reads: from_blob wants a pointer that could be written through.
    auto const matrix = [&](std::span<float const> values) {
        auto const rows = static_cast<std::int64_t>(values.size()) / width;
        return at::from_blob(const_cast<float*>(values.data()), {rows, width}, at::kFloat);
    };
    auto const answers = targets.empty() ? at::from_blob(const_cast<std::int64_t*>(labels.data()),
                                                         {static_cast<std::int64_t>(labels.size())}, at::kLong)
                                         : matrix(targets);
    into.add_own(own_sums(matrix(outputs), answers));
}

std::int64_t TorchEvaluator::evaluation_batches(std::int64_t rows) const {
    return (rows + evaluation_batch_ - 1) / evaluation_batch_;
}

std::vector<float> TorchEvaluator::predict(ShardSource& shard, BatchRange const& batches) {
    std::vector<float> out;
    for_each_batch(shard, batches, [&](at::Tensor const& outputs, Batch const&) {
        auto const values = outputs.to(at::kCPU).contiguous();
        out.insert(out.end(), floats_of(values).begin(), floats_of(values).end());
    });
    return out;
}

}  // namespace hopscotch
