// SPDX-License-Identifier: Apache-2.0
#include "direct/lap_clock.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace hopscotch {
namespace {

class VirtualClock : public LapClock {
public:
    VirtualClock(int shards, double lookahead, VirtualCluster::Cost cost)
        :  // decisions do not depend on strategy.policy
          lookahead_(lookahead),
          cluster_(policy_named("planned"), make_owners(shards, shards, shards), std::move(cost), {QueueRule::by_laps}) {}

    void start(VirtualLap const& lap) override {
        cluster_.add(lap);
        started_[lap.id.trial] = cluster_.now();
    }

    void forget(TrialId trial) override {
        cluster_.remove(trial);
        std::erase_if(ended_, [&](Ended const& each) { return each.lap.trial == trial; });
    }

    void arrived(LapId const&) override {}

    std::optional<std::vector<LapId>> step() override {
        cluster_.start_ready();
        auto next = cluster_.next_end();
        if (!ended_.empty()) next = std::min(next.value_or(due_at()), due_at());
        if (!next) return std::nullopt;
        auto const over = cluster_.run_until(*next);
        for (auto const& lap : over) {
            ended_.push_back({lap, cluster_.now()});
            laps_s_ += cluster_.now() - started_[lap.trial];
            ++laps_;
        }
        return over;
    }

    std::optional<LapId> due() const override {
        if (ended_.empty() || due_at() > cluster_.now()) return std::nullopt;
        return ended_.front().lap;
    }
    void pop() override { ended_.pop_front(); }
    double now() const override { return cluster_.now(); }

private:
    struct Ended {
        LapId lap;
        double at = 0;
    };
    double due_at() const { return ended_.front().at + lookahead_ * laps_s_ / static_cast<double>(laps_); }

    double lookahead_;
    VirtualCluster cluster_;
    std::map<TrialId, double> started_;  // its lap
    std::deque<Ended> ended_;
    double laps_s_ = 0;  // virtual duration of the laps that have ended, all together
    std::int64_t laps_ = 0;
};

class ArrivalClock : public LapClock {
public:
    void start(VirtualLap const&) override {}
    void forget(TrialId trial) override {
        std::erase_if(arrived_, [&](LapId const& lap) { return lap.trial == trial; });
    }
    void arrived(LapId const& lap) override { arrived_.push_back(lap); }
    std::optional<std::vector<LapId>> step() override {
        if (arrived_.empty()) return std::nullopt;
        ended_ = arrived_.front();
        arrived_.pop_front();
        ++records_;
        return std::vector{*ended_};
    }
    std::optional<LapId> due() const override { return ended_; }
    void pop() override { ended_.reset(); }
    double now() const override { return records_; }

private:
    std::deque<LapId> arrived_;
    std::optional<LapId> ended_;
    double records_ = 0;
};

}  // namespace

std::unique_ptr<LapClock> make_virtual_clock(int shards, double lookahead, VirtualCluster::Cost cost) {
    return std::make_unique<VirtualClock>(shards, lookahead, std::move(cost));
}

std::unique_ptr<LapClock> make_arrival_clock() { return std::make_unique<ArrivalClock>(); }

}  // namespace hopscotch
