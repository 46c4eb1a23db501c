// SPDX-License-Identifier: Apache-2.0
// A search as a process, for scripts that have results of their own (tables of known trainings). search_ask EXPERIMENT.json
// reads a command a line, and answers each with a line of JSON:
// - next: {"kind": "start", "trial": 0, "until": 3, "config": {...}}, the same with "resume", or {}: none now
// - report TRIAL EPOCH LOSS METRIC...: {"kind": "go_on", "until": 9, "why": "..."}. Epochs from 0; LOSS is "none" of a trial
// that
//   failed; the metrics are those among search.objectives, lower is better
// - finished: {"finished": true}
// Sizes among search.objectives are not known here.
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "core/file.hpp"
#include "experiment/reader.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

Json to_json(Proposal const& proposal) {
    return Json::object({{"kind", proposal.kind == Proposal::Kind::start ? "start" : "resume"},
                         {"trial", proposal.trial.value},
                         {"until", proposal.until_epoch},
                         {"config", to_json(proposal.assignment)}});
}

Json to_json(Verdict const& verdict) {
    constexpr char const* kinds[] = {"go_on", "stop", "pause", "clone"};
    return Json::object(
        {{"kind", kinds[static_cast<int>(verdict.kind)]}, {"until", verdict.until_epoch}, {"why", verdict.why}});
}

Report read_report(std::istringstream& words) {
    int trial = 0;
    Report out;
    std::string loss;
    words >> trial >> out.epoch >> loss;
    out.trial = TrialId(trial);
    if (loss != "none") out.loss = std::stod(loss);
    for (double metric = 0; words >> metric;) out.metrics.push_back(metric);
    return out;
}

Json answer(Search& search, std::string const& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "report") return to_json(search.report(read_report(words)));
    if (command == "finished") return Json::object({{"finished", search.finished()}});
    auto const proposal = search.next();
    return proposal ? to_json(*proposal) : Json::object({});
}

void run(char const* path) {
    Problems problems(path);
    auto const experiment = read_experiment(read_whole(path), {}, problems);
    problems.throw_if_any();
    auto const search = make_search(experiment);
    for (std::string line; std::getline(std::cin, line);) {
        std::puts(answer(*search, line).dump().c_str());
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace hopscotch

int main(int count, char** arguments) {
    if (count != 2) {
        std::fputs("usage: search_ask EXPERIMENT.json\n", stderr);
        return 2;
    }
    try {
        hopscotch::run(arguments[1]);
        return 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "search_ask: %s\n", error.what());
        return 1;
    }
}
