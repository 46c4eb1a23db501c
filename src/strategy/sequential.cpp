// SPDX-License-Identifier: Apache-2.0
#include "strategy/sequential.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <set>

#include "core/error.hpp"
#include "strategy/trainer_base.hpp"

namespace hopscotch {
namespace {

class Sequential : public TrainerBase {
public:
    explicit Sequential(Resources resources) : TrainerBase(std::move(resources)) {}

    void execute(Lap const& lap) override { resources_.courier.send(Rank(1), MessageKind::lap, encode(lap)); }

private:
    void handle(Incoming message) override {
        require(message.kind == MessageKind::lap, "unexpected message for a sequential trainer");
        auto lap = decode<Lap>(message.body);
        if (!ended_.contains(lap.trial)) laps_.push_back(std::move(lap));
    }

    void drop(TrialId trial) override {
        ended_.insert(trial);
        states_.erase(trial);
        std::erase_if(laps_, [&](Lap const& lap) { return lap.trial == trial; });
    }

    bool has_work() const override { return !laps_.empty(); }

    void work() override {
        auto const lap = std::move(laps_.front());
        laps_.pop_front();
        auto journey = begin(lap);
        auto& state = states_[lap.trial];
        if (!state) prepare(journey, state);
        while (journey.step < resources_.runner->shards() && journey.record.outcome == Outcome::finished)
            train(journey, state.bytes());
        while (journey.record.outcome == Outcome::finished && !validate(journey, state.bytes())) {
        }
        finish(journey, state.bytes());
        if (journey.record.outcome != Outcome::finished) drop(lap.trial);
    }

    // A model that cannot even be built ends its own trial only.
    void prepare(Journey& journey, Buffer& state) {
        try {
            state = resources_.runner->initial_state(journey.lap, resources_.courier.pool());
        } catch (std::exception const& error) {
            journey.record.outcome = Outcome::failed;
            journey.record.reason = fmt::format("epoch {} on trainer {} ({}): {}", journey.lap.epoch, resources_.runner->self().value,
                                                host_name(), error.what());
        }
    }

    std::deque<Lap> laps_;
    std::map<TrialId, Buffer> states_;
    std::set<TrialId> ended_;
};

}  // namespace

std::unique_ptr<Strategy> make_sequential(Resources resources) { return std::make_unique<Sequential>(std::move(resources)); }

}  // namespace hopscotch
