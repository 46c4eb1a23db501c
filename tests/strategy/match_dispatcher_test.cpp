// SPDX-License-Identifier: Apache-2.0
// Rank 0's half of mop under a dispatched policy, with trainers that are played here. Messages of one trainer come in order;
// those of different trainers come in any order, as MPI allows.
#include <deque>
#include <random>

#include "comm/codec.hpp"
#include "comm/peers.hpp"
#include "comm/thread_world.hpp"
#include "job_harness.hpp"
#include "schedule/policy.hpp"
#include "strategy/baselines/dispatched/match_dispatcher.hpp"
#include "strategy/mop/mop_messages.hpp"

namespace hopscotch {
namespace match_dispatcher_test {

using namespace testing;

constexpr int k_laps = 3;  // of a trial

class PlayedJob {
public:
    PlayedJob(std::string const& policy, int trainers, int trials, unsigned seed)
        : random_(seed),
          hub_(make_thread_hub(trainers + 1)),
          experiment_(read_document(described(policy))),
          owners_(make_owners(2 * trainers, trainers, trials)),
          trials_(static_cast<std::size_t>(trials)),
          sent_(static_cast<std::size_t>(trainers)) {
        for (int rank = 0; rank <= trainers; ++rank) {
            worlds_.push_back(make_thread_world(hub_, Rank(rank)));
            couriers_.push_back(std::make_unique<Courier>(*worlds_.back(), CourierOptions{}));
        }
        dispatcher_ = make_mop_dispatcher({*couriers_[0], experiment_, owners_});
    }

    ~PlayedJob() {
        for (auto const& courier : couriers_) courier->leave_quietly();
    }

    // True if all laps are over once no message is under way.
    bool play() {
        for (int t = 0; t < std::ssize(trials_); ++t)
            for (int epoch = 0; epoch < k_laps; ++epoch) {
                Lap lap{TrialId(t), epoch, 1, 0, 1.0 * (k_laps - epoch), {}};
                lap.unit_cost = 1.0 / shards();
                dispatcher_->execute(lap);
                if (epoch == 0) begin(lap);
            }
        while (deliver()) obey_visits();
        return std::ranges::all_of(trials_, [](Trial const& trial) { return trial.epoch == k_laps; });
    }

private:
    struct Trial {
        int epoch = 0;
        TrainerId home, at;
        bool asks = false;
        std::set<ShardId> visited;
    };

    static Json described(std::string const& policy) {
        auto out = document("unused", 7, "mop");
        out.set("strategy.policy", policy);
        return out;
    }

    int shards() const { return static_cast<int>(owners_.owner.size()); }

    void say(TrainerId from, Turn::What what, TrialId id) {
        auto const& trial = trials_[id.index()];
        Turn turn{what, {}, 7, 0.5};
        turn.lap.id = {id, trial.epoch};
        turn.lap.at = from;
        turn.lap.remaining = k_laps - trial.epoch;
        sent_[from.index()].push_back(std::move(turn));
    }

    void begin(Lap const& lap) {
        auto& trial = trials_[lap.trial.index()];
        trial.home = trial.at = home_of(lap, {*couriers_[0], experiment_, owners_});
        trial.asks = true;
        say(trial.home, Turn::What::waits, lap.trial);
    }

    // One message, of any trainer that has sent one.
    bool deliver() {
        std::vector<std::size_t> senders;
        for (std::size_t t = 0; t < sent_.size(); ++t)
            if (!sent_[t].empty()) senders.push_back(t);
        if (senders.empty()) return false;
        auto const from = senders[random_() % senders.size()];
        auto const turn = std::move(sent_[from].front());
        sent_[from].pop_front();
        dispatcher_->hear({rank_of(TrainerId(from)), MessageKind::turn, encode(turn), {}});
        return true;
    }

    void obey_visits() {
        for (int t = 0; t < owners_.trainers; ++t) {
            couriers_[0]->send(rank_of(TrainerId(t)), MessageKind::test, {});
            for (;;) {
                auto const message = couriers_[static_cast<std::size_t>(t) + 1]->receive(10);
                ASSERT_TRUE(message.has_value());
                if (message->kind == MessageKind::test) break;
                if (message->kind == MessageKind::visit) obey(TrainerId(t), decode<Visit>(message->body));
            }
        }
    }

    void obey(TrainerId holder, Visit const& visit) {
        auto& trial = trials_[visit.lap.trial.index()];
        ASSERT_EQ(visit.lap, (LapId{visit.lap.trial, trial.epoch}));
        ASSERT_EQ(trial.at, holder) << "the state is elsewhere";
        ASSERT_TRUE(trial.asks);
        ASSERT_TRUE(trial.visited.insert(visit.shard).second) << "a lap visits each shard once";
        trial.at = owners_.of(visit.shard);
        say(trial.at, Turn::What::ended, visit.lap.trial);
        if (std::ssize(trial.visited) == shards()) end_lap(visit.lap.trial);
    }

    void end_lap(TrialId id) {
        auto& trial = trials_[id.index()];
        trial.at = trial.home;
        say(trial.home, Turn::What::over, id);
        trial.visited.clear();
        trial.asks = ++trial.epoch < k_laps;
        if (trial.asks) say(trial.home, Turn::What::waits, id);
    }

    std::mt19937 random_;
    std::shared_ptr<ThreadHub> hub_;
    std::vector<std::unique_ptr<World>> worlds_;
    std::vector<std::unique_ptr<Courier>> couriers_;
    Experiment experiment_;
    OwnerTable owners_;
    std::unique_ptr<Dispatcher> dispatcher_;
    std::vector<Trial> trials_;
    std::vector<std::deque<Turn>> sent_;  // by trainer, on their way to rank 0
};

TEST(MatchDispatcher, MessagesOfDifferentTrainersOvertakeEachOther) {
    if (mpi_world()) return;  // its trainers are played
    for (auto const policy : policy_names()) {
        if (!policy_named(policy).dispatched()) continue;
        for (unsigned seed = 0; seed < 40; ++seed) {
            SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed));
            PlayedJob job(std::string(policy), 2 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 7), seed);
            ASSERT_TRUE(job.play()) << "a lap waits, and no message is under way";
        }
    }
}

}  // namespace match_dispatcher_test
}  // namespace hopscotch
