// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/units_beside.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "model/state/layout.hpp"
#include "model/state/state.hpp"
#include "model/trial/trial_state.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/trainer/helper.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_failure.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_worth_bytes = std::size_t{1} << 20;  // some 60 us of hashing; to wake a thread takes 10 to 50

// The state did not come back from the device.
void fail(Journey& journey, TrainerId self, std::exception_ptr const& error) {
    auto& record = journey.record;
    try {
        std::rethrow_exception(error);
    } catch (std::exception const& caught) {
        record.cause = cause_of(caught);
        record.reason =
            fmt::format("the end of a unit of epoch {} on trainer {}: {}", record.epoch, self.value, words_of(caught));
    }
    record.outcome = Outcome::failed;
}

// Each state is copied by its own model, to and from the slots that all models of a trainer share. Without slots, as on a
// CPU, nothing is copied.
class ModelSlots final : public TransferSlots {
public:
    bool upload(PassingState& state) override {
        auto const& hand = of(state);
        return hand.model && hand.model->begin_store(hand.buffer.bytes());
    }
    void withdraw(PassingState& state) override {
        if (auto const& hand = of(state); hand.model) hand.model->forget_store(hand.buffer.bytes());
    }
    bool download(PassingState& state) override {
        leaving_ = of(state).model;
        return leaving_->begin_fetch();
    }
    void fetch(PassingState& state) override { of(state).model->fetch(); }
    void await_download() override { leaving_->await_fetch(); }

private:
    static StateInHand& of(PassingState& state) { return static_cast<StateInHand&>(state); }
    std::shared_ptr<TrialState> leaving_;  // one at a time
};

}  // namespace

std::uint64_t StateInHand::hash() {
    if (!trained) return state_hash(buffer.bytes(), *layout);
    auto const check = check_state(buffer.bytes(), *layout);
    finite = check.finite;
    return check.hash;
}

UnitsBeside::UnitsBeside(WorkerResources const& resources, StateStore& store, Wanted wanted)
    : resources_(resources), store_(store), slots_(std::make_unique<ModelSlots>()) {
    if (wanted == Wanted::yes) helper_ = std::make_unique<HelperThread>();
    worth_bytes_ = resources.experiment.run.cpu.helper == HelperThreads::on ? 0 : k_worth_bytes;
    pipeline_ = std::make_unique<UnitPipeline>(helper_.get(), slots_.get(), worth_bytes_);
}

UnitsBeside::~UnitsBeside() = default;

void UnitsBeside::take(ReadyLap& ready) {
    if (!ready.hand) take(ready, store_.take(std::move(ready.waiting)));
}

void UnitsBeside::take(ReadyLap& ready, Buffer state) {
    if (!state) return;
    ready.hand = std::make_shared<StateInHand>(std::move(state), resources_.runner.shared_layout(ready.journey.lap));
    ready.hand->expected = std::exchange(ready.expected_hash, 0);
}

Buffer UnitsBeside::release(ReadyLap& ready) {
    if (!ready.hand) return {};
    pipeline_->withdraw(ready.hand);
    ready.expected_hash = ready.hand->expected;
    return std::move(std::exchange(ready.hand, nullptr)->buffer);
}

void UnitsBeside::put_back(ReadyLap& ready) {
    if (ready.hand) ready.waiting = store_.hold(release(ready));
}

// A crowded store may have the state on the disk. A new model could take the place of the model that trains.
void UnitsBeside::announce(ReadyLap& next) {
    if (!helper_ || store_.crowded() || (!next.hand && !next.waiting)) return;
    if (!next.hand && !resources_.runner.known_state(next.journey.lap)) return;
    take(next);
    if (std::exchange(next.hand->announced, true)) return;
    next.hand->model = resources_.runner.known_state(next.journey.lap);
    pipeline_->announce(next.hand);
    pipeline_->upload(next.hand);
}

bool UnitsBeside::departs(ReadyLap const& ready) const { return helper_ && ready.state().size() >= worth_bytes_; }

void UnitsBeside::depart(ReadyLap ready, std::function<Then(ReadyLap&)> leave) {
    auto lap = std::make_shared<ReadyLap>(std::move(ready));
    lap->hand->trained = true;
    lap->hand->model = resources_.runner.known_state(lap->journey.lap);
    pipeline_->depart(lap->hand, [this, lap, leave = std::move(leave)](std::uint64_t hash, std::exception_ptr const& error) {
        lap->hand->trained = false;
        lap->hand->model = nullptr;
        if (error)
            fail(lap->journey, resources_.runner.self(), error);
        else
            TrialRunner::end_unit(lap->journey, hash, lap->hand->finite);
        bool const goes_on = lap->journey.record.outcome == Outcome::finished;
        if (goes_on && leave(*lap) == Then::left) return;
        std::lock_guard const lock(mutex_);
        landed_.push_back(std::move(*lap));
    });
}

std::vector<ReadyLap> UnitsBeside::landed() {
    std::lock_guard const lock(mutex_);
    return std::exchange(landed_, {});
}

bool UnitsBeside::busy() const {
    if (pipeline_->busy()) return true;
    std::lock_guard const lock(mutex_);
    return !landed_.empty();
}

}  // namespace hopscotch
