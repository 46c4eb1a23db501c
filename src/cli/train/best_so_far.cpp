// SPDX-License-Identifier: Apache-2.0
#include "cli/train/best_so_far.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/metrics.hpp"
#include "rundir/recorded_run.hpp"

namespace hopscotch {
namespace {

LapRecord const* record_of(Journal const& journal, LapId const& lap) {
    for (auto const* each : laps_that_count(journal))
        if (each->id() == lap && each->outcome == Outcome::finished) return each;
    return nullptr;
}

// The name of its file. If the run goes on, the file may exist for a moment only: the job deletes files that it no longer
// needs.
std::optional<std::filesystem::path> file_of(RecordedRun const& run, LapId const& lap) {
    auto const* record = record_of(run.journal, lap);
    if (record == nullptr || record->state.end_hash == 0) return {};
    std::error_code none;
    auto const end = Place{lap.epoch + 1, 0, 0};
    for (auto const& entry : std::filesystem::directory_iterator(run.directory / "checkpoints", none)) {
        if (entry.path().extension() != ".ckpt") continue;
        try {
            CheckpointFile const file(entry.path());
            auto const& about = file.about();
            if (about.run_id == run.facts.run_id && about.record.trial == lap.trial && about.place == end &&
                about.state_hash == record->state.end_hash)
                return entry.path();
        } catch (DataError const&) {  // torn, damaged, or deleted meanwhile: another one may be readable
        }
    }
    return {};
}

}  // namespace

std::optional<LapId> best_lap(RecordedRun const& run, std::optional<TrialId> trial, bool with_file) {
    auto const& search = run.experiment.search;
    std::optional<LapId> best;
    double best_value = 0;
    for (auto const* lap : laps_that_count(run.journal)) {
        if ((trial && lap->trial != *trial) || lap->outcome != Outcome::finished) continue;
        auto const loss = loss_of(run.experiment, run.journal.assignments.at(lap->trial));
        auto const value = metric_value(metrics_of(*lap, loss), search.metric);
        if (!std::isfinite(value)) continue;
        bool const first_of_equals = best && value == best_value && lap->id() < *best;
        if (best && !better(value, best_value, search.mode) && !first_of_equals) continue;
        if (with_file && !file_of(run, lap->id())) continue;
        best = lap->id();
        best_value = value;
    }
    return best;
}

std::optional<Buffer> state_in_checkpoint(RecordedRun const& run, LapId const& lap, BufferPool& pool) {
    auto const path = file_of(run, lap);
    if (!path) return {};
    try {
        CheckpointFile const file(*path);
        auto out = pool.acquire(file.state_bytes());
        file.read_state(out.bytes());
        return out;
    } catch (DataError const&) {  // as above
        return {};
    }
}

Manifest data_of(RecordedRun const& run) {
    auto const& path = run.experiment.data.path;
    auto out = read_manifest(path);
    if (to_hex(dataset_hash(out)) != run.facts.dataset_hash)
        throw DataError(
            fmt::format("{}: is not the dataset that {} was trained on (dataset.json has changed); import it "
                        "again in the same way",
                        path, run.directory.string()));
    return out;
}

}  // namespace hopscotch
