// SPDX-License-Identifier: Apache-2.0
// Prints what decisions in virtual time cost, by look-ahead. Usage: direct_virtual_time_table [SEEDS]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "direct/makespans.hpp"

namespace {

void row(hopscotch::Case const& in, char const* name, int seeds) {
    auto line = fmt::format("| {} {}, {} | {} | {} | {} |", name, in.trainers, in.trials, in.spread, in.error, in.in_flight);
    for (double const lookahead : {0.0, 0.5, 1.0, 2.0, 4.0}) {
        auto const out = compare(in, lookahead, seeds);
        if (lookahead == 0) line += fmt::format(" {:.3f} |", out.by_arrival);
        line += fmt::format(" {:.3f} ({:.3f}) |", out.makespan, out.utilisation);
    }
    std::puts(line.c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
    using hopscotch::Decider;
    int const seeds = count > 1 ? std::atoi(words[1]) : 4;
    std::puts(
        "makespan (utilisation) over decisions by arrival; W = S\n"
        "| procedure W, trials | spread | error | in flight | by arrival: utilisation | D = 0 | 0.5 | 1 | 2 | 4 laps |");
    for (int const trainers : {8, 16})
        for (double const spread : {0.0, 0.5})
            for (double const error : {0.05, 0.2})
                row({Decider::asha, trainers, 15 * trainers, 9, spread, error, 3 * trainers}, "asha", seeds);
    for (int const trainers : {8, 16})
        for (double const spread : {0.0, 0.6}) {
            row({Decider::asha, trainers, 15 * trainers, 9, spread, 0.05, 0}, "asha", seeds);
            row({Decider::dice, trainers, 15 * trainers, 9, spread, 0.05, 0}, "dice", seeds);
            row({Decider::median, trainers, 15 * trainers, 9, spread, 0.05, 0}, "median", seeds);
            row({Decider::median, trainers, 2 * trainers, 9, spread, 0.05, 0}, "median", seeds);
            row({Decider::pbt, trainers, 2 * trainers, 40, spread, 0.05, 0}, "pbt", seeds);
        }
}
