// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/unit_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "strategy/trainer/helper.hpp"

namespace hopscotch {

UnitPipeline::UnitPipeline(Helper* helper, TransferSlots* slots, std::size_t worth_bytes)
    : helper_(helper), slots_(helper == nullptr ? nullptr : slots), worth_bytes_(worth_bytes) {}

UnitPipeline::~UnitPipeline() {
    if (helper_ != nullptr) helper_->await([this] { return locked([this] { return given_ == 0; }); });
    if (uploaded_) slots_->withdraw(*uploaded_);
}

bool UnitPipeline::beside(PassingState const& state) const { return helper_ != nullptr && state.bytes() >= worth_bytes_; }

void UnitPipeline::give(std::function<void()> task) {
    locked([this] { ++given_; });
    helper_->give([this, task = std::move(task)]() mutable {
        task();
        task = nullptr;  // with the states that it holds
        locked([this] { --given_; });
    });
}

void UnitPipeline::announce(std::shared_ptr<PassingState> const& state) {
    if (!beside(*state) || state->expected == 0) return;
    bool const asked_before = locked([&] {
        return std::exchange(state->check_, std::max(state->check_, PassingState::Check::asked)) !=
               PassingState::Check::none;
    });
    if (asked_before) return;
    give([this, state] { check(*state); });
}

void UnitPipeline::upload(std::shared_ptr<PassingState> const& state) {
    if (slots_ == nullptr || uploaded_ == state || !beside(*state)) return;
    if (uploaded_) slots_->withdraw(*std::exchange(uploaded_, nullptr));
    try {
        if (slots_->upload(*state)) uploaded_ = state;
    } catch (std::exception const&) {
        slots_->withdraw(*state);  // the unit brings the state itself, and reports the error
    }
}

void UnitPipeline::check(PassingState& state) {
    std::exception_ptr trouble;
    bool good = false;
    try {
        good = state.hash() == state.expected;
    } catch (...) {
        trouble = std::current_exception();
    }
    std::lock_guard const lock(mutex_);
    state.trouble_ = trouble;
    state.check_ = good ? PassingState::Check::good : PassingState::Check::bad;
}

// Only this thread asks for checks; the helper ends them.
void UnitPipeline::await_check(PassingState& state) {
    auto const ended = [&] { return locked([&] { return state.check_ != PassingState::Check::asked; }); };
    if (!ended()) helper_->await(ended);
}

bool UnitPipeline::admit(std::shared_ptr<PassingState> const& state) {
    rethrow();
    if (state->expected == 0) return true;
    await_check(*state);
    if (state->check_ == PassingState::Check::none) check(*state);
    auto const result = std::exchange(state->check_, PassingState::Check::none);
    if (auto const trouble = std::exchange(state->trouble_, nullptr)) std::rethrow_exception(trouble);
    if (result == PassingState::Check::good) state->expected = 0;
    return result == PassingState::Check::good;
}

void UnitPipeline::withdraw(std::shared_ptr<PassingState> const& state) {
    await_check(*state);
    if (uploaded_ == state) slots_->withdraw(*std::exchange(uploaded_, nullptr));
}

// One departs at a time: the one before has had a whole unit's time.
void UnitPipeline::depart(std::shared_ptr<PassingState> state, Leave leave) {
    settle();
    if (uploaded_ == state) slots_->withdraw(*std::exchange(uploaded_, nullptr));  // it has trained from there, or will not
    if (!beside(*state)) return take_back(*state, false, leave), rethrow();
    bool downloads = false;
    std::exception_ptr trouble;
    try {
        downloads = slots_ != nullptr && slots_->download(*state);
        if (slots_ != nullptr && !downloads) slots_->fetch(*state);
    } catch (...) {
        trouble = std::current_exception();
    }
    if (trouble) return leave(0, trouble);
    locked([&] { departing_ = true; });
    give([this, state = std::move(state), leave = std::move(leave), downloads] { take_back(*state, downloads, leave); });
}

void UnitPipeline::take_back(PassingState& state, bool downloads, Leave const& leave) {
    std::uint64_t hash = 0;
    std::exception_ptr trouble, failure;
    try {
        if (downloads) slots_->await_download();
        hash = state.hash();
    } catch (...) {
        trouble = std::current_exception();
    }
    try {
        leave(trouble ? 0 : hash, trouble);
    } catch (...) {
        failure = std::current_exception();
    }
    std::lock_guard const lock(mutex_);
    departing_ = false;
    failure_ = failure;
}

bool UnitPipeline::busy() const {
    return locked([&] { return departing_; });
}

void UnitPipeline::settle() {
    if (helper_ != nullptr) helper_->await([this] { return !busy(); });
    rethrow();
}

void UnitPipeline::rethrow() {
    if (auto const failure = locked([&] { return std::exchange(failure_, nullptr); })) std::rethrow_exception(failure);
}

}  // namespace hopscotch
