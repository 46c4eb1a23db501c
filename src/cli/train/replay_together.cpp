// SPDX-License-Identifier: Apache-2.0
#include "cli/train/replay_together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "comm/courier.hpp"
#include "comm/thread_world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/scratch_directory.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "experiment/reader.hpp"
#include "job/build_info.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/journal.hpp"
#include "schedule/visit.hpp"
#include "strategy/build_info.hpp"
#include "strategy/common/checkpoint_target.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/lap_sink.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/trainer_main.hpp"

namespace hopscotch {
namespace {

// Compares each lap with the journal's; a trial's first difference is the cause of all that follow.
class RecordedLaps : public LapSink {
public:
    explicit RecordedLaps(std::map<LapId, LapRecord const*> recorded) : recorded_(std::move(recorded)) {}

    void lap_done(LapRecord record) override {
        auto const& wanted = *recorded_.at({record.trial, record.epoch});
        ++out.laps;
        if (record.outcome != Outcome::finished) ended.insert(record.trial);
        if (record.outcome == Outcome::finished && record.state.hash == wanted.state.hash) return;
        if (!different_.insert(record.trial).second) return;
        out.differences.push_back(fmt::format("trial {}, epoch {}: journal {}, replayed {}{}", record.trial.value,
                                              record.epoch, to_hex(wanted.state.hash), to_hex(record.state.hash),
                                              record.reason.empty() ? "" : "; " + record.reason));
    }

    void saved(SavedState const& saved) override {
        if (!saved.file.empty()) files[{saved.trial, saved.epoch - 1}] = saved.file;
    }

    ReplayedLaps out;
    std::map<LapId, std::string> files;  // of ends of laps
    std::set<TrialId> ended;             // by failing or diverging, which they did not do when they were recorded

private:
    std::map<LapId, LapRecord const*> recorded_;
    std::set<TrialId> different_;
};

void check_generator(Experiment const& experiment, Journal const& journal) {
    auto const schema = schema_of(read_manifest(experiment.data.path));
    for (auto const& [trial, assignment] : journal.assignments) {
        auto const config = resolve(experiment, assignment, "trial");
        if (draws_from_torch(config.model, schema))
            throw ConfigError(fmt::format(
                "{}: a run of several trainers with this {} cannot be replayed in one process (the model draws from "
                "torch's own random generator, which the whole process shares)",
                config.model.file, config.model.name));
    }
}

// On rank 0. The states with which clones begin go through files, as in the run.
class TogetherAgain {
public:
    TogetherAgain(Experiment const& experiment, Journal const& journal, std::set<TrialId> const& trials)
        : experiment_(experiment), released_(released_laps(journal)) {
        std::map<LapId, LapRecord const*> recorded;
        for (auto const* record : laps_that_count(journal)) {
            if (record->outcome != Outcome::finished || !trials.contains(record->trial)) continue;
            recorded[{record->trial, record->epoch}] = record;
            laps_.push_back({record->trial, record->epoch});
            ++left_[record->trial];
            if (auto const& source = released_.at(laps_.back())->clone_of) sources_.insert(*source);
        }
        comparison_.emplace(std::move(recorded));
    }

    void train(Courier& courier, OwnerTable const& owners) {
        CheckpointTarget const target{files_.path(), "replay", 1, std::numeric_limits<double>::infinity(), 0};
        std::filesystem::create_directories(files_.path() / "checkpoints");
        Welcome welcome{experiment_.document.dump(), experiment_.strategy.name, owners, 0};
        if (!sources_.empty()) welcome.checkpoints = target;
        std::vector<std::string> hosts;
        auto const hellos = value_or_refuse(call_roll(courier, welcome, build_info(), experiment_.run));
        refuse_several_gpus(courier.world(), hellos);
        for (auto const& [rank, hello] : hellos) hosts.push_back(hello.host);
        Pump pump(courier, hosts, experiment_.run.limits.stall_s,
                  strategy_named(experiment_.strategy.name).make_dispatcher({courier, experiment_, owners}));
        auto& dispatcher = pump.dispatcher();
        for (auto const& id : laps_) {
            if (comparison_->ended.contains(id.trial)) continue;
            if (sources_.contains(id)) dispatcher.keep_end(id);
            auto const lap = as_released(id, pump);
            dispatcher.execute(lap);
            for (auto const done = comparison_->out.laps; comparison_->out.laps == done;) refuse(pump.take(*comparison_, 1));
            if (--left_[id.trial] == 0) dispatcher.forget(id.trial);
        }
        end_job(courier, 0, experiment_.run.limits.deadline_s);
        say_farewell(courier);
    }

    ReplayedLaps take() { return std::move(comparison_->out); }

private:
    Lap as_released(LapId const& id, Pump& pump) {
        Lap lap;
        lap.trial = id.trial;
        lap.epoch = id.epoch;
        lap.assignment = released_.at(id)->assignment;
        lap.clone_of = released_.at(id)->clone_of;
        lap.route = released_.at(id)->route;
        if (!lap.clone_of) return lap;
        require(std::ranges::find(laps_, *lap.clone_of) != laps_.end(), "a clone began with a state that no lap has left");
        auto const deadline_s = monotonic_s() + experiment_.run.limits.deadline_s;
        while (!comparison_->files.contains(*lap.clone_of)) {
            if (monotonic_s() > deadline_s)
                throw CommError(fmt::format(
                    "the state of trial {} after epoch {}, with which trial {} begins, was not written within {:.0f} s; "
                    "run.deadline_s sets this limit",
                    lap.clone_of->trial.value, lap.clone_of->epoch, id.trial.value, experiment_.run.limits.deadline_s));
            refuse(pump.take(*comparison_, 0.1));
        }
        lap.from = comparison_->files.at(*lap.clone_of);
        return lap;
    }

    Experiment const& experiment_;
    std::map<LapId, Lap const*> released_;
    std::vector<LapId> laps_;
    std::map<TrialId, int> left_;
    std::set<LapId> sources_;  // clones begin with their ends
    std::optional<RecordedLaps> comparison_;
    ScratchDirectory files_;
};

}  // namespace

ReplayedLaps replay_together(Experiment const& experiment, Journal const& journal, OwnerTable const& owners,
                             std::set<TrialId> const& trials) {
    check_generator(experiment, journal);
    TogetherAgain again(experiment, journal, trials);
    run_thread_ranks(owners.trainers + 1, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, build_info());
        Courier courier(world, {.deadline_s = experiment.run.limits.deadline_s});
        again.train(courier, owners);
    });
    return again.take();
}

}  // namespace hopscotch
