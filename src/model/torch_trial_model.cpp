// SPDX-License-Identifier: Apache-2.0
#include "model/torch_trial_model.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "model/device.hpp"
#include "model/lr_schedule.hpp"
#include "model/pretrained.hpp"
#include "model/tensor_span.hpp"
#include "model/zoo/arguments.hpp"

namespace hopscotch {
namespace {

std::uint64_t noise_key(UnitAddress const& unit, std::size_t step) {
    return stream_key(unit.seed, Purpose::dropout,
                      {unit.trial.value, unit.epoch, unit.shard.value, static_cast<std::int64_t>(step)});
}

std::vector<std::string> accepted_pretrained(ModelConfig const& model, Network const& network) {
    Problems problems("model");
    auto names = pretrained_names(model, network, problems);
    problems.throw_if_any();
    return names;
}

FrozenParameters read_frozen(ModelConfig const& model, Network const& network, at::Device device) {
    auto const is_frozen = frozen_parameters(model, network);
    FrozenParameters frozen(is_frozen.size());
    if (std::find(is_frozen.begin(), is_frozen.end(), true) == is_frozen.end()) return frozen;
    auto const file = SafetensorsFile::open(model.init_from);
    for (std::size_t i = 0; i < frozen.size(); ++i) {
        if (!is_frozen[i]) continue;
        auto const& spec = network.parameters()[i];
        auto values = at::empty(spec.shape, at::TensorOptions(at::kFloat));
        file.read(spec.name, std::span(values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())));
        frozen[i] = values.to(device);
    }
    return frozen;
}

constexpr std::size_t k_waiting_outputs = std::size_t{64} << 20;  // bytes of evaluation, on a GPU

Evaluation::TargetLoss target_loss(LossKind loss) {
    return loss == LossKind::huber             ? Evaluation::TargetLoss::huber
           : loss == LossKind::bce_with_logits ? Evaluation::TargetLoss::logistic
                                               : Evaluation::TargetLoss::squared;
}

std::int64_t outputs_of_a_row(DataSchema const& data) {
    return data.task == Task::language ? elements(data.shape) * data.outputs : data.outputs;
}

// All that decides what a row takes on its way through the model.
std::string kind_of(TrialConfig const& config) {
    auto const& model = config.model;
    std::string out = model.name + " " + model.file + " " + model.arguments.dump();
    for (auto const& pattern : model.freeze) out += " " + pattern;
    if (config.train.precision == Precision::bf16) out += " bf16";
    return out + (config.train.channels_last ? " NHWC" : "");
}

}  // namespace

TorchTrialModel::TorchTrialModel(TrialConfig config, Manifest const& manifest, std::unique_ptr<Network> network,
                                 Workspace& workspace)
    : config_(std::move(config)),
      data_(schema_of(manifest)),
      workspace_(workspace.impl()),
      feed_(config_.data, manifest, workspace_),
      step_(std::move(network), config_.model.name, config_.train, workspace_),
      pretrained_(accepted_pretrained(config_.model, step_.network())),
      is_frozen_(frozen_parameters(config_.model, step_.network())),
      frozen_(read_frozen(config_.model, step_.network(), workspace_.device)),
      layout_(make_layout(layout_request())),
      evaluation_batch_(evaluation_batch(elements(data_.shape), outputs_of_a_row(data_))),
      memory_kind_(kind_of(config_)) {}

LayoutRequest TorchTrialModel::layout_request() const {
    return {step_.network().parameters(), step_.network().buffers(), is_frozen_, config_.train};
}

double TorchTrialModel::lr(std::int64_t batch) const {
    auto const reductions = counters_.reductions == nullptr ? 0 : *counters_.reductions;
    return scheduled_lr(config_.train, data_.train_rows, *counters_.samples, batch, reductions);
}

void TorchTrialModel::begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) {
    require(!state_.empty(), "training needs a bound state");
    workspace_.enter();
    claim();
    pass_ = {&shard,
             address,
             shuffled_rows(shard.rows(), address, rows_shuffled_together(config_.data)),
             batches(shard.rows(), batch_size, config_.data.last_batch),
             {},
             0,
             0};
    step_.use(Step::Weights::trained);
    step_.begin_unit();
    pass_.feed = feed_.begin(shard, pass_.order, pass_.cut, address);
}

PassCursor TorchTrialModel::cursor() {
    fetch();
    return {static_cast<std::int64_t>(pass_.next), {pass_.rows, step_.loss_sum()}};
}

void TorchTrialModel::skip_to(PassCursor const& cursor) {
    require(cursor.batches >= 0 && static_cast<std::size_t>(cursor.batches) <= pass_.cut.size(),
            "a cursor behind the end of its pass");
    pass_.next = static_cast<std::size_t>(cursor.batches);
    pass_.rows = cursor.sums.rows;
    step_.set_loss_sum(cursor.sums.loss);
    if (pass_.next < pass_.cut.size())
        pass_.feed = feed_.begin(*pass_.shard, pass_.order, std::span(pass_.cut).subspan(pass_.next), pass_.address);
}

std::int64_t TorchTrialModel::next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) {
    auto const last = std::min(pass_.cut.size(), pass_.next + static_cast<std::size_t>(config_.train.accumulate));
    // The host's copy of a GPU's gradient is final when all of it is.
    auto const& as_they_come = workspace_.device.is_cpu() || stays_on_device_ ? ready : GradientReady{};
    std::int64_t rows = 0;
    for (; pass_.next < last; ++pass_.next) {
        train(feed_.next(pass_.feed), noise_key(pass_.address, pass_.next), as_they_come);
        rows += pass_.cut[pass_.next].size;
        if (on_batch) on_batch();
    }
    pass_.rows += rows;
    if (rows > 0) step_.finish_gradient();
    if (rows > 0 && host_gradient_.defined()) host_gradient_.copy_(step_.gradient());
    return rows;
}

void TorchTrialModel::train(Batch const& batch, std::uint64_t noise_key, GradientReady const& ready) {
    auto const work = [&] { step_.forward_backward(batch, noise_key, ready); };
    if (!workspace_.admission) return work();
    auto const rows = batch.x.size(0);
    workspace_.admission->run(
        {{memory_kind_, rows},
         held(),
         work,
         ready ? std::function<void()>() : step_.way_back(rows)});  // what has been handed over is summed by now
}

UnitSums TorchTrialModel::end_pass() {
    feed_.end(pass_.feed);
    fetch();
    return {pass_.rows, step_.loss_sum()};
}

std::span<float> TorchTrialModel::gradient() {
    require(!state_.empty(), "a gradient needs a bound state");
    stays_on_device_ = false;
    auto const n = step_.gradient().numel();
    if (!workspace_.device.is_cpu() && (!host_gradient_.defined() || host_gradient_.numel() != n)) {
        host_gradient_ = at::empty({n}, at::TensorOptions(at::kCPU).dtype(at::kFloat).pinned_memory(true));
        host_gradient_.copy_(step_.gradient());  // there may be one: parameter servers ask after next_gradient
    }
    auto const& values = workspace_.device.is_cpu() ? step_.gradient() : host_gradient_;
    return {values.data_ptr<float>(), static_cast<std::size_t>(n)};
}

DeviceFloats TorchTrialModel::on_device(at::Tensor const& values) const {
    return {values.data_ptr<float>(), static_cast<std::size_t>(values.numel()), compute_stream(workspace_.device.str())};
}

std::optional<DeviceFloats> TorchTrialModel::device_gradient() {
    require(!state_.empty(), "a gradient needs a bound state");
    stays_on_device_ = true;
    host_gradient_ = at::Tensor();
    return on_device(step_.gradient());
}

std::optional<DeviceFloats> TorchTrialModel::device_state() {
    require(!state_.empty(), "there is no bound state");
    return on_device(device_);
}

void TorchTrialModel::zero_gradient() { (host_gradient_.defined() ? host_gradient_ : step_.gradient()).zero_(); }

void TorchTrialModel::update(std::int64_t rows) {
    if (!workspace_.device.is_cpu()) require_claimed();
    if (host_gradient_.defined()) step_.gradient().copy_(host_gradient_);
    step_.update(lr(rows), *counters_.steps + 1);
    count(rows);
}

void TorchTrialModel::count(std::int64_t rows) {
    *counters_.steps += 1;
    *counters_.samples += rows;
}

template <class Visit>
void TorchTrialModel::for_each_batch(ShardSource& shard, BatchRange const& batches, Visit visit) {
    require(!state_.empty(), "evaluation needs a bound state");
    workspace_.enter();
    claim();
    step_.use(Step::Weights::averaged);
    auto const first = batches.first * evaluation_batch_;
    auto const last = std::min(shard.rows(), (batches.first + batches.size) * evaluation_batch_);
    std::vector<std::uint32_t> order(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)));
    std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(first));
    std::vector<BatchRange> cut;
    for (auto at = first; at < last; at += evaluation_batch_)
        cut.push_back({at - first, std::min(evaluation_batch_, last - at)});
    auto pass = feed_.begin(shard, order, cut, {});
    for (std::size_t i = 0; i < cut.size(); ++i) {
        c10::InferenceMode const unrecorded;
        auto const batch = feed_.next(pass);
        auto const work = [&] { visit(step_.evaluate(batch.x), batch); };  // what is kept of it is added last
        if (workspace_.admission)
            workspace_.admission->run({{memory_kind_ + " evaluated", batch.x.size(0)}, held(), work, [] {}});
        else
            work();
    }
    feed_.end(pass);
}

// On a GPU the outputs of some batches wait there: each copy to the host waits for all that has been launched.
void TorchTrialModel::evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) {
    std::vector<at::Tensor> outputs, answers;
    std::size_t bytes = 0;
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
    for_each_batch(shard, batches, [&](at::Tensor const& out, Batch const& batch) {
        if (data_.task == Task::language) return add_tokens(out, batch.y, into);
        if (out.is_cpu()) return add(out.contiguous(), batch.y, into);
        if (bytes > k_waiting_outputs) add_waiting();
        answers.push_back(
            batch.y.clone());  // the next batch lies there, too. Last: without memory for it, all of this is done once more
        outputs.push_back(out);
        bytes += out.nbytes();
    });
    c10::InferenceMode const unrecorded;
    add_waiting();
}

void TorchTrialModel::add(at::Tensor const& outputs, at::Tensor const& answers, Evaluation& into) const {
    if (data_.task == Task::classification)
        into.add_labels(floats_of(outputs),
                        {answers.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(answers.numel())});
    else
        into.add_targets(floats_of(outputs), floats_of(answers), target_loss(config_.train.loss), config_.train.huber_delta);
}

// A row's loss is the mean over its tokens. On the device: a vocabulary is too wide for scalar code.
void TorchTrialModel::add_tokens(at::Tensor const& outputs, at::Tensor const& tokens, Evaluation& into) const {
    auto const index = tokens.unsqueeze(2);
    auto const chosen = outputs.gather(2, index);
    // As Evaluation ranks: equal outputs by their index; whatever is not smaller than a NaN is better.
    auto const earlier = at::arange(outputs.size(2), outputs.options().dtype(at::kLong)).lt(index);
    auto const better = outputs.gt(chosen)
                            .logical_or(outputs.eq(chosen).logical_and(earlier))
                            .sum(2)
                            .add(chosen.isnan().squeeze(2), outputs.size(2));
    auto const rows = static_cast<double>(outputs.size(0));
    auto const mean = [&](at::Tensor const& each) { return each.to(at::kDouble).mean().item<double>() * rows; };
    into.add_sums(outputs.size(0), -mean(at::log_softmax(outputs, 2).gather(2, index)), mean(better.eq(0)),
                  mean(better.lt(5)));
}

std::int64_t TorchTrialModel::evaluation_batches(std::int64_t rows) const {
    return (rows + evaluation_batch_ - 1) / evaluation_batch_;
}

std::vector<float> TorchTrialModel::predict(ShardSource& shard, BatchRange const& batches) {
    std::vector<float> out;
    for_each_batch(shard, batches, [&](at::Tensor const& outputs, Batch const&) {
        auto const values = outputs.to(at::kCPU).contiguous();
        out.insert(out.end(), floats_of(values).begin(), floats_of(values).end());
    });
    return out;
}

void TorchTrialModel::end_epoch(double loss) {
    require(!state_.empty(), "end_epoch needs a bound state");
    if (counters_.reductions == nullptr) return;
    Plateau plateau{std::bit_cast<double>(*counters_.plateau_best), *counters_.bad_epochs, *counters_.reductions};
    plateau.observe(loss, config_.train.schedule);
    *counters_.plateau_best = std::bit_cast<std::int64_t>(plateau.best);
    *counters_.bad_epochs = plateau.bad_epochs;
    *counters_.reductions = plateau.reductions;
}

double TorchTrialModel::learning_rate() const {
    require(!state_.empty(), "learning_rate needs a bound state");
    return lr(std::int64_t{config_.train.batch_size} * config_.train.accumulate);
}

}  // namespace hopscotch
