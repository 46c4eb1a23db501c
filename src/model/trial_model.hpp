// SPDX-License-Identifier: Apache-2.0
// One trial's network, loss and optimizer, bound to whatever state block it is given. The same object trains a unit,
// evaluates and initialises, so every strategy shares one step, one batch order and one evaluation.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"
#include "core/device_floats.hpp"
#include "core/ids.hpp"
#include "core/json_reader.hpp"
#include "data/batches.hpp"
#include "data/manifest.hpp"
#include "data/shard_source.hpp"
#include "experiment/config.hpp"
#include "model/evaluation.hpp"
#include "model/state.hpp"
#include "model/sum_over_group.hpp"

namespace hopscotch {

struct DataSchema {  // what a model must know of the data
    Task task = Task::classification;
    std::vector<std::int64_t> shape;
    std::int64_t outputs = 0;
    std::int64_t train_rows = 0;           // schedules count epochs in samples: epoch = train_rows
    std::vector<std::int64_t> categories;  // as in the manifest
};
DataSchema schema_of(Manifest const& manifest);

// What a unit trained: sums over its rows, in double; divided by rows at the very end.
struct UnitSums {
    std::int64_t rows = 0;
    double loss = 0;
};

struct ZooEntry {
    std::string name, summary;
    std::string arguments;  // one line an argument: name, default, meaning
    std::string input;      // shapes that it takes
    bool synthetic = false;
};
std::vector<ZooEntry> const& zoo();

// Cost of one training row in FLOPs (forward and backward), for schedules; a pure function of the configuration.
// The first form takes the batch size (what `synthetic` costs depends on it), the second assumes the default one.
double flops_per_row(TrialConfig const& config, DataSchema const& data);
double flops_per_row(ModelConfig const& model, DataSchema const& data);

// Whether this model, which check_model accepts, draws from torch's own generator: then trainers must not share a process.
bool draws_from_torch(ModelConfig const& model, DataSchema const& data);

// Unknown names, unknown or ill-typed arguments, a shape that does not fit: all to problems, under /model.
void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems);

// The same, and a loss that does not fit the task (under /train/loss).
void check_model(TrialConfig const& config, DataSchema const& data, Problems& problems);

// How a GPU computes; nothing on a CPU.
struct GpuMode {
    bool deterministic = true;  // run.deterministic
    bool tf32 = false;          // run.tf32
    bool benchmark = false;     // run.cudnn_benchmark
    bool graphs = true;         // run.cuda_graphs
};
GpuMode gpu_mode(RunConfig const& run);  // what is null follows deterministic

// What the trainers of one process share: the device, and nothing a trial could change. One per trainer.
class Workspace {
public:
    // Sets torch's intra-op threads and arithmetic of this process.
    Workspace(std::string device, int threads, GpuMode mode = {});
    ~Workspace();
    struct Impl;
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

// How far a pass has come, between two updates: with it and the state the rest can be trained elsewhere, to the same bits.
struct PassCursor {
    std::int64_t batches = 0;
    UnitSums sums;
};

// Floats [first, last) of TrialModel::gradient() are final while a backward pass still computes others.
using GradientReady = std::function<void(std::size_t first, std::size_t last)>;

class TrialModel {
public:
    virtual ~TrialModel() = default;

    virtual StateLayout const& layout() const = 0;

    // Writes initial weights (torch's own rules, addressed by (seed, trial)) and zeros everything else.
    virtual void initialise(MutableBytes state, std::uint64_t seed, TrialId trial) = 0;

    // Re-points every view into state, which must be 64-byte aligned, layout().bytes long, and outlive the next bind.
    virtual void bind(MutableBytes state) = 0;

    // Trains every batch of the unit on the bound state. on_batch is called after each batch (progress). The loss is
    // summed on the way and read once; rows of a dropped last batch are not counted.
    UnitSums train_unit(ShardSource& shard, UnitAddress const& address, std::function<void()> const& on_batch);

    // A unit cut open, for trainers that train a trial together or save it on the way: begin_pass; for every update
    // next_gradient, whatever is done to gradient(), update; end_pass. train_unit is just this, with nothing done to
    // gradients.
    virtual std::int64_t batch_size() const = 0;  // train.batch_size
    virtual void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) = 0;

    // Between updates. cursor: of the pass under way, and the bound block is up to date. skip_to: right after begin_pass of
    // the same unit with the same batch size, on the state that belongs to the cursor.
    virtual PassCursor cursor() = 0;
    virtual void skip_to(PassCursor const& cursor) = 0;

    // Rows of the next update (train.accumulate batches), whose mean gradient is in gradient() then; 0: the pass is over,
    // and nothing was computed. ready may be told of parts of it before that, each once.
    virtual std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) = 0;
    virtual UnitSums end_pass() = 0;

    // Of the bound state, laid out like its parameters, padding (zeros) included: layout().end_of(parameter) bytes.
    virtual std::span<float> gradient() = 0;

    // The same where it is computed, so that nothing is copied to the host; none: this model has it only there. Whichever of
    // the two was asked for last is the one that next_gradient and zero_gradient fill and update reads.
    virtual std::optional<DeviceFloats> device_gradient() { return std::nullopt; }
    virtual void zero_gradient();

    // Clips gradient() and updates with it. rows: of all trainers that it is the mean of.
    virtual void update(std::int64_t rows) = 0;

    // Moves the counters as update() does, and nothing else: for a step in which only others have rows.
    virtual void count(std::int64_t rows) = 0;

    // In an open pass the state may lie on a GPU: fetch() brings the bound block up to date, store() makes what has been
    // written into it the state that is trained.
    virtual void fetch() = 0;
    virtual void store() = 0;

    // The floats of that state where an open pass trains them, laid out like the block (parameters, slots, buffers): what is
    // done to them needs neither fetch() nor store(). None: this model has them only in the block.
    virtual std::optional<DeviceFloats> device_state() { return std::nullopt; }

    // Batch norm in training passes takes its statistics over all trainers' rows, from now on; empty: over the own rows. Own
    // models (plug-ins, TorchScript) always do the latter.
    virtual void sum_with(SumOverGroup sum) = 0;

    // Adds batches [first, last) of this shard (fixed batch size, never spanning shards) to `into`, one by one in order, so
    // cutting a shard into pieces changes no bit. The loss is the training loss without smoothing and class weights.
    virtual void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) = 0;
    virtual std::int64_t evaluation_batches(std::int64_t rows) const = 0;

    // Told after each validation: what a plateau schedule, whose counters are part of the state, goes by.
    virtual void end_epoch(double loss) = 0;

    // The outputs of these batches, a row after the other: logits, or predicted targets.
    virtual std::vector<float> predict(ShardSource& shard, BatchRange const& batches) = 0;

    // The parameters (frozen ones too; with EMA the averaged ones) and buffers of the bound state as a safetensors file.
    virtual void save(std::string const& path, Json const& metadata) = 0;

    virtual double learning_rate() const = 0;  // that the next step will use
    virtual bool finite() = 0;                 // every parameter, slot and buffer of the bound state is finite
};

// Throws ConfigError if check_model would complain. The workspace outlives the model. The manifest says how features are
// normalised and what labels mean; its files are not touched.
std::unique_ptr<TrialModel> make_trial_model(TrialConfig const& config, Manifest const& manifest, Workspace& workspace);

}  // namespace hopscotch
