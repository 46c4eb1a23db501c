// SPDX-License-Identifier: Apache-2.0
// The best states of a run, when its trials have ended: fetched from the trainers or from files, scored on the test shards,
// written to best/.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "comm/buffer_pool.hpp"
#include "core/ids.hpp"
#include "core/json.hpp"
#include "rundir/metrics.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class CatchUp;
class Pump;
class Recorder;
struct PreparedRun;
struct SavedState;
struct Summary;

class BestStates {
public:
    // The wait for the trainers. hear: takes one message, if one comes in time. stops: the waiting ends, because the attempt
    // ends, or a signal has come.
    struct Waiting {
        std::function<void(double timeout_s)> hear;
        std::function<bool()> stops;
    };
    // All must outlive it. catch_up: null: nothing of earlier jobs.
    BestStates(PreparedRun const& prepared, Recorder& recorder, Pump& pump, CatchUp* catch_up, Waiting waiting);

    // While the trials train: notes which trainer has their states.
    void lap_done(LapRecord const& record);
    // The trainers' answers.
    void fetched(Buffer state) { fetched_ = std::move(state); }
    void scored(LapRecord const& record) { test_record_ = record; }
    void analysed(std::string const& errors) { errors_ = errors; }

    // Each does nothing, or stops, if waiting.stops(). The best trial's metrics on the test shards. None if the dataset has
    // no test shards, or if scoring failed.
    std::optional<Metrics> test(Summary const& summary);
    void write(Summary const& summary, std::optional<Metrics> const& test);  // best/model.safetensors, best/model.json
    Json analyse(Summary const& summary);  // then best/validation.json, the errors of this model; null: not known
    // Writes the same files for every trial into best/trial-N, from the files that trainers keep (run.keep_best "trial").
    // A trial whose file is not on the disk within run.deadline_s is left out with a warning.
    void write_each(Summary const& summary);

private:
    bool is_kept(LapId best) const;
    std::optional<std::pair<Lap, TrainerId>> best_lap(Summary const& summary);
    SavedState const* file_of_best(LapId best);
    Buffer state_of(LapId best);
    Buffer fetch(LapId best, TrainerId home);
    Buffer state_in(SavedState const& saved);
    SavedState const* await_file_after(LapId lap, double until_s);

    PreparedRun const& prepared_;
    Recorder& recorder_;
    Pump& pump_;
    CatchUp* catch_up_;
    Waiting waiting_;
    std::map<TrialId, TrainerId> homes_;
    std::set<LapId> here_;  // laps that ended in this attempt
    std::optional<Buffer> fetched_;
    std::optional<LapRecord> test_record_;
    std::optional<std::string> errors_;
};

}  // namespace hopscotch
