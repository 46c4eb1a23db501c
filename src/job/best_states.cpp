// SPDX-License-Identifier: Apache-2.0
#include "job/best_states.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/log.hpp"
#include "direct/trial_view.hpp"
#include "job/best_model.hpp"
#include "job/catch_up.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepared_run.hpp"
#include "job/recorder.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/summary.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch {
namespace {

LapId best_of(TrialSummary const& trial) { return {trial.id, trial.tally.best->epoch}; }
TrialSummary const& best_trial(Summary const& summary) { return summary.trials[summary.result.best_trial->index()]; }

}  // namespace

BestStates::BestStates(PreparedRun const& prepared, Recorder& recorder, Pump& pump, CatchUp* catch_up, Waiting waiting)
    : prepared_(prepared), recorder_(recorder), pump_(pump), catch_up_(catch_up), waiting_(std::move(waiting)) {}

void BestStates::lap_done(LapRecord const& record) {
    homes_[record.trial] = record.home;
    here_.insert(record.id());
}

// best/ is of an earlier job, and the run has found nothing better since.
bool BestStates::is_kept(LapId best) const {
    return prepared_.inputs.earlier && prepared_.inputs.earlier->kept.of_run == best;
}

// The lap that gave the best state, and the trainer that has the state or its file.
std::optional<std::pair<Lap, TrainerId>> BestStates::best_lap(Summary const& summary) {
    auto const best = best_of(best_trial(summary));
    Lap lap;
    lap.trial = best.trial;
    lap.epoch = best.epoch;
    lap.assignment = prepared_.trials()[best.trial.index()].assignment;
    if (auto const* file = file_of_best(best)) {
        lap.from = file->file;
        lap.from_hash = file->state_hash;
        return std::pair(lap, prepared_.owners_of_files().of(ShardId(0)));
    }
    if (prepared_.inputs.experiment.search.copies.count() > 1 || !homes_.contains(best.trial)) return std::nullopt;
    return std::pair(lap, homes_.at(best.trial));
}

std::optional<Metrics> BestStates::test(Summary const& summary) {
    if (!summary.result.best_trial || waiting_.stops() || prepared_.inputs.manifest.test.empty()) return std::nullopt;
    auto const best = best_of(best_trial(summary));
    if (is_kept(best)) return test_from_json(prepared_.inputs.earlier->facts.test);
    auto const lap = best_lap(summary);
    if (!lap) return std::nullopt;
    pump_.dispatcher().score_best(lap->first, lap->second);
    while (!test_record_ && !waiting_.stops()) waiting_.hear(0.1);
    if (!test_record_) return std::nullopt;
    if (test_record_->outcome != Outcome::finished) {
        log_warning(
            fmt::format("trial {} could not be scored on the test shards: {}", best.trial.value, test_record_->reason));
        return std::nullopt;
    }
    auto metrics = metrics_of(*test_record_, prepared_.trials()[best.trial.index()].config->train.loss);
    metrics.rows = test_record_->valid.rows;
    return metrics;
}

Json BestStates::analyse(Summary const& summary) {
    auto const& manifest = prepared_.inputs.manifest;
    bool const nothing_to_learn = manifest.valid.empty() || manifest.task == Task::language || prepared_.inputs.synthetic ||
                                  prepared_.inputs.experiment.search.copies.folds > 1;
    if (!summary.result.best_trial || waiting_.stops() || nothing_to_learn) return {};
    auto const id = best_of(best_trial(summary));
    if (is_kept(id) && !prepared_.inputs.earlier->kept.errors.is_null()) return prepared_.inputs.earlier->kept.errors;
    auto const lap = is_kept(id) ? std::nullopt : best_lap(summary);
    if (!lap) return {};
    fault_point("end.errors");
    pump_.dispatcher().analyse_best(lap->first, lap->second);
    while (!errors_ && !waiting_.stops()) waiting_.hear(0.1);
    if (!errors_ || errors_->empty()) return {};
    auto errors = parse_json_or_throw(*errors_, "errors on the validation rows");
    try {
        write_errors(make_folders(prepared_.inputs.experiment.run.dir, "best"), id, errors);
    } catch (IoError const& error) {  // the model is written: a failure of its errors file must not fail the job
        log_warning(fmt::format("best/validation.json is left out: {}", error.what()));
    }
    return errors;
}

// The state comes from the trainer that validated that epoch, or from the file of an earlier job.
void BestStates::write(Summary const& summary, std::optional<Metrics> const& test) {
    if (!summary.result.best_trial || waiting_.stops()) return;
    recorder_.stop_if_replaced();
    fault_point("end.best");
    auto const& best = best_trial(summary);
    if (is_kept(best_of(best))) return;
    auto const state = state_of(best_of(best));
    if (!state && waiting_.stops()) return;
    if (!state)
        return log_warning(
            fmt::format("trial {}: its best state has not reached the disk; best/ is left out", best.id.value));
    write_best_model(prepared_, make_folders(prepared_.inputs.experiment.run.dir, "best"),
                     {prepared_.trials()[best.id.index()], *best.tally.best, state.bytes(), test ? &*test : nullptr});
}

void BestStates::write_each(Summary const& summary) {
    auto const until_s = monotonic_s() + prepared_.inputs.experiment.run.limits.deadline_s;
    for (auto const& each : summary.trials) {
        if (!each.tally.best) continue;
        if (prepared_.inputs.earlier && prepared_.inputs.earlier->kept.of_trials.contains(best_of(each))) continue;
        auto const* saved = await_file_after(best_of(each), until_s);
        if (waiting_.stops()) return;
        if (saved == nullptr) {
            log_warning(fmt::format("trial {}: its best state has not reached the disk; best/trial-{} is left out",
                                    each.id.value, each.id.value));
            continue;
        }
        recorder_.stop_if_replaced();
        auto const state = state_in(*saved);
        write_best_model(prepared_,
                         make_folders(prepared_.inputs.experiment.run.dir, fmt::format("best/trial-{}", each.id.value)),
                         {prepared_.trials()[each.id.index()], *each.tally.best, state.bytes(), nullptr});
    }
}

// The file of the best state, if an earlier job saved it, or if the trial has copies: trainers cannot know which state of a
// group will be the best.
SavedState const* BestStates::file_of_best(LapId best) {
    if (prepared_.inputs.experiment.search.copies.count() > 1)
        return await_file_after(best, monotonic_s() + prepared_.inputs.experiment.run.limits.deadline_s);
    return catch_up_ != nullptr && !here_.contains(best) ? catch_up_->file_after(best.trial, best.epoch) : nullptr;
}

Buffer BestStates::state_of(LapId best) {
    if (auto const* saved = file_of_best(best)) return state_in(*saved);
    if (prepared_.inputs.experiment.search.copies.count() > 1 || !homes_.contains(best.trial)) return {};
    return fetch(best, homes_.at(best.trial));
}

Buffer BestStates::fetch(LapId best, TrainerId home) {
    auto const deadline_s = prepared_.inputs.experiment.run.limits.deadline_s;
    auto const until_s = monotonic_s() + deadline_s;
    pump_.dispatcher().fetch_best(best, home);
    while (!fetched_ && !waiting_.stops()) {
        if (monotonic_s() >= until_s)
            throw CommError(fmt::format("rank {} did not send the best model of trial {} within {:.0f} s",
                                        rank_of(home).value, best.trial.value, deadline_s));
        waiting_.hear(0.1);
    }
    return fetched_ ? std::move(*fetched_) : Buffer{};
}

Buffer BestStates::state_in(SavedState const& saved) {
    CheckpointFile const file((std::filesystem::path(prepared_.inputs.experiment.run.dir) / saved.file).string());
    if (saved.state_hash != 0 && file.about().state_hash != saved.state_hash)
        throw DataError(fmt::format("{}: its state differs from the journal's", saved.file));
    auto state = pump_.courier().pool().acquire(file.state_bytes());
    file.read_state(state.bytes());
    return state;
}

SavedState const* BestStates::await_file_after(LapId lap, double until_s) {
    while (true) {
        if (auto const* saved = recorder_.shelf().file_after(lap.trial, lap.epoch);
            saved != nullptr || monotonic_s() >= until_s || waiting_.stops())
            return saved;
        waiting_.hear(0.05);
    }
}

}  // namespace hopscotch
