// SPDX-License-Identifier: Apache-2.0
// How a job goes on with a run that others have begun: the director hears what is known, every trial that has not ended
// starts at its furthest checkpoint, and laps between it and the end of the journal are trained again, to the same bits.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "app/resumption.hpp"
#include "run/recorder.hpp"
#include "schedule/director.hpp"

namespace hopscotch {

class Continuation {
public:
    // Both must outlive it.
    Continuation(Resumption const& resumption, Experiment const& experiment)
        : resumption_(resumption), files_(resumption.files), experiment_(experiment) {}

    // Once, before anything is released: the laps to execute.
    std::vector<Lap> begin(Director& director, Recorder& recorder);

    // The first lap of a trial in this job starts from its file.
    void place(Lap& lap) const;

    // Whether this lap is one that the journal has; then it is not news. Throws Error if it came out different.
    bool trained_again(LapRecord const& record);
    // Laps whose ends must go to files: clones begin with them, or are ordered to.
    std::set<LapId> const& ends_to_keep() const { return pinned_; }
    bool waits() const { return !again_.empty(); }  // for such laps
    bool waits_for(TrialId trial) const;
    std::size_t units() const { return units_; }  // that are known

    // The file with the state after that lap; null: there is none.
    LapSink::Saved const* file_after(TrialId trial, int epoch) const;

private:
    struct Start {
        int epoch = 0, last = 0;               // laps; the first one from
        LapSink::Saved const* file = nullptr;  // with this one; null: from nothing
    };
    // While the director hears the journal: the laps that it releases, in order, and those that the journal has.
    struct Heard {
        std::vector<Lap> released;
        std::map<std::pair<TrialId, int>, std::uint64_t> known;  // finished: the hash of the state at the end
        std::map<TrialId, int> last;                             // the newest released epoch
        void add(Lap lap);
    };
    Heard tell(Director& director, Recorder& recorder);
    void pin_ends(Director& director, Recorder& recorder);
    void pin_sources_of_orders(Director const& director, Recorder& recorder);
    std::vector<Lap> laps_from_starts(Heard heard, Recorder& recorder);
    void drop_wrong_files(StateChain const& chain);
    bool find_starts(std::vector<TrialView> const& trials, Recorder const& recorder);
    std::optional<Start> start_of(TrialView const& trial, Recorder const& recorder) const;
    // Its last lap up to that one which begins with another's state.
    std::optional<LapId> last_clone(TrialId trial, int epoch) const;
    std::optional<int> wanted_by_clones(TrialId trial) const;
    LapSink::Saved const* furthest(TrialId trial, int last_epoch) const;

    Resumption const& resumption_;
    std::map<TrialId, std::vector<LapSink::Saved>> files_;  // those of them that hold what their names say
    Experiment const& experiment_;
    std::map<std::pair<TrialId, int>, std::uint64_t> again_;  // the hash of the state at its end
    std::map<TrialId, Start> starts_;                         // of trials that have not begun here
    std::map<LapId, LapId> clones_;                           // lap: what it begins with
    std::set<LapId> pinned_;                                  // laps whose ends may be begun with
    std::size_t units_ = 0;
};

}  // namespace hopscotch
