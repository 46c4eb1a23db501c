// SPDX-License-Identifier: Apache-2.0
// What must hold for any space, any settings, any order of arrival and any failures.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "every_procedure.hpp"
#include "experiment/measures.hpp"
#include "experiment/objectives.hpp"
#include "experiment/space.hpp"
#include "fake_director.hpp"
#include "long_suite.hpp"
#include "search/plan.hpp"

namespace hopscotch {
namespace properties_test {

using State = FakeDirector::State;

std::uint32_t below(Rng& rng, std::uint32_t n) { return rng.below(n); }
bool one_in(Rng& rng, std::uint32_t n) { return below(rng, n) == 0; }

// Keys of the model: the reader of the experiment takes any. more: further keys of the entry.
std::string random_parameter(Rng& rng, std::string more) {
    bool const has_prior = one_in(rng, 3);
    auto const near = [&](std::string const& guess) {
        return has_prior ? fmt::format(R"(, "prior": {{"guess": {}, "deviation": 0.{}}})", guess, 1 + below(rng, 9)) : "";
    };
    auto const range = [&](char const* type, auto low, auto high, char const* scale) {
        return fmt::format(R"({{"type": "{}", "low": {}, "high": {}{}{}{}}})", type, low, high, scale,
                           near(fmt::format("{}", one_in(rng, 2) ? low : high)), more);
    };
    switch (below(rng, 7)) {
        case 0: return range("float", -double(below(rng, 3)), double(below(rng, 5)), "");
        case 1: return range("float", std::pow(10, -1.0 - below(rng, 6)), 1.0 + below(rng, 9), R"(, "log": true)");
        case 2: return range("float", 0U, below(rng, 3), R"(, "step": 0.25)");
        case 3: return range("int", -int(below(rng, 3)), int(below(rng, 9)), "");
        case 4: return range("int", 1U, 1 + below(rng, 99), R"(, "log": true)");
        case 5:
            if (has_prior) more += R"(, "prior": [1, 4, 0.5])";
            return fmt::format(R"({{"type": "choice", "values": ["p", "q", "r"]{}}})", more);
        default:
            if (has_prior) more += R"(, "prior": [3, 1, 1, 2])";
            return fmt::format(R"({{"type": "choice", "values": [16, 32, 64, 128]{}}})", more);
    }
}

// The first key is a choice that others may hang on.
std::string random_space(Rng& rng, ProcedureTraits const& row, std::string const& prefix) {
    std::string out = "{\"" + prefix + "0\": [\"p\", \"q\", \"r\"]";
    if (sampler_traits(row.samplers.front()).needs_numbers)
        out += fmt::format(R"(, "{}number": {{"type": "float", "low": -1, "high": 1}})", prefix);
    for (std::uint32_t i = 1, n = 1 + below(rng, 4); i <= n; ++i) {
        auto const when = one_in(rng, 3) ? R"(, "when": {")" + prefix + R"(0": ["p", "q"]})" : "";
        out += fmt::format(", \"{}{}\": {}", prefix, i, random_parameter(rng, when));
    }
    return out + "}";
}

// One of the samplers that draw from any space.
std::string random_sampler(Rng& rng, ProcedureTraits const& row) {
    std::vector<std::string> samplers;
    for (auto const& name : row.samplers)
        if (sampler_traits(name).configurations == Configurations::drawn) samplers.push_back(name);
    return samplers[below(rng, static_cast<std::uint32_t>(samplers.size()))];
}

// All that a procedure may be told.
std::string random_search(Rng& rng, ProcedureTraits const& row, std::string const& prefix, int epochs) {
    std::string out = "{" + named(row);
    auto const add = [&](std::string const& key, auto value) { out += fmt::format(", \"{}\": {}", key, value); };
    if (has_key(row, "trials") && (!row.ends_by_itself || one_in(rng, 2))) add("trials", 1 + below(rng, 40));
    if (one_in(rng, 6)) out += fmt::format(R"(, "budget": {{"epochs": {}}})", 1 + below(rng, 60));
    if (has_key(row, "eta") && one_in(rng, 2)) add("eta", 2 + below(rng, 4));
    if (has_key(row, "min_epochs") && one_in(rng, 3)) add("min_epochs", 1 + below(rng, static_cast<std::uint32_t>(epochs)));
    if (has_key(row, "confidence") && one_in(rng, 2)) add("confidence", 0.5 + below(rng, 5) * 0.1);
    if (has_key(row, "keep") && one_in(rng, 2)) add("keep", 1 + below(rng, 8));
    if (has_key(row, "variant") && one_in(rng, 2)) add("variant", "\"stop\"");
    auto sampler = row.samplers.front();
    if (has_key(row, "sampler") && one_in(rng, 2)) {
        sampler = random_sampler(rng, row);
        add("sampler", "\"" + sampler + "\"");
        if (std::ranges::count(samplers_with("startup"), sampler) > 0) add("startup", 1 + below(rng, 8));
        if (std::ranges::count(samplers_with("parents"), sampler) > 0) add("parents", 2 + below(rng, 8));
    }
    if (has_key(row, "population")) {
        add("population", 1 + below(rng, 12));
        add("interval", 1 + below(rng, 4));
        add("quantile", below(rng, 3) * 0.25);
    }
    if (samples_with(row, "startup")) add("startup", 1 + below(rng, 8));
    if (samples_with(row, "parents")) add("parents", 2 + below(rng, 8));
    if (samples_with(row, "multivariate") && !row.has_rule && one_in(rng, 2)) add("multivariate", false);
    if (has_key(row, "objectives") && !sampler_traits(sampler).one_objective && one_in(rng, 3)) {
        out += R"(, "objectives": ["val_loss", "parameters")" + std::string(one_in(rng, 2) ? R"(, "train_loss"])" : "]");
        if (one_in(rng, 3)) out += R"(, "subject_to": {"val_loss": {"below": 2}})";
    }
    if (one_in(rng, 3)) out += ", \"forbid\": [{\"" + prefix + "0\": \"q\", \"" + prefix + "1\": {\"above\": 1}}]";
    return out + "}";
}

bool inside(Parameter const& parameter, Json const& value) {
    if (parameter.type == Parameter::Type::choice || parameter.type == Parameter::Type::constant)
        return std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end();
    double const x = value.number();
    bool const whole = parameter.type == Parameter::Type::integer;
    if (x < parameter.low || x > parameter.high || (whole && !value.is_integer())) return false;
    if (!parameter.step) return true;
    double const steps = (x - parameter.low) / *parameter.step;
    return std::abs(steps - std::nearbyint(steps)) < 1e-9;
}

void expect_allowed(Space const& space, Assignment const& assignment, std::string const& about) {
    Assignment so_far;
    std::size_t active = 0;
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        auto const* value = value_of(assignment, parameter.path);
        ASSERT_EQ(value != nullptr, is_active(parameter, so_far)) << parameter.path << about;
        if (value == nullptr) continue;
        ++active;
        EXPECT_TRUE(inside(parameter, *value)) << parameter.path << " " << value->dump() << about;
        so_far.emplace_back(parameter.path, *value);
    }
    EXPECT_EQ(active, assignment.size());
    EXPECT_FALSE(is_forbidden(space, assignment)) << about;
}

// A loss that is worth learning, with ties.
double loss_of(Assignment const& assignment, int epochs) {
    double out = 0;
    for (auto const& [path, value] : assignment)
        out += value.is_number() ? std::abs(value.number()) : value.string() == "q" ? 1 : 0;
    return std::floor(out * 4) / 4 + 1.0 / epochs;
}

void expect_within_table(Experiment const& experiment, FakeDirector const& director, std::string const& about) {
    auto const plan = plan_of(experiment);
    if (experiment.search.budget.epochs) return;        // what failures leave of it goes to others
    auto const failed = director.count(State::failed);  // asha: another one is promoted in the place of the last that failed
    EXPECT_LE(director.trials().size(), static_cast<std::size_t>(plan.trials)) << about;
    // Who has this many epochs has been let into the first rung that is as long.
    for (int epochs = 1; plan.bound() == SearchPlan::Bound::exact && epochs <= plan.brackets.front().back().epochs;
         ++epochs) {
        std::int64_t most = 0;
        for (auto const& bracket : plan.brackets)
            for (auto const& rung : bracket)
                if (rung.epochs >= epochs) {
                    most += rung.trials * plan.iterations;
                    break;
                }
        EXPECT_LE(director.count_at(epochs), static_cast<std::size_t>(most) + failed) << epochs << about;
    }
    std::int64_t const most_epochs = plan.brackets.front().back().epochs;
    std::int64_t epochs = 0;
    for (auto const& trial : director.trials()) epochs += std::ssize(trial.losses);
    EXPECT_LE(epochs, plan.most + static_cast<std::int64_t>(failed) * most_epochs) << about;
}

// The check of procedures that clone refuses keys of the model, whose values are the state's shape; here no one trains.
Experiment any_experiment(std::string const& search, std::string const& space, int epochs, std::uint64_t seed) {
    auto const train = fmt::format("{{\"epochs\": {}}}", epochs);
    if (!row_of(search).clones) return search_experiment(search, space, train, std::to_string(seed));
    auto const forbid = search.find(", \"forbid\"");
    auto const end = forbid == search.npos ? "" : search.substr(forbid);
    auto out = search_experiment(R"({"procedure": "random", "trials": 1)" + (end.empty() ? "}" : end), space, train,
                                 std::to_string(seed));
    auto const pbt =
        search_experiment(search.substr(0, forbid) + (end.empty() ? "" : "}"), R"({"train.batch_size": [1]})", train);
    auto const conditions = out.search.proposals.forbid;
    out.search = pbt.search;
    out.search.proposals.forbid = conditions;
    return out;
}

std::size_t search_metrics(Experiment const& experiment) {
    auto const objectives = objectives_of(experiment.search);
    return static_cast<std::size_t>(std::ranges::count_if(objectives, &ObjectiveMeasure::is_metric));
}

class Any : public ::testing::TestWithParam<ProcedureTraits> {};

TEST_P(Any, SpaceOrderOfArrivalAndFailures) {
    auto const& procedure = GetParam();
    for (std::uint64_t seed = 0; seed < (testing::long_suite() ? 10'000 : 100); ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {1}));
        std::string const prefix = "model.x";
        int const epochs = 1 + static_cast<int>(below(rng, 30));
        auto const space_text = random_space(rng, procedure, prefix);
        auto const search_text = random_search(rng, procedure, prefix, epochs);
        auto const about = fmt::format(" seed {}, {} epochs: {} {}", seed, epochs, search_text, space_text);
        auto const experiment = any_experiment(search_text, space_text, epochs, seed);
        Problems said("");
        auto const space = read_space(experiment, said);
        ASSERT_EQ(said.text(), "") << about;
        SearchContext context;
        context.measure = [](Assignment const& each) { return Measures{std::floor(3 * loss_of(each, 1)), 1, 1}; };
        auto const search = make_search(experiment, context);
        double const failing = one_in(rng, 3) ? 0 : rng.uniform() * (one_in(rng, 5) ? 1 : 0.2);
        FakeDirector director(
            *search, 1 + below(rng, 12),
            [&](TrialId, FakeDirector::Trial const& trial, int epoch) -> std::optional<double> {
                if (rng.uniform() < failing) return std::nullopt;
                return loss_of(trial.assignment, epoch);
            },
            seed, search_metrics(experiment));
        ASSERT_TRUE(director.run(100'000)) << about;
        std::set<std::string> texts;
        for (auto const& trial : director.trials()) {
            expect_allowed(space, trial.assignment, about);
            bool const fresh = texts.insert(to_json(trial.assignment).dump()).second;
            EXPECT_TRUE(fresh || procedure.clones) << "twice" << about;
            EXPECT_LE(trial.epochs, epochs) << about;
            EXPECT_NE(trial.state, State::running) << about;
        }
        expect_within_table(experiment, director, about);
        if (::testing::Test::HasFailure()) return;
    }
}

std::vector<ProcedureTraits> all_that_draw() {
    auto out = procedure_traits();
    std::erase_if(out, [](ProcedureTraits const& row) { return !draws(row); });
    return out;
}

INSTANTIATE_TEST_SUITE_P(Search, Any, ::testing::ValuesIn(all_that_draw()),
                         [](auto const& each) { return std::string(each.param.name); });

// Whatever the settings, someone can always go on.
TEST(Search, NoDeadlockForAnyEpochsEtaAndInFlight) {
    std::string const space = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";
    for (auto const* procedure : {"hyperband", "asha", "successive_halving"})
        for (int epochs = 1; epochs <= 30; epochs += epochs < 10 ? 1 : 5)
            for (int eta = 2; eta <= 5; eta += testing::long_suite() ? 1 : 2) {
                auto const experiment =
                    search_experiment(fmt::format(R"({{"procedure": "{}", "eta": {}, "trials": 30}})", procedure, eta),
                                      space, fmt::format("{{\"epochs\": {}}}", epochs));
                for (std::size_t in_flight : {1U, 2U, 3U, 7U, 50U}) {
                    auto const search = make_search(experiment);
                    FakeDirector director(
                        *search, in_flight,
                        [](TrialId id, auto const&, int) {
                            return std::optional(id.value * 0.37 - std::floor(id.value * 0.37));
                        },
                        in_flight);
                    ASSERT_TRUE(director.run()) << procedure << " " << epochs << " " << eta << " " << in_flight;
                    EXPECT_EQ(director.trials().size(), 30U);
                    EXPECT_GE(director.count_at(epochs), 1U) << "no one reached the end";
                }
            }
}

// The same calls give the same answers, and a trial's failure does not change what others were offered before.
TEST(Search, SameCallsSameAnswers) {
    std::string const space = R"({"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true},
                                  "train.batch_size": [16, 32, 64]})";
    for (auto const* text :
         {R"({"procedure": "bohb", "startup": 5})", R"({"procedure": "asha", "trials": 40, "sampler": "sobol"})",
          R"({"procedure": "pbt"})", R"({"procedure": "tpe", "trials": 30})"}) {
        auto const run = [&] {
            auto const search = make_search(search_experiment(text, space, R"({"epochs": 9})"));
            FakeDirector director(
                *search, 5,
                [](TrialId, FakeDirector::Trial const& trial, int epoch) {
                    return std::optional(std::abs(std::log10(trial.assignment[0].second.number()) + 2) / epoch);
                },
                4);
            EXPECT_TRUE(director.run());
            std::string out;
            for (auto const& each : director.log()) out += each + "\n";
            for (auto const& each : director.trials()) out += to_json(each.assignment).dump() + each.why + "\n";
            return out;
        };
        EXPECT_EQ(run(), run()) << text;
    }
}

}  // namespace properties_test
}  // namespace hopscotch
