// SPDX-License-Identifier: Apache-2.0
// One search of a known function, for scripts/check_against_optuna.py: a JSON line a seed with the best value that was
// found.
//   search_driver PROCEDURE FUNCTION EVALUATIONS FIRST_SEED SEEDS     evaluations: of hyperband and bohb: epochs, of 27 at
//   most a trial
// The curve of a trial after epoch r of R is f(x) + (1 - r/R) * g(x): see shortfall() in functions.hpp.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "functions.hpp"

namespace hopscotch {
namespace {

int run(std::vector<std::string> const& arguments) {
    if (arguments.size() != 6) {
        std::fputs("search_driver PROCEDURE branin|hartmann6 EVALUATIONS FIRST_SEED SEEDS\n", stderr);
        return 2;
    }
    auto const& function = function_named(arguments[2]);
    int const first = std::stoi(arguments[4]);
    for (int seed = first; seed < first + std::stoi(arguments[5]); ++seed) {
        auto const found = minimise(function, arguments[1], std::stoi(arguments[3]), seed);
        fmt::print(R"({{"procedure": "{}", "function": "{}", "seed": {}, "best": {:.17g}, "trials": {}, "epochs": {}}})"
                   "\n",
                   arguments[1], function.name, seed, found.best, found.trials, found.epochs);
    }
    return 0;
}

}  // namespace
}  // namespace hopscotch

int main(int count, char** arguments) {
    try {
        return hopscotch::run({arguments, arguments + count});
    } catch (std::exception const& error) {
        std::fprintf(stderr, "search_driver: %s\n", error.what());
        return 1;
    }
}
