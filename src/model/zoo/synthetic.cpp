// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/synthetic.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "model/evaluation.hpp"
#include "model/layout.hpp"
#include "model/lr_schedule.hpp"
#include "model/safetensors.hpp"
#include "model/zoo/arguments.hpp"

namespace hopscotch {
namespace {

struct SyntheticArguments {
    double seconds_per_batch = 0.01, seconds_per_row = 0;
    std::int64_t parameters = 1000;
    double jitter = 0;
};

SyntheticArguments read_synthetic(ModelConfig const& model, Problems& problems) {
    SyntheticArguments arguments;
    ObjectReader reader(model.arguments, "/model", problems);
    reader.read("seconds_per_batch", arguments.seconds_per_batch, at_least(0));
    reader.read("seconds_per_row", arguments.seconds_per_row, at_least(0));
    reader.read("parameters", arguments.parameters, at_least(1));
    reader.read("jitter", arguments.jitter, fraction());
    reader.finish();
    return arguments;
}

SyntheticArguments accepted(ModelConfig const& model) {
    Problems problems("model");
    auto const arguments = read_synthetic(model, problems);
    problems.throw_if_any();
    return arguments;
}

constexpr std::int64_t k_evaluation_batch = 256;
constexpr std::size_t k_parts = 8;     // of a backward pass, each with its own part of the gradient
constexpr int k_changes_per_step = 4;  // parameters that a step moves, so that hashes differ from unit to unit

class SyntheticModel final : public TrialModel {
public:
    SyntheticModel(TrialConfig config, DataSchema const& data)
        : config_(std::move(config)),
          train_rows_(data.train_rows),
          outputs_(data.outputs),
          arguments_(accepted(config_.model)),
          specs_{{"synthetic.weight", {arguments_.parameters}, Init::constant(0)}},
          layout_(make_layout(request())) {}

    StateLayout const& layout() const override { return layout_; }

    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial) override {
        initialise_state(state, layout_, request(), stream_key(seed, Purpose::initialisation, {trial.value}));
    }

    void bind(MutableBytes state) override {
        check_block(state, layout_);
        state_ = state;
        counters_ = counters_of(state, layout_);
    }

    std::int64_t batch_size() const override { return config_.train.batch_size; }

    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        require(!state_.empty(), "training needs a bound state");
        address_ = address;
        cut_ = batches(shard.rows(), batch_size, config_.data.last_batch);
        next_ = 0;
        sums_ = {};
    }

    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        if (next_ == cut_.size()) return 0;
        auto const rows = cut_[next_].size;
        Rng rng(
            stream_key(address_.seed, Purpose::synthetic,
                       {address_.trial.value, address_.epoch, address_.shard.value, static_cast<std::int64_t>(next_++)}));
        auto const seconds = batch_seconds(rows, rng.uniform());
        auto const end = gradient().size();
        std::fill(gradient_.begin(), gradient_.end(), 0.0F);
        change(rng);
        pause(ready ? seconds / 3 : seconds);                     // forward, or everything
        for (std::size_t part = k_parts; ready && part-- > 0;) {  // backward: the last layers first
            pause(seconds * 2 / 3 / k_parts);
            ready(end * part / k_parts, end * (part + 1) / k_parts);
        }
        sums_.rows += rows;
        sums_.loss += loss() * static_cast<double>(rows);
        if (on_batch) on_batch();
        return rows;
    }

    PassCursor cursor() override { return {static_cast<std::int64_t>(next_), sums_}; }

    void skip_to(PassCursor const& cursor) override {
        next_ = static_cast<std::size_t>(cursor.batches);
        sums_ = cursor.sums;
    }

    UnitSums end_pass() override { return sums_; }

    std::span<float> gradient() override {
        gradient_.resize(layout_.end_of(Block::parameter) / sizeof(float));
        return gradient_;
    }

    void update(std::int64_t rows) override {
        auto* const weights = reinterpret_cast<float*>(state_.data());
        for (std::size_t i = 0; i < gradient_.size(); ++i) weights[i] += gradient_[i];
        count(rows);
    }

    void count(std::int64_t rows) override {
        *counters_.steps += 1;
        *counters_.samples += rows;
    }

    void fetch() override {}
    void store() override {}
    void sum_with(SumOverGroup) override {}

    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override {
        auto const first = batches.first * k_evaluation_batch;
        auto const rows = std::min(shard.rows(), first + batches.size * k_evaluation_batch) - first;
        auto const n = static_cast<double>(rows);
        into.add_sums(rows, n * loss(), n * (1 - loss()), n);
    }

    std::int64_t evaluation_batches(std::int64_t rows) const override {
        return (rows + k_evaluation_batch - 1) / k_evaluation_batch;
    }

    void end_epoch(double) override {}

    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override {
        auto const first = batches.first * k_evaluation_batch;
        auto const rows = std::min(shard.rows(), first + batches.size * k_evaluation_batch) - first;
        return std::vector<float>(static_cast<std::size_t>(rows * outputs_));
    }

    void save(std::string const& path, Json const& metadata) override {
        auto const& weight = layout_.find("synthetic.weight");
        write_safetensors(path, {{weight.name, weight.element, weight.shape, ByteView(state_).subspan(0, weight.bytes)}},
                          metadata);
    }

    double learning_rate() const override {
        return scheduled_lr(config_.train, train_rows_, *counters_.samples, config_.train.batch_size);
    }

    bool finite() override { return all_finite(state_, layout_); }

private:
    LayoutRequest request() const { return {specs_, buffers_, {}, config_.train}; }

    double loss() const { return 1.0 / (1.0 + static_cast<double>(*counters_.steps)); }

    double batch_seconds(std::int64_t rows, double draw) const {
        auto const seconds = arguments_.seconds_per_batch + arguments_.seconds_per_row * static_cast<double>(rows);
        return seconds * (1.0 + arguments_.jitter * (2.0 * draw - 1.0));
    }

    static void pause(double seconds) {
        if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }

    void change(Rng& rng) {
        auto const n = static_cast<std::uint64_t>(arguments_.parameters);
        for (int i = 0; i < k_changes_per_step; ++i) gradient_[rng.next_u64() % n] = static_cast<float>(rng.uniform());
    }

    TrialConfig config_;
    std::int64_t train_rows_, outputs_;
    SyntheticArguments arguments_;
    std::vector<ParameterSpec> specs_;
    std::vector<BufferSpec> buffers_;
    StateLayout layout_;
    MutableBytes state_;
    Counters counters_;
    std::vector<float> gradient_;
    UnitAddress address_;  // of the pass under way, and what follows
    std::vector<BatchRange> cut_;
    std::size_t next_ = 0;
    UnitSums sums_;
};

}  // namespace

void check_synthetic(ModelConfig const& model, DataSchema const&, Problems& problems) { read_synthetic(model, problems); }

double synthetic_flops(ModelConfig const& model, int batch_size) {
    auto const arguments = accepted(model);
    return (arguments.seconds_per_batch / batch_size + arguments.seconds_per_row) * 1e9;
}

std::unique_ptr<TrialModel> make_synthetic(TrialConfig const& config, DataSchema const& data) {
    return std::make_unique<SyntheticModel>(config, data);
}

}  // namespace hopscotch
