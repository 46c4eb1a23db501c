// SPDX-License-Identifier: Apache-2.0
// Dispatched policies: the trial that a free trainer takes, decided when a trainer or a trial becomes free. PURE. The
// simulated cluster and rank 0 (strategy/mop) ask the same code. Two trainers, trials 7 and 8, lrtf:
//   add(7) add(8)        take(): 7 -> trainer 0, 8 -> trainer 1
//   unit_ended(8)        take(): nothing, 8 has visited trainer 1 and trainer 0 is busy
//   unit_ended(7)        take(): 8 -> trainer 0, 7 -> trainer 1
//   unit_ended(8), ...   lap_over(): has_ended(8); its owner validates, and calls add(8) for the next lap
// A trainer trains one unit at a time. Trials and trainers are never matched twice in a lap.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "schedule/lap.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

// A lap whose state waits for a trainer.
struct WaitingLap {
    LapId id;
    double remaining = 0;  // cost of the trial's units from here on
    double unit = 0;       // of one unit
    TrainerId at;          // has the state
    Route route = {};
    HeldOut held_out = {};
    std::vector<ShardId> visited = {};  // in this lap, in order
    ShardId bound = {};                 // -1: none; else no other shard can be the next: its unit has begun
    std::vector<ShardId> repeats = {};  // the shards of the lap, if it is trained again to the same bits
};

struct Match {
    TrialId trial;
    ShardId shard;
    TrainerId trainer;
};

class Matchmaker {
public:
    explicit Matchmaker(OwnerTable const& owners);
    virtual ~Matchmaker() = default;

    void add(WaitingLap const& lap);  // replaces a lap of the same trial
    // The trial's unit has ended: its trainer is free, and the trial waits there. True: that was the lap's last unit, and
    // the lap has been removed.
    bool unit_ended(TrialId trial);
    void remove(TrialId trial);  // its lap, if there is one; its trainer is free
    // The cost of the units of a lap as it is known now.
    void set_cost(TrialId trial, double remaining, double unit);

    // A trainer validates trials of its own: until then it takes no unit.
    void validates(TrainerId trainer);
    void has_validated(TrainerId trainer);
    // Laps that will be added soon: their states are on the way home, or being validated. A barrier waits for them.
    void expect(std::int64_t laps) {
        fewer_ = fewer_ || laps < expected_;
        expected_ = laps;
    }

    // Trainers that wait for a better trial may look again. False: none waits.
    bool ask_the_patient();

    // The trials that free trainers take now. now: of any clock whose unit is that of the costs.
    std::vector<Match> take(double now);

    bool has(TrialId trial) const { return laps_.contains(trial); }
    std::size_t laps() const { return laps_.size(); }
    LapId lap_of(TrialId trial) const { return laps_.at(trial).lap.id; }
    std::int64_t looks() const { return looks_; }  // at pairs of a trial and a trainer: the work of all decisions

protected:
    struct Entry {
        WaitingLap lap;                      // remaining: after the unit under way
        std::vector<std::uint64_t> visited;  // a bit a shard
        int steps = 0;
        ShardId next;                // the next one on the ring, from its last; -1: all have been visited
        std::optional<Match> match;  // none: it waits
        double began = 0;            // the unit under way
        std::size_t place = 0;       // for the rule
        double ends() const { return began + lap.unit; }  // expected
    };
    struct Choice {
        Entry* entry;
        ShardId shard;
    };
    // Of the rule: upkeep of its indexes (an entry is unlisted before it changes, and listed again after the change), and
    // the order in which free trainers choose.
    virtual void list(Entry&) {}
    virtual void unlist(Entry&) {}
    virtual void unit_over(LapId const&) {}  // or its lap is not there any more
    virtual void prepare() {}
    // Whether a trainer that has found nothing asks again for this trial, which waits now.
    virtual bool asks_for(Entry const& entry, TrainerId trainer) { return open_shard(entry, trainer).has_value(); }
    virtual void sort(std::vector<TrainerId>&) {}
    virtual std::optional<Choice> choose(TrainerId trainer, double now) = 0;  // none, or none yet

    bool is_open(Entry const& entry, ShardId shard) const;
    std::optional<ShardId> open_shard(Entry const& entry, TrainerId trainer);  // the one with the fewest hops
    TrainerId owner(ShardId shard) const { return owners_.of(shard); }
    int shards() const { return static_cast<int>(owners_.owner.size()); }
    int trainers() const { return owners_.trainers; }
    std::int64_t expected() const { return expected_; }
    Entry& entry(TrialId trial) { return laps_.at(trial); }
    void ask_everyone() { ask_all_ = true; }
    void waits_for_better(TrainerId trainer) { patient_.insert(trainer); }
    void look() { ++looks_; }

    // The units of present laps that are left to train on a trainer.
    struct Load {
        double cost = 0;
        std::int64_t units = 0;
    };
    Load const& load(TrainerId trainer) const { return loads_[trainer.index()]; }

private:
    void visit(Entry& entry, ShardId shard);
    ShardId next_after(Entry const& entry, ShardId last) const;
    void add_load(Entry const& entry, double cost, int units);
    void free(TrainerId trainer);
    void occupy(TrainerId trainer);
    std::vector<TrainerId> asked();
    Match start(Choice const& choice, TrainerId trainer, double now);

    OwnerTable owners_;
    std::vector<std::vector<ShardId>> owned_;  // by trainer
    std::vector<Load> loads_;
    std::vector<int> busy_;  // by trainer: units and validations
    std::unordered_map<TrialId, Entry> laps_;
    // freed: since the last take(). hungry: found nothing then. patient: a hungry trainer that found a trial and did not
    // take it
    std::set<TrainerId> freed_, hungry_, patient_;
    std::vector<TrialId> fresh_;            // trials that wait since the last take()
    bool ask_all_ = false, fewer_ = false;  // fewer: laps are expected now
    std::int64_t expected_ = 0, looks_ = 0;
};

// The rules; rows of the table of policies (policy.cpp).
//   lrtf    longest remaining time first: a free trainer takes the trial with the most work left, among equals the next one
//           on the ring (of trials of equal cost this makes a Latin square, with the fewest hops). It looks ahead: it waits
//           for a better trial that is about to come. Of several trainers the one with the most work left chooses first.
//   random  Algorithm 1 of Cerebro (Nakandala et al., PVLDB 13, 2020): a random trial, of the lowest epoch that is left
//   ring    MADlib: groups of as many trials as shards move round together, and wait for each other after each step
std::unique_ptr<Matchmaker> make_lrtf(OwnerTable const& owners, std::uint64_t seed);
std::unique_ptr<Matchmaker> make_random(OwnerTable const& owners, std::uint64_t seed);
std::unique_ptr<Matchmaker> make_ring(OwnerTable const& owners, std::uint64_t seed);

}  // namespace hopscotch
