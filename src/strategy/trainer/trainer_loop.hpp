// SPDX-License-Identifier: Apache-2.0
// The message loop of a trainer, the same for every strategy: takes messages, lets the strategy work while it has work, and
// answers rank 0. The states of the trials are in its StateKeeper.
#pragma once
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages.hpp"
#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "strategy/common/worker.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/trainer/state_keeper.hpp"

namespace hopscotch {

class BufferPool;
class Courier;
class CpuWatch;
struct Goodbye;
enum class Phase : std::uint8_t;
struct Leave;
struct Save;
enum class UnitHash;

class TrainerLoop : public Worker {
public:
    ~TrainerLoop() override;
    std::optional<Welcome> serve() override;

protected:
    // idle_wait_s: how long a trainer without work may wait for a message.
    explicit TrainerLoop(WorkerResources const& resources, StateKeeper::Holds holds = StateKeeper::Holds::whole_states,
                         double idle_wait_s = 1);

    // The strategy: its own messages; whether it may work now; one step of work.
    virtual void handle(Incoming message) = 0;
    virtual bool may_work() const = 0;
    virtual void work() = 0;
    // The trial has ended: the strategy drops everything that it holds of the trial.
    virtual void drop(TrialId trial) = 0;
    // The trial's lap ends with the unit under way: a lap that waits here ends now, with end_left; a later lap ends when it
    // arrives (left_why). Strategies whose trainers train a lap together finish the lap.
    virtual void leave_waiting(TrialId) {}
    // The job ends: the counters of the strategy.
    virtual void add_totals(Goodbye&) const {}
    // The job pauses: keeper().save_waiting for each state that waits here in the middle of a lap.
    virtual void save_queued() {}
    // Waits for work of the strategy that goes on beside this thread. The job pauses or ends next.
    virtual void settle() {}
    // Between two updates of a unit.
    virtual void between_updates() {}

    // During a lap.
    void begin_unit(Journey& journey);  // the heartbeat shows it
    // The start of a unit's seconds, and of its CPU seconds. Work on its model and its state is part of the unit.
    struct UnitStart {
        double s = 0, unix_s = 0;
        std::optional<double> cpu = {};  // none: not measured
    };
    UnitStart start_unit();
    void train(Journey& journey, MutableBytes state, UnitStart const& start, UnitHash hash);  // begin_unit, run_unit
    bool validate(Journey& journey, MutableBytes state);       // one piece. True after the last one
    void finish(Journey& journey, ByteView state);             // LapDone; state may be empty if the trial ended early
    void fail(Journey& journey, std::exception const& error);  // before its state was there: sets the outcome
    void busy_with(Lap const& lap, ShardId shard, Phase phase);
    bool paused() const;

    // Leave. left_why: null: the trial's lap goes on. end_left: saves the state if checkpoints are on, and reports the lap
    // as stopped. news_of: takes messages in the middle of a lap, and sets them aside.
    enum class News { none, leave, forget };
    News news_of(TrialId trial);
    std::string const* left_why(TrialId trial) const;
    void end_left(Journey& journey, ByteView state);
    void set_aside(Incoming message) { set_aside_.push_back(std::move(message)); }  // until the work under way is done

    WorkerResources const& resources() const { return resources_; }
    Courier& courier() const { return resources_.courier; }
    BufferPool& pool() const;
    TrialRunner& runner() const { return resources_.runner; }
    StateKeeper& keeper() { return keeper_; }

private:
    std::optional<Incoming> next_message();
    void answer(Incoming message);
    void answer_stop(TrialId trial);
    void answer_fetch(LapId const& asked);
    Buffer best_state(Lap const& asked);
    void answer_score(Lap const& asked);
    void answer_analyse(Lap const& asked);
    void answer_leave(Leave const& asked);
    void answer_save(Save const& asked);
    void say_paused();
    void say_goodbye();

    WorkerResources resources_;
    StateKeeper keeper_;
    std::unique_ptr<CpuWatch> cpu_watch_;
    double idle_wait_s_;
    std::deque<Incoming> set_aside_;
    std::map<TrialId, std::string> left_;  // with the reason
    std::optional<int> pause_round_;       // not answered yet
    std::uint64_t fetched_bytes_ = 0;      // of snapshots sent to rank 0
};

// For errors: a message of this kind has no reader here.
std::string unexpected(MessageKind kind);

}  // namespace hopscotch
