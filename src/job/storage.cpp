// SPDX-License-Identifier: Apache-2.0
#include "job/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/quantity_text.hpp"
#include "data/batches/row_block.hpp"
#include "direct/trial_view.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/plan_trials.hpp"
#include "job/prepared_run.hpp"
#include "rundir/tally.hpp"
#include "view/trace.hpp"

namespace hopscotch {
namespace {

// Measured: the lines of a lap in journal.jsonl and metrics.jsonl; the bytes of trace.json for a unit (its slice, its hop
// and counters: 190 bytes if trainers do not wait, 310 if they wait before each unit) and the rest; the event files. A block
// of units-N.bin is as docs/formats.md says.
constexpr std::uint64_t k_lines_of_a_lap = 1100, k_trace = 4000, k_trace_of_a_unit = 250, k_unit = 64, k_gpu_use = 8,
                        k_block = 32, k_events_of_a_trial = 300, k_events_of_a_lap = 150;

std::uint64_t laps_of(PreparedRun const& prepared) {
    if (prepared.plan.decides) return static_cast<std::uint64_t>(prepared.plan.search.epochs);
    std::uint64_t out = 0;
    for (auto const& trial : prepared.trials()) out += static_cast<std::uint64_t>(trial.epochs_wanted);
    return out;
}

// The folder that exists, or the one in which it will be made.
std::filesystem::path existing_part(std::filesystem::path path) {
    path = std::filesystem::absolute(path);
    std::error_code refused;
    while (path.has_relative_path() && !std::filesystem::exists(path, refused)) path = path.parent_path();
    return path;
}

}  // namespace

Storage storage_of(PreparedRun const& prepared, StrategyConfig const& strategy, TrialBytes const& largest) {
    Storage out;
    auto const laps = laps_of(prepared);
    auto const units = laps * static_cast<std::uint64_t>(prepared.shard_files());
    auto const alive = static_cast<std::uint64_t>(trials_at_once(prepared));
    auto const trials = std::max<std::uint64_t>(alive, static_cast<std::uint64_t>(prepared.plan.search.trials));
    // Each trainer may have written one more file before an older one is deleted.
    auto const kept = static_cast<std::uint64_t>(prepared.inputs.experiment.run.checkpoints.keep) * alive +
                      std::min(alive, static_cast<std::uint64_t>(prepared.fleet.trainers));
    out.checkpoints = (kept + (keeps_every_best(prepared.inputs.experiment) ? trials : 1)) * largest.state;
    bool const may_be_on_gpu = prepared.inputs.experiment.run.device != "cpu";
    out.units = units * (k_unit + (may_be_on_gpu ? k_gpu_use : 0)) + laps * k_block;
    auto const traced = std::min(units, static_cast<std::uint64_t>(TraceWriter::k_most_units));
    out.lines = laps * k_lines_of_a_lap + k_trace + traced * k_trace_of_a_unit;
    if (prepared.inputs.experiment.run.tensorboard) out.lines += trials * k_events_of_a_trial + laps * k_events_of_a_lap;
    out.best = largest.weights;
    auto const loads = prepared.fleet.owners.loads();
    auto const holders = static_cast<std::uint64_t>(std::ranges::count_if(loads, [](double load) { return load > 0; }));
    bool const together = strategy_traits(strategy.name).training == Training::together;
    out.states = largest.state * (together ? alive : (alive + holders - 1) / holders);
    out.validation =
        static_cast<std::uint64_t>(prepared.inputs.manifest.rows(Split::valid)) * stored_row_bytes(prepared.inputs.manifest);
    return out;
}

std::uint64_t free_space(PreparedRun const& prepared) {
    std::error_code refused;
    auto const space = std::filesystem::space(existing_part(prepared.inputs.experiment.run.dir), refused);
    return refused ? UINT64_MAX : space.available;
}

std::string missing_space(PreparedRun const& prepared, Storage const& storage) {
    auto const available = free_space(prepared);
    if (available >= storage.run_dir()) return {};
    return fmt::format(
        "run.dir {} needs about {}, and its file system has {} ({} checkpoints of {} trials at a time: run.checkpoint_keep, "
        "search.in_flight); free some, or name another run.dir",
        prepared.inputs.experiment.run.dir, bytes_text(storage.run_dir()), bytes_text(available),
        prepared.inputs.experiment.run.checkpoints.keep, trials_at_once(prepared));
}

}  // namespace hopscotch
