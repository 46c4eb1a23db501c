// SPDX-License-Identifier: Apache-2.0
// One trial's network, loss and optimizer, bound to whatever state block it is given. The same object trains a unit,
// evaluates and initialises, so every strategy shares one step, one batch order and one evaluation.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "core/json_reader.hpp"
#include "data/batches.hpp"
#include "data/manifest.hpp"
#include "data/shard.hpp"
#include "experiment/config.hpp"
#include "model/state.hpp"

namespace hopscotch {

struct DataSchema {                   // what a model must know of the data
    Task task = Task::classification;
    std::vector<std::int64_t> shape;
    std::int64_t outputs = 0;
    std::int64_t train_rows = 0;      // schedules count epochs in samples: epoch = train_rows
};
DataSchema schema_of(Manifest const& manifest);

// Sums over the rows of a unit or of a piece of validation, in double; always divided by rows at the very end.
struct Sums {
    std::int64_t rows = 0;
    double loss = 0, correct = 0, top5 = 0;
    Sums& operator+=(Sums const& other);
};

struct ZooEntry {
    std::string name, summary;
    std::string arguments;            // one line a argument: name, default, meaning
    bool synthetic = false;
};
std::vector<ZooEntry> const& zoo();

// Cost of one training row in FLOPs (forward and backward), for schedules; a pure function of the configuration.
// The first form takes the batch size (what `synthetic` costs depends on it), the second assumes the default one.
double flops_per_row(TrialConfig const& config, DataSchema const& data);
double flops_per_row(ModelConfig const& model, DataSchema const& data);

// Unknown names, unknown or ill-typed arguments, a shape that does not fit: all to problems, under /model.
void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems);

// The same, and a loss that does not fit the task (under /train/loss).
void check_model(TrialConfig const& config, DataSchema const& data, Problems& problems);

// Throws ConfigError unless the device can be used here: "cpu", "cuda", "auto". Returns "cpu" or "cuda:0".
std::string resolve_device(std::string_view wanted, int local_rank);

// States rest in host memory; a GPU copies to and from it faster when it is page-locked. Throws Error if CUDA refuses.
// Nothing on a CPU build.
void pin_host_memory(void* data, std::size_t bytes);
void unpin_host_memory(void* data);

// What the trainers of one process share: the device, and nothing a trial could change. One per trainer.
class Workspace {
public:
    Workspace(std::string device, int threads);  // sets torch's intra-op threads of this process
    ~Workspace();
    struct Impl;
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

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
    virtual Sums train_unit(Shard const& shard, UnitAddress const& address, std::function<void()> const& on_batch) = 0;

    // Adds batches [first, last) of this validation shard (fixed batch size, never spanning shards). Batches are added to
    // `sums` one by one in order, so cutting a shard into pieces changes no bit.
    virtual void evaluate(Shard const& shard, std::int64_t first_batch, std::int64_t last_batch, Sums& sums) = 0;
    virtual std::int64_t evaluation_batches(std::int64_t rows) const = 0;

    virtual double learning_rate() const = 0;   // that the next step will use
    virtual bool finite() = 0;                  // every parameter, slot and buffer of the bound state is finite
};

// Throws ConfigError if check_model would complain. The workspace and normaliser outlive the model.
std::unique_ptr<TrialModel> make_trial_model(TrialConfig const& config, DataSchema const& data, Normaliser const& normaliser,
                                             Workspace& workspace);

// safetensors (huggingface/safetensors format): the parameters and buffers of the state.
void write_safetensors(std::string const& path, ByteView state, StateLayout const& layout, Json const& metadata);

}  // namespace hopscotch
