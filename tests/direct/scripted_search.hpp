// SPDX-License-Identifier: Apache-2.0
// A search that says what it is told to, and a director with it, for tests of one word at a time.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "direct/toy_experiment.hpp"
#include "search/search.hpp"

namespace hopscotch {

using Kind = Verdict::Kind;

inline Verdict verdict(Kind kind, int until = 0, LapId source = {}) {
    Verdict out;
    out.kind = kind;
    out.until_epoch = until;
    out.source = source.trial;
    out.source_epoch = source.epoch;
    out.assignment = {{"model.cost", 7}};
    out.why = "because";
    return out;
}

// Says what it is told to, and remembers what it heard.
struct Script : Search {
    std::map<LapId, Verdict> verdicts;             // others: go on, which is the end at a decision point
    std::vector<std::pair<TrialId, int>> resumes;  // offered as soon as the trial is paused
    std::int64_t trials = 1, started = 0;
    int until = 1;
    bool may_clone = false, says_finished = false;
    std::string heard;
    std::set<TrialId> paused;
    std::map<LapId, std::vector<Ended>> ends;  // by the report after which they are ended
    std::vector<Ended> ended;

    std::optional<Proposal> next() override {
        for (auto at = resumes.begin(); at != resumes.end(); ++at) {
            if (!paused.contains(at->first)) continue;
            Proposal const out{Proposal::Kind::resume, at->first, {}, at->second};
            resumes.erase(at);
            paused.erase(out.trial);
            return out;
        }
        if (started == trials) return std::nullopt;
        return Proposal{Proposal::Kind::start, TrialId(started++), {{"model.cost", 1}}, until};
    }
    Verdict report(Report const& report) override {
        heard += fmt::format("{}:{}={} ", report.trial.value, report.epoch,
                             report.loss ? fmt::format("{}", *report.loss) : "none");
        if (auto const end = ends.find({report.trial, report.epoch}); end != ends.end()) ended = end->second;
        auto const found = verdicts.find({report.trial, report.epoch});
        if (found == verdicts.end()) return {};
        if (found->second.kind == Kind::pause) paused.insert(report.trial);
        return found->second;
    }
    bool finished() const override { return says_finished && started == trials && resumes.empty(); }
    std::vector<Ended> take_ended() override { return std::exchange(ended, {}); }
    bool clones() const override { return may_clone; }
};

struct Stage {
    explicit Stage(Script script, int epochs = 9, DirectorOptions options = {}, std::string const& more = "") {
        auto made = std::make_unique<Script>(std::move(script));
        search = made.get();
        if (!options.unit_cost) options.unit_cost = [](TrialView const&) { return 1.0; };
        director = make_director(toy_experiment(epochs, more), std::move(made), options);
    }
    std::string released() {
        std::string out;
        for (auto const& lap : director->release())
            out += fmt::format("{}:{}{} ", lap.trial.value, lap.epoch,
                               lap.clone_of ? fmt::format("<{}:{}", lap.clone_of->trial.value, lap.clone_of->epoch) : "");
        return out;
    }
    void ordered(int trial, int epoch, Order order) { orders.push_back(std::move(order)), done(trial, epoch); }
    void done(int trial, int epoch, double loss = 0.5, Outcome outcome = Outcome::finished) {
        LapRecord record;
        record.trial = TrialId(trial);
        record.epoch = epoch;
        record.outcome = outcome;
        record.reason = "so it was";
        record.valid.rows = 1;
        record.valid.loss = loss;
        record.orders = std::exchange(orders, {});
        director->record(record);
    }
    std::string decisions() {
        std::string out;
        for (auto const& each : director->take_decisions())
            out += fmt::format("{} {}:{} ", name_of(each.kind), each.trial.value, each.epoch);
        return out;
    }
    std::string free_states() {
        std::string out;
        for (auto const& each : director->take_releases()) out += fmt::format("{}:{} ", each.trial.value, each.epoch);
        return out;
    }
    TrialView const& trial(int id) const { return director->trials().at(static_cast<std::size_t>(id)); }
    TrialStatus status(int id) const { return trial(id).status; }

    std::vector<Order> orders;  // that come with the next lap
    Script* search = nullptr;
    std::unique_ptr<Director> director;
};

inline DirectorOptions options(int shards, std::int64_t in_flight, double lookahead) {
    DirectorOptions out;
    out.shards = shards;
    out.in_flight = in_flight;
    out.lookahead = lookahead;
    return out;
}

}  // namespace hopscotch
