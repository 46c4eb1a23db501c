// SPDX-License-Identifier: Apache-2.0
#include "app/replay_together.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "app/commands.hpp"
#include "comm/thread_world.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"
#include "model/trial_model.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy.hpp"

namespace hopscotch {
namespace {

// Compares each lap with the journal's; a trial's first difference is the cause of all that follow.
class Comparison : public LapSink {
public:
    explicit Comparison(std::map<std::pair<TrialId, int>, LapRecord const*> recorded) : recorded_(std::move(recorded)) {}

    void lap_done(LapRecord const& record) override {
        auto const& wanted = *recorded_.at({record.trial, record.epoch});
        ++out.laps;
        if (record.outcome != Outcome::finished) ended.insert(record.trial);
        if (record.outcome == Outcome::finished && record.state_hash == wanted.state_hash) return;
        if (!different_.insert(record.trial).second) return;
        out.differences.push_back(fmt::format("trial {}, epoch {}: journal {}, replayed {}{}", record.trial.value, record.epoch,
                                              to_hex(wanted.state_hash), to_hex(record.state_hash),
                                              record.reason.empty() ? "" : "; " + record.reason));
    }

    ReplayedLaps out;
    std::set<TrialId> ended;  // by failing or diverging, which they did not do when they were recorded

private:
    std::map<std::pair<TrialId, int>, LapRecord const*> recorded_;
    std::set<TrialId> different_;
};

void check_generator(Experiment const& experiment, Journal const& journal) {
    auto const schema = schema_of(read_manifest(experiment.data.path));
    for (auto const& [trial, assignment] : journal.assignments) {
        Problems problems("trial");
        auto const config = resolve(experiment, assignment, problems);
        problems.throw_if_any();
        if (draws_from_torch(config.model, schema))
            throw ConfigError(
                fmt::format("{}: a run of several trainers with this {} cannot be replayed in one process (the model draws from "
                            "torch's own random generator, which the whole process shares)",
                            config.model.file, config.model.name));
    }
}

}  // namespace

ReplayedLaps replay_together(Experiment const& experiment, Journal const& journal, OwnerTable const& owners,
                             std::set<TrialId> const& trials) {
    check_generator(experiment, journal);
    std::map<std::pair<TrialId, int>, LapRecord const*> recorded;
    std::vector<Lap> laps;
    std::map<TrialId, int> left;
    for (auto const& record : journal.laps) {
        if (record.outcome != Outcome::finished || !trials.contains(record.trial)) continue;
        recorded[{record.trial, record.epoch}] = &record;
        Lap lap;
        lap.trial = record.trial;
        lap.epoch = record.epoch;
        lap.assignment = journal.assignments.at(record.trial);
        ++left[lap.trial];
        laps.push_back(std::move(lap));
    }
    Comparison comparison(recorded);
    run_thread_ranks(owners.trainers + 1, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, build_info());
        auto const deadline_s = experiment.run.deadline_s;
        Courier courier(world, {.deadline_s = deadline_s});
        auto const hellos =
            call_roll(courier, {experiment.document.dump(), experiment.strategy.name, owners, 0}, build_info(), experiment.run);
        std::vector<std::string> hosts;
        for (auto const& [rank, hello] : hellos) hosts.push_back(hello.host);
        auto const strategy = strategy_named(experiment.strategy.name).make({courier, experiment, owners, nullptr});
        Pump pump(courier, hosts, experiment.run.stall_s);
        for (auto const& lap : laps) {
            if (comparison.ended.contains(lap.trial)) continue;
            strategy->execute(lap);
            for (auto const done = comparison.out.laps; comparison.out.laps == done;) pump.take(comparison, 1);
            if (--left[lap.trial] == 0) strategy->forget(lap.trial);
        }
        end_job(courier, 0, deadline_s);
    });
    return std::move(comparison.out);
}

}  // namespace hopscotch
