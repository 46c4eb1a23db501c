// SPDX-License-Identifier: Apache-2.0
// What a search procedure with rungs decided at each.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiment/procedures.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_rungs = 200;

// A decision's place in the procedure: "bracket 1" of "bracket 1, rung 0 (3 epochs): rank 2 of 2 so far".
std::string bracket_in(std::string const& why) {
    auto const rung = why.find("rung ");
    return rung == why.npos || rung < 2 ? "" : cut_text(why.substr(0, rung - 2), 60);
}

struct RungCounts {
    int decided = 0, went_on = 0, ended = 0, paused = 0;
};

using Rungs = std::map<std::pair<std::string, int>, RungCounts>;  // by bracket and epochs

Rungs rungs_of(Journal const& journal) {
    Rungs out;
    std::map<TrialId, std::pair<std::string, int>> waiting;  // paused at this rung
    std::map<TrialId, std::string> bracket;                  // the end of a trial does not name it
    for (auto const& decision : journal.decisions) {
        using Kind = Decision::Kind;
        if (decision.kind == Kind::start || decision.kind == Kind::clone) continue;
        if (auto const named = bracket_in(decision.why); !named.empty()) bracket[decision.trial] = named;
        auto const key = std::pair(bracket[decision.trial], decision.epoch + 1);
        if (decision.kind == Kind::resume) {
            if (auto const at = waiting.find(decision.trial); at != waiting.end()) {
                --out[at->second].paused;
                ++out[at->second].went_on;
                waiting.erase(at);
            }
            continue;
        }
        auto const known = waiting.find(decision.trial);
        if (decision.kind == Kind::stop && known != waiting.end()) {
            --out[known->second].paused;
            ++out[known->second].ended;
            waiting.erase(known);
            continue;
        }
        auto& counts = out[key];
        ++counts.decided;
        counts.went_on += decision.kind == Kind::go_on ? 1 : 0;
        counts.ended += decision.kind == Kind::stop || decision.kind == Kind::finish ? 1 : 0;
        if (decision.kind != Kind::pause) continue;
        ++counts.paused;
        waiting[decision.trial] = key;
    }
    return out;
}

std::string rung_table(Rungs const& rungs) {
    using enum HtmlTable::Kind;
    bool const brackets = std::ranges::any_of(rungs, [](auto const& each) { return !each.first.first.empty(); });
    std::vector<HtmlTable::Column> columns;
    if (brackets) columns.push_back({"bracket"});
    for (auto const* name : {"after epochs", "trials", "went on", "waiting", "ended"}) columns.push_back({name, numbers});
    HtmlTable table(columns);
    std::size_t rows = 0;
    for (auto const& [key, counts] : rungs) {
        if (++rows > k_most_rungs) break;
        table.begin_row();
        if (brackets) table.words(key.first.empty() ? "without rungs" : key.first);
        for (int const count : {key.second, counts.decided, counts.went_on, counts.paused, counts.ended}) table.count(count);
    }
    return std::move(table).take();
}

}  // namespace

bool has_rungs(RunResults const& data) {
    auto const& procedure = procedure_traits(data.run.experiment.search.procedure);
    return procedure.has_rule && !procedure.clones && !data.run.journal.decisions.empty();
}

std::string rungs_section(RunResults const& data) { return has_rungs(data) ? rung_table(rungs_of(data.run.journal)) : ""; }

}  // namespace hopscotch
