// SPDX-License-Identifier: Apache-2.0
// Training on the bound state, one pass over one shard at a time. Every strategy trains through these functions, so all
// share one step and one batch order.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/device_floats.hpp"
#include "data/batches/unit.hpp"
#include "model/lean/group_calls.hpp"

namespace hopscotch {

class ShardSource;

// Sums over the rows that a unit trained, in double. They are divided by rows at the very end.
struct UnitSums {
    std::int64_t rows = 0;
    double loss = 0;
};

// The place of a pass between two updates. With the cursor and the state, another trainer can train the rest to the same
// bits.
struct PassCursor {
    std::int64_t batches = 0;
    UnitSums sums;
};

// Whether the bound block is up to date at the end of a pass. later: the caller calls begin_fetch or fetch of the state,
// before anything else is bound.
enum class StateBack { now, later };

// Of the dropout masks of a batch: its number in the pass.
std::uint64_t noise_key(UnitAddress const& unit, std::size_t batch);

class TrainingPass {
public:
    virtual ~TrainingPass() = default;

    // Trains every batch of the unit. on_batch is called after each batch (progress). The loss is summed on the way and read
    // once; rows of a dropped last batch are not counted.
    UnitSums train_unit(ShardSource& shard, UnitAddress const& address, std::function<void()> const& on_batch);

    // The steps of train_unit, for trainers that train a trial together or save it on the way: begin_pass; for every update
    // next_gradient, then any change to gradient(), then update; end_pass.
    virtual std::int64_t batch_size() const = 0;  // train.batch_size
    virtual void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) = 0;

    // Between updates. Afterwards the bound block is up to date.
    virtual PassCursor cursor() = 0;
    // Right after begin_pass of the same unit with the same batch size, on the state that belongs to the cursor.
    virtual void skip_to(PassCursor const& cursor) = 0;

    // Computes the mean gradient of the next update (train.accumulate batches) into gradient() and returns its rows. 0: the
    // pass is over, and nothing was computed. `ready` may be called before the return, once for each part of the gradient.
    virtual std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) = 0;
    virtual UnitSums end_pass(StateBack back) = 0;
    UnitSums end_pass() { return end_pass(StateBack::now); }

    // next_gradient and update together, for a trial that trains alone. Returns the rows; 0: the pass is over. A GPU may
    // train several updates at once; on_batch is called for each batch, after the last one has been launched.
    virtual std::int64_t next_updates(std::function<void()> const& on_batch);

    // The gradient of the bound state, laid out like its parameters, padding (zeros) included: end_of(parameter) bytes.
    virtual std::span<float> gradient() = 0;

    // The same gradient where it is computed, so that nothing is copied to the host; none: this model has it only on the
    // host. next_gradient and zero_gradient fill, and update reads, the one of the two that was asked for last.
    virtual std::optional<DeviceFloats> device_gradient() { return std::nullopt; }
    virtual void zero_gradient();

    // Clips gradient() and updates with it. rows: of all trainers that it is the mean of.
    virtual void update(std::int64_t rows) = 0;

    // Moves the counters as update() does, and nothing else: for a step in which only others have rows.
    virtual void count(std::int64_t rows) = 0;

    // From now on batch norm takes its statistics over all trainers' rows; empty: over the own rows. Own models (plug-ins,
    // TorchScript) always take the own rows.
    virtual void sum_with(SumOverGroup sum) = 0;

    virtual double learning_rate() const = 0;  // of the next step
};

}  // namespace hopscotch
