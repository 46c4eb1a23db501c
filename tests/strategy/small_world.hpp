// SPDX-License-Identifier: Apache-2.0
// A whole job of a few trials, shards and trainers, without time: everything that may happen next is a choice. The parts
// that decide are the product's own: the director with its search, the trainers' ready queues, the matchmaker of dispatched
// policies, the owners before and after a loss. Trainers and messages are played here.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "direct/director.hpp"
#include "experiment/config.hpp"
#include "schedule/matchmaker.hpp"
#include "schedule/owners.hpp"
#include "schedule/policy.hpp"

namespace hopscotch::testing {

struct WorldSize {
    std::string search = R"("procedure": "random", "trials": 2)";
    std::string policy = "planned";
    int epochs = 1, shards = 2, trainers = 2;
    int losses = 0, orders = 0;  // that may happen, at any moment
};

// On purpose, in the place of one line of the product.
enum class Broken { nothing, queue_keeps_what_it_gives, validations_are_not_told, owners_keep_the_lost };

// All that a director has said after these records, in this order. Found again, since many ways lead to the same records.
struct Heard {
    int number = 0;
    std::shared_ptr<Heard const> before = {};
    LapId lap = {};
    std::optional<Order::Kind> order = {};  // that came with the last record
    std::vector<Lap> released = {};         // since `before`
    std::vector<TrialView> trials = {};
    std::string decisions = {};  // all so far
    bool finished = false;
};
using HeardAs = std::shared_ptr<Heard const>;

class Directors {
public:
    explicit Directors(WorldSize const& size);
    HeardAs begin();
    HeardAs after(HeardAs const& before, LapId lap, std::optional<Order::Kind> order);
    Experiment const& experiment() const { return experiment_; }
    std::size_t heard() const { return known_.size(); }

private:
    WorldSize size_;
    Experiment experiment_;
    std::map<std::tuple<int, LapId, int>, HeardAs> known_;  // by number of the one before, lap, order
};

// The laps of a trial, and where the one under way is.
struct TrialThere {
    enum class Phase { none, hops, waits, trains } phase = Phase::none;  // waits: in a queue, or for a match
    std::vector<Lap const*> laps = {};                                   // released, not begun; `heard` owns them
    Lap const* lap = nullptr;                                            // under way
    int step = 0;                                                        // of the lap; S: the validation
    TrainerId at = {};                                                   // has the state, or gets it
    std::vector<ShardId> visited = {};
    std::uint64_t state = 0;               // of all that the trial has been through
    std::vector<std::uint64_t> ends = {};  // likewise, by epoch; 0: not trained
};

struct TrainerThere {
    std::vector<TrialId> queue = {};  // as they came
    std::optional<TrialId> trains = {};
    bool lost = false;
};

struct Choice {
    enum class Kind { end, arrival, loss, patience } kind;
    int number = 0;                         // end, loss: the trainer; arrival: the trial
    std::optional<Order::Kind> order = {};  // end of a validation: comes with the lap
};

// May be copied: then both go on from here, each its way.
class SmallWorld {
public:
    SmallWorld(WorldSize const& size, Directors& directors, Broken broken = Broken::nothing);

    std::vector<Choice> choices() const;  // none: the job is over, or hangs
    void take(Choice const& choice);
    bool over() const { return heard_->finished; }
    std::string outcome() const;                         // of what must not depend on the choices
    std::string const& wrong() const { return wrong_; }  // the first promise that was broken; empty: none
    // Equal: the same can happen from here on, and the same has been decided.
    std::string fingerprint() const;
    // With which laps. Of a search that decides nothing on the way: among which, since it obeys an order at once.
    std::string orders_came() const;
    std::vector<TrialThere> const& trials() const { return trials_; }

private:
    // The matchmaker's state follows from its calls.
    struct Call {
        enum class Kind { add, ended, remove, validates, validated, expect, take, patience } kind;
        int number = 0;
        WaitingLap lap = {};
    };
    bool dispatched() const { return policy_->dispatched(); }
    std::unique_ptr<Matchmaker> matchmaker() const;
    void call(Call::Kind kind, int number = 0) { calls_.push_back({kind, number, {}}); }
    TrialId id_of(TrialThere const& trial) const { return TrialId(static_cast<int>(&trial - trials_.data())); }
    TrainerThere& trainer(TrainerId id) { return trainers_.at(id.index()); }
    ShardId planned_shard(TrialThere const& trial, int step) const;
    TrainerId trainer_of(TrialThere const& trial, int step) const;  // step 0 and S: home

    void hear(HeardAs heard);
    void drop(TrialThere& trial);
    void settle();
    void begin(TrialThere& trial);
    void match();
    void start(TrainerId trainer);
    TrialId first_of(TrainerThere const& trainer) const;
    void go_to(TrialThere& trial, TrainerId trainer);
    void arrive(TrialThere& trial);
    void end(TrainerId id, std::optional<Order::Kind> order);
    void end_unit(TrialThere& trial);
    void end_lap(TrialThere& trial, std::optional<Order::Kind> order);
    void lose(TrainerId lost);
    void promise(bool kept, std::string const& what);

    WorldSize const* size_;
    Directors* directors_;
    Policy const* policy_;
    Broken broken_;
    HeardAs heard_;
    OwnerTable owners_;
    int losses_ = 0, orders_ = 0;  // so far
    std::vector<TrialThere> trials_;
    std::vector<TrainerThere> trainers_;
    std::vector<Call> calls_;
    std::string wrong_;
};

}  // namespace hopscotch::testing
