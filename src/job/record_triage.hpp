// SPDX-License-Identifier: Apache-2.0
// Which records count in an attempt. A record may be outdated when it comes: orders change trials while their laps are under
// way, and an attempt that follows another trains some laps again.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/ids.hpp"
#include "job/trial_set.hpp"

namespace hopscotch {

class CatchUp;
class Director;
class LiveControl;
class Recorder;
struct Lap;
struct LapRecord;

class RecordTriage {
public:
    // All must outlive it. catch_up: null: nothing of earlier jobs. most_retries: search.retries.
    RecordTriage(Director const& director, Recorder const& recorder, LiveControl const& control, CatchUp const* catch_up,
                 int most_retries)
        : director_(director), recorder_(recorder), control_(control), catch_up_(catch_up), most_retries_(most_retries) {}

    // Only `news` reaches the director and the journal.
    enum class Meaning {
        undone,       // an order stopped the lap, and was taken back since: the lap never happened
        retry,        // the lap failed through no fault of its trial, which goes back to its last checkpoint
        outdated,     // an order changed the trial while the lap was under way
        wrong_start,  // the lap, or one before it, did not begin with the state that its trial had
        known,        // the journal has the lap; it was trained again after a resume, and must give the same hash
        news
    };
    Meaning meaning_of(LapRecord const& record) const;

    // A lap of the journal that is trained again, and a lap that the director releases. False if this attempt must not send
    // the lap: the trial had ended, or an order took back its laps from this epoch on. Then the trainers hold a state that
    // it must not continue with, and the trial is taken up.
    void sent_again(Lap const& lap);
    bool may_send(Lap const& lap);

    bool note_wrong(TrialId trial) { return wrong_.insert(trial).second; }
    bool note_end(TrialId trial) { return ended_.insert(trial); }
    std::int64_t trials_ended() const { return static_cast<std::int64_t>(ended_.size()); }

    // Trials that had ended, and go on by an order: the job must pause for them.
    void take_up();
    std::optional<TrialId> first_taken_up() const;

private:
    bool may_retry(LapRecord const& record) const;

    Director const& director_;
    Recorder const& recorder_;
    LiveControl const& control_;
    CatchUp const* catch_up_;
    int most_retries_;
    TrialSet ended_;
    std::map<TrialId, int> released_;  // the last released lap of each trial
    std::set<TrialId> taken_up_;
    std::set<TrialId> wrong_;  // trials with a lap of wrong_start
};

}  // namespace hopscotch
