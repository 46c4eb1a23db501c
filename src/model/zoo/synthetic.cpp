// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/synthetic.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "model/state/initial_values.hpp"
#include "model/state/layout.hpp"
#include "model/state/safetensors.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/lr_schedule.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_state.hpp"
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
    ArgumentReader reader(model, problems);
    reader.read({"seconds_per_batch", "Seconds of each batch."}, arguments.seconds_per_batch, at_least(0));
    reader.read({"seconds_per_row", "Seconds for each row of the batch."}, arguments.seconds_per_row, at_least(0));
    reader.read({"parameters", "Floats in the state."}, arguments.parameters, at_least(1));
    reader.read({"jitter", "A batch takes seconds_per_batch x (1 +- jitter)."}, arguments.jitter, fraction());
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

class SyntheticState final : public TrialState {
public:
    SyntheticState(TrialConfig config, std::int64_t parameters)
        : config_(std::move(config)),
          specs_{{"synthetic.weight", {parameters}, Init::constant(0)}},
          layout_(make_layout(request())) {}

    StateLayout const& layout() const override { return layout_; }

    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) override {
        initialise_state(state, layout_, request(), stream_key(seed, Purpose::initialisation, {trial.value}), threads);
    }

    void bind(MutableBytes state) override {
        check_block(state, layout_);
        state_ = state;
        counters_ = counters_of(state, layout_);
    }

    bool end_epoch(double) override { return false; }

    void save(std::string const& path, Json const& metadata) override {
        auto const& weight = layout_.find("synthetic.weight");
        write_safetensors(path, {{weight.name, weight.element, weight.shape, ByteView(state_).subspan(0, weight.bytes)}},
                          metadata);
    }

    bool finite() override { return all_finite(state_, layout_); }

    TrialConfig const& config() const { return config_; }
    MutableBytes bound() const { return state_; }
    Counters const& counters() const { return counters_; }
    double loss() const { return 1.0 / (1.0 + static_cast<double>(*counters_.steps)); }

private:
    LayoutRequest request() const { return {specs_, buffers_, {}, config_.train}; }

    TrialConfig config_;
    std::vector<ParameterSpec> specs_;
    std::vector<BufferSpec> buffers_;
    StateLayout layout_;
    MutableBytes state_;
    Counters counters_;
};

class SyntheticPass final : public TrainingPass {
public:
    SyntheticPass(std::shared_ptr<SyntheticState> state, SyntheticArguments const& arguments, std::int64_t train_rows)
        : state_(std::move(state)), arguments_(arguments), train_rows_(train_rows) {}

    std::int64_t batch_size() const override { return state_->config().train.batch_size; }

    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        require(!state_->bound().empty(), "training needs a bound state");
        address_ = address;
        cut_ = batches(shard.rows(), batch_size, state_->config().data.last_batch);
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
        auto const end = numbers();
        change(rng);
        pause(ready ? seconds / 3 : seconds);                     // forward, or everything
        for (std::size_t part = k_parts; ready && part-- > 0;) {  // backward: the last layers first
            pause(seconds * 2 / 3 / k_parts);
            ready(end * part / k_parts, end * (part + 1) / k_parts);
        }
        sums_.rows += rows;
        sums_.loss += state_->loss() * static_cast<double>(rows);
        if (on_batch) on_batch();
        return rows;
    }

    PassCursor cursor() override { return {static_cast<std::int64_t>(next_), sums_}; }

    void skip_to(PassCursor const& cursor) override {
        next_ = static_cast<std::size_t>(cursor.batches);
        sums_ = cursor.sums;
    }

    using TrainingPass::end_pass;
    UnitSums end_pass(StateBack) override { return sums_; }

    // Only strategies that sum gradients ask for it. Without them, a batch writes no number more than it changes: it would
    // take longer than it shall.
    std::span<float> gradient() override {
        if (!wanted_) write_gradient();
        wanted_ = true;
        return gradient_;
    }

    void zero_gradient() override {
        changes_.clear();
        if (wanted_) write_gradient();
    }

    void update(std::int64_t rows) override {
        auto* const weights = reinterpret_cast<float*>(state_->bound().data());
        if (wanted_) {
            for (std::size_t i = 0; i < gradient_.size(); ++i) weights[i] += gradient_[i];
        } else {
            for (auto const& [place, value] : changes_) weights[place] += value;
        }
        count(rows);
    }

    void count(std::int64_t rows) override {
        *state_->counters().steps += 1;
        *state_->counters().samples += rows;
    }

    void sum_with(SumOverGroup) override {}

    double learning_rate() const override {
        auto const& train = state_->config().train;
        return scheduled_lr(train, train_rows_, *state_->counters().samples, train.batch_size);
    }

private:
    double batch_seconds(std::int64_t rows, double draw) const {
        auto const seconds = arguments_.seconds_per_batch + arguments_.seconds_per_row * static_cast<double>(rows);
        return seconds * (1.0 + arguments_.jitter * (2.0 * draw - 1.0));
    }

    static void pause(double seconds) {
        if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }

    std::size_t numbers() const { return state_->layout().end_of(Block::parameter) / sizeof(float); }

    void change(Rng& rng) {
        auto const n = static_cast<std::uint64_t>(arguments_.parameters);
        changes_.clear();  // by place: of two at one place the later one stays
        for (int i = 0; i < k_changes_per_step; ++i) {
            auto const value = static_cast<float>(rng.uniform());
            changes_[static_cast<std::size_t>(rng.next_u64() % n)] = value;
        }
        if (wanted_) write_gradient();
    }

    void write_gradient() {
        gradient_.assign(numbers(), 0.0F);
        for (auto const& [place, value] : changes_) gradient_[place] = value;
    }

    std::shared_ptr<SyntheticState> state_;
    SyntheticArguments arguments_;
    std::int64_t train_rows_;
    std::map<std::size_t, float> changes_;  // the numbers of the gradient that are not 0
    std::vector<float> gradient_;           // if wanted_
    bool wanted_ = false;
    UnitAddress address_;  // of the pass under way, and what follows
    std::vector<BatchRange> cut_;
    std::size_t next_ = 0;
    UnitSums sums_;
};

class SyntheticEvaluator final : public Evaluator {
public:
    SyntheticEvaluator(std::shared_ptr<SyntheticState> state, std::int64_t outputs)
        : state_(std::move(state)), outputs_(outputs) {}

    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override {
        auto const rows = rows_of(shard, batches);
        auto const n = static_cast<double>(rows), loss = state_->loss();
        into.add_sums(rows, n * loss, n * (1 - loss), n);
    }

    std::int64_t evaluation_batches(std::int64_t rows) const override {
        return (rows + k_evaluation_batch - 1) / k_evaluation_batch;
    }

    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override {
        return std::vector<float>(static_cast<std::size_t>(rows_of(shard, batches) * outputs_));
    }

private:
    static std::int64_t rows_of(ShardSource const& shard, BatchRange const& batches) {
        auto const first = batches.first * k_evaluation_batch;
        return std::min(shard.rows(), first + batches.size * k_evaluation_batch) - first;
    }

    std::shared_ptr<SyntheticState> state_;
    std::int64_t outputs_;
};

}  // namespace

void check_synthetic(ModelConfig const& model, DataSchema const&, Problems& problems) { read_synthetic(model, problems); }

double synthetic_flops(ModelConfig const& model, int batch_size) {
    auto const arguments = accepted(model);
    return (arguments.seconds_per_batch / batch_size + arguments.seconds_per_row) * 1e9;
}

TrialModel make_synthetic(TrialConfig const& config, DataSchema const& data) {
    auto const arguments = accepted(config.model);
    auto state = std::make_shared<SyntheticState>(config, arguments.parameters);
    return {state, std::make_unique<SyntheticPass>(state, arguments, data.train_rows),
            std::make_unique<SyntheticEvaluator>(state, data.outputs)};
}

}  // namespace hopscotch
