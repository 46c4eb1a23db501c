// SPDX-License-Identifier: Apache-2.0
// Functions whose minima are known, as stand-ins for trainings: what a search finds of them, one trial at a time.
#pragma once
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiment/reader.hpp"
#include "search/search.hpp"

namespace hopscotch {

struct TestFunction {
    std::string name;
    std::vector<std::pair<double, double>> bounds;
    double (*value)(std::vector<double> const&);
};

inline double branin(std::vector<double> const& x) {
    constexpr double pi = std::numbers::pi;
    double const b = 5.1 / (4 * pi * pi), c = 5 / pi, t = 1 / (8 * pi);
    double const bend = x[1] - b * x[0] * x[0] + c * x[0] - 6;
    return bend * bend + 10 * (1 - t) * std::cos(x[0]) + 10;
}

inline double hartmann6(std::vector<double> const& x) {
    constexpr std::array<double, 4> alpha{1, 1.2, 3, 3.2};
    constexpr double a[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}};
    constexpr double p[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                {.2329, .4135, .8307, .3736, .1004, .9991},
                                {.2348, .1451, .3522, .2883, .3047, .6650},
                                {.4047, .8828, .8732, .5743, .1091, .0381}};
    double out = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        double inner = 0;
        for (std::size_t j = 0; j < 6; ++j) inner += a[i][j] * (x[j] - p[i][j]) * (x[j] - p[i][j]);
        out -= alpha[i] * std::exp(-inner);
    }
    return out;
}

inline TestFunction const& function_named(std::string const& name) {
    static std::vector<TestFunction> const all{{"branin", {{-5, 10}, {0, 15}}, branin},
                                               {"hartmann6", {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, hartmann6}};
    for (auto const& each : all)
        if (each.name == name) return each;
    throw std::invalid_argument("no function " + name);
}

// How much a trial that has just begun lacks: another ripple for every point, of the size of the function's own range, so
// that early ranks mislead somewhat. scripts/check_against_optuna.py has the same.
inline double shortfall(TestFunction const& function, std::vector<double> const& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        auto const [low, high] = function.bounds[i];
        sum += static_cast<double>(i + 1) * (x[i] - low) / (high - low);
    }
    double const size = function.name == "branin" ? 20 : 1;
    return size * (1 + std::sin(12 * sum)) / 2;
}

struct Found {
    double best = 0;  // f at the best of the configurations that were trained to their end
    int trials = 0;
    std::int64_t epochs = 0;
};

inline constexpr int k_curve_epochs = 27;

// The keys that the function's arguments are called by: any six numbers without bounds of their own do. tpe-alone: tpe, one
// density a key, as Optuna does by default.
inline Experiment experiment_for(TestFunction const& function, std::string const& procedure, int evaluations, int seed) {
    static std::vector<std::string> const keys{"model.a", "model.b", "model.c", "model.d", "model.e", "model.f"};
    bool const rungs = procedure == "hyperband" || procedure == "bohb";
    std::string space;
    for (std::size_t i = 0; i < function.bounds.size(); ++i)
        space += (i == 0 ? "\"" : ", \"") + keys[i] + R"(": {"type": "float", "low": )" +
                 std::to_string(function.bounds[i].first) + R"(, "high": )" + std::to_string(function.bounds[i].second) +
                 "}";
    auto const limit = rungs ? R"("budget": {"epochs": )" + std::to_string(evaluations) + "}"
                             : R"("trials": )" + std::to_string(evaluations);
    bool const alone = procedure == "tpe-alone";
    Problems problems("function");
    auto out = read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "seed": )" +
                                   std::to_string(seed) + R"(, "train": {"epochs": )" +
                                   std::to_string(rungs ? k_curve_epochs : 1) + R"(}, "search": {"procedure": ")" +
                                   (alone ? R"(tpe", "multivariate": false)" : procedure + "\"") +
                                   R"(, "metric": "val_loss", )" + limit + R"(}, "space": {)" + space + "}}",
                               {}, problems);
    problems.throw_if_any();
    return out;
}

inline std::vector<double> numbers_of(Assignment const& assignment) {
    std::vector<double> out;
    for (auto const& [path, value] : assignment) out.push_back(value.number());
    return out;
}

// Sequentially: every trial is trained to its decision before the search is asked again.
inline Found minimise(TestFunction const& function, std::string const& procedure, int evaluations, int seed) {
    auto const experiment = experiment_for(function, procedure, evaluations, seed);
    int const longest = experiment.train.epochs;
    auto const search = make_search(experiment);
    Found out;
    out.best = INFINITY;
    std::vector<std::vector<double>> points;
    std::vector<int> epochs;
    while (auto const proposal = search->next()) {
        auto const trial = proposal->trial.index();
        if (proposal->kind == Proposal::Kind::start) {
            points.push_back(numbers_of(proposal->assignment));
            epochs.push_back(0);
            ++out.trials;
        }
        double const value = function.value(points[trial]);
        for (int until = proposal->until_epoch; epochs[trial] < until;) {
            double const lacks = 1 - static_cast<double>(++epochs[trial]) / longest;
            ++out.epochs;
            auto const verdict =
                search->report({proposal->trial, epochs[trial] - 1, value + lacks * shortfall(function, points[trial])});
            if (epochs[trial] == until && verdict.kind == Verdict::Kind::go_on) until = verdict.until_epoch;
        }
        if (epochs[trial] == longest) out.best = std::min(out.best, value);
    }
    return out;
}

}  // namespace hopscotch
