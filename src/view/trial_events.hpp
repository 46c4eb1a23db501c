// SPDX-License-Identifier: Apache-2.0
// The trials of a run for TensorBoard: the points of metrics.jsonl, and for the HParams tab the parameters and the end of
// each trial. The first record of a kind counts there, so a record is written when it can change no more.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "direct/trial_view.hpp"
#include "experiment/assignment.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {

class EventFiles;
struct Experiment;
struct FileIdentity;

class TrialEvents {
public:
    enum class Kind { number, truth, text };  // of a key, in all trials of the run

    // journal: as EventFiles.
    TrialEvents(std::filesystem::path folder, Experiment const& experiment, FileIdentity journal);
    ~TrialEvents();  // without finish(): records that are not written yet are lost

    // A new line of metrics.jsonl. assignment: of its trial now.
    void lap_done(LapRecord const& record, Metrics const& metrics, Assignment const& assignment);
    void trial_ended(TrialView const& trial);
    void write_soon();
    void finish(std::vector<TrialView> const& trials);  // the job ends; a second call does nothing

private:
    struct Told {
        bool start = false, end = false;
        double last_unix_s = 0;
    };
    Assignment in_kinds(Assignment const& assignment);
    void start(TrialId trial, Assignment const& assignment, double unix_s);
    void end(TrialView const& trial);

    std::unique_ptr<EventFiles> files_;
    std::map<std::string, Kind> kinds_;  // by key
    bool search_clones_, groups_;
    double start_unix_s_;
    std::map<TrialId, Told> told_;
    bool finished_ = false;
};

}  // namespace hopscotch
