// SPDX-License-Identifier: Apache-2.0
// Every way in which a small job can go, with losses of trainers and orders of users at any moment: no unit is lost or
// trained twice, no job hangs, and decisions and states are the same in all. A depth-first search that remembers the states
// it has seen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <unordered_set>

#include "core/byte_view.hpp"
#include "core/hash.hpp"
#include "long_suite.hpp"
#include "strategy/small_world.hpp"

namespace hopscotch::testing {
namespace small_worlds_test {

class Explorer {
public:
    Explorer(WorldSize const& size, Broken broken) : size_(size), directors_(size), broken_(broken) {}

    void explore() {
        SmallWorld const world(size_, directors_, broken_);
        look(world);
    }
    std::size_t states() const { return seen_.size(); }
    std::size_t ends = 0;
    std::string wrong;  // the first promise that was broken, and the way there

private:
    void look(SmallWorld const& world) {
        if (!wrong.empty() || !is_new(world)) return;
        if (!world.wrong().empty()) return complain(world.wrong());
        compare_states(world);
        auto const choices = world.choices();
        if (choices.empty() && !world.over()) return complain("the job hangs");
        if (world.over()) end_with(world);
        for (auto const& choice : choices) {
            way_.push_back(choice);
            auto next = world;
            next.take(choice);
            look(next);
            way_.pop_back();
        }
    }

    bool is_new(SmallWorld const& world) {
        auto const text = world.fingerprint();
        return seen_.insert(xxh3(std::as_bytes(std::span(text)))).second;
    }

    // Orders act with the laps that they come with; these laps are a part of the way, and not of what must be equal.
    void end_with(SmallWorld const& world) {
        ++ends;
        auto const [known, is_first] = outcomes_.try_emplace(world.orders_came(), world.outcome());
        if (!is_first && known->second != world.outcome())
            complain("decisions differ:\n" + known->second + "and\n" + world.outcome());
    }

    void compare_states(SmallWorld const& world) {
        if (policy_named(size_.policy).dispatched()) return;  // its visit order is what rank 0 decided
        auto const came = world.orders_came();
        for (std::size_t trial = 0; trial < world.trials().size(); ++trial) {
            auto const& states = world.trials()[trial].ends;
            for (std::size_t epoch = 0; epoch < states.size(); ++epoch) {
                if (states[epoch] == 0) continue;
                auto const known = states_.try_emplace({came, trial, epoch}, states[epoch]).first;
                if (known->second != states[epoch])
                    complain(fmt::format("states of trial {}, epoch {} differ", trial, epoch));
            }
        }
    }

    void complain(std::string const& what) {
        if (!wrong.empty()) return;
        wrong = what + "; the way:";
        for (auto const& choice : way_)
            wrong += fmt::format(" {}{}{}", "eahp"[static_cast<std::size_t>(choice.kind)], choice.number,
                                 choice.order ? std::string("+") + std::string(name_of(*choice.order)) : "");
    }

    WorldSize size_;
    Directors directors_;
    Broken broken_;
    std::unordered_set<std::uint64_t> seen_;
    std::map<std::string, std::string> outcomes_;  // by orders that came
    std::map<std::tuple<std::string, std::size_t, std::size_t>, std::uint64_t> states_;
    std::vector<Choice> way_;
};

std::string text_of(WorldSize const& size) {
    return fmt::format("{}, {}, epochs {}, shards {}, trainers {}, losses {}, orders {}", size.search, size.policy,
                       size.epochs, size.shards, size.trainers, size.losses, size.orders);
}

std::size_t states_of(WorldSize const& size) {
    Explorer explorer(size, Broken::nothing);
    explorer.explore();
    EXPECT_EQ(explorer.wrong, "") << text_of(size);
    EXPECT_GT(explorer.ends, 0U) << text_of(size);
    if (long_suite()) std::printf("%9zu states, %6zu ends: %s\n", explorer.states(), explorer.ends, text_of(size).c_str());
    std::fflush(stdout);
    return explorer.states();
}

constexpr char const* k_random = R"("procedure": "random", "trials": 3)";
constexpr char const* k_asha = R"("procedure": "asha", "trials": 3, "eta": 2)";
constexpr char const* k_pbt = R"("procedure": "pbt", "population": 3, "interval": 1)";

std::vector<WorldSize> planned_sizes() {
    auto const to_three = long_suite() ? std::vector{2, 3} : std::vector{2};
    std::vector<WorldSize> out;
    for (auto const* search : {k_random, k_asha, k_pbt})
        for (int const trainers : to_three)
            for (int const shards : to_three)
                for (int losses = 0; losses < trainers; ++losses)
                    for (int const orders : {0, 1})
                        if (long_suite() || losses + orders < 2)
                            out.push_back({search, "planned", 2, shards, trainers, losses, orders});
    return out;
}

// The state of a matchmaker is all that it was told, so few ways meet again.
std::vector<WorldSize> dispatched_sizes() {
    auto const to_three = long_suite() ? std::vector{2, 3} : std::vector{2};
    std::vector<WorldSize> out;
    for (auto const policy : policy_names()) {
        if (!policy_named(policy).dispatched()) continue;
        for (int const losses : {0, 1})
            for (int const orders : {0, 1}) {
                if (orders > 0 && !long_suite()) continue;
                for (int const shards : to_three)
                    out.push_back({k_random, std::string(policy), 1, shards, 2, losses, orders});
                if (orders == 0)
                    out.push_back({R"("procedure": "random", "trials": 2)", std::string(policy), 2, 2, 2, losses, 0});
            }
    }
    return out;
}

TEST(SmallWorlds, HoldInEveryWay) {
    std::size_t states = 0;
    for (auto const& size : planned_sizes()) states += states_of(size);
    for (auto const& size : dispatched_sizes()) states += states_of(size);
    std::printf("%zu states\n", states);
    EXPECT_GE(states, long_suite() ? 10'000'000U : 50'000U);
}

TEST(SmallWorlds, FindWhatIsBrokenOnPurpose) {
    for (auto const broken :
         {Broken::queue_keeps_what_it_gives, Broken::validations_are_not_told, Broken::owners_keep_the_lost}) {
        WorldSize size;
        size.policy = broken == Broken::validations_are_not_told ? "lrtf" : "planned";
        size.epochs = 2;
        size.losses = broken == Broken::owners_keep_the_lost ? 1 : 0;
        Explorer explorer(size, broken);
        explorer.explore();
        EXPECT_NE(explorer.wrong, "") << static_cast<int>(broken);
    }
}

}  // namespace small_worlds_test
}  // namespace hopscotch::testing
