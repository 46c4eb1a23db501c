// SPDX-License-Identifier: Apache-2.0
// The best states at the end of an attempt: fetched, scored on the test shards, written.
#include <fmt/format.h>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/fault.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "job/attempt.hpp"
#include "job/best_model.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepare.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/summary.hpp"
#include "schedule/trial_view.hpp"
#include "strategy/common/dispatcher.hpp"

namespace hopscotch {
namespace {

// best/ is of an earlier job, and the run has found nothing better since.
bool is_kept(PreparedRun const& prepared, LapId best) { return prepared.earlier && prepared.earlier->kept.of_run == best; }

}  // namespace

// The lap that gave the best state, and the trainer that has the state or its file.
std::optional<std::pair<Lap, TrainerId>> Attempt::best_lap(Summary const& summary) {
    auto const& best = summary.trials[summary.best_trial->index()];
    Lap lap;
    lap.trial = best.id;
    lap.epoch = best.tally.best->epoch;
    lap.assignment = director_.trials()[best.id.index()].assignment;
    if (auto const* file = file_of_best(lap.trial, lap.epoch)) {
        lap.from = file->file;
        lap.from_hash = file->state_hash;
        return std::pair(lap, facts_.owners.of(ShardId(0)));
    }
    if (prepared_.experiment.search.copies() > 1 || !homes_.contains(best.id)) return std::nullopt;
    return std::pair(lap, homes_.at(best.id));
}

std::optional<Metrics> Attempt::test_best(Summary const& summary) {
    if (!summary.best_trial || signal_caught() != 0 || prepared_.manifest.test.empty()) return std::nullopt;
    auto const& best = summary.trials[summary.best_trial->index()];
    if (is_kept(prepared_, {best.id, best.tally.best->epoch})) return test_from_json(prepared_.earlier->facts.test);
    auto const lap = best_lap(summary);
    if (!lap) return std::nullopt;
    dispatcher_->score_best(lap->first, lap->second);
    while (!test_record_ && signal_caught() == 0) pump_.take(*this, 0.1);
    if (!test_record_) return std::nullopt;
    if (test_record_->outcome != Outcome::finished) {
        log_warning(fmt::format("trial {} could not be scored on the test shards: {}", best.id.value, test_record_->reason));
        return std::nullopt;
    }
    auto metrics = metrics_of(*test_record_, director_.trials()[best.id.index()].loss);
    metrics.rows = test_record_->valid.rows;
    return metrics;
}

Json Attempt::analyse_best(Summary const& summary) {
    auto const& manifest = prepared_.manifest;
    bool const nothing_to_learn = manifest.valid.empty() || manifest.task == Task::language || prepared_.synthetic ||
                                  prepared_.experiment.search.folds > 1;
    if (!summary.best_trial || signal_caught() != 0 || nothing_to_learn) return {};
    auto const& best = summary.trials[summary.best_trial->index()];
    LapId const id{best.id, best.tally.best->epoch};
    if (is_kept(prepared_, id) && !prepared_.earlier->kept.errors.is_null()) return prepared_.earlier->kept.errors;
    auto const lap = is_kept(prepared_, id) ? std::nullopt : best_lap(summary);
    if (!lap) return {};
    fault_point("end.errors");
    dispatcher_->analyse_best(lap->first, lap->second);
    while (!errors_ && signal_caught() == 0) pump_.take(*this, 0.1);
    if (!errors_ || errors_->empty()) return {};
    auto errors = parse_json_or_throw(*errors_, "errors on the validation rows");
    try {
        write_errors(make_folders(directory_.path(), "best"), id, errors);
    } catch (IoError const& error) {  // the model is there: its errors are not worth another job
        log_warning(fmt::format("best/validation.json is left out: {}", error.what()));
    }
    return errors;
}

// The state comes from the trainer that validated that epoch, or from the file of an earlier job.
void Attempt::write_best(Summary const& summary, std::optional<Metrics> const& test) {
    if (!summary.best_trial || signal_caught() != 0) return;
    recorder_.stop_if_replaced();
    fault_point("end.best");
    auto const& best = summary.trials[summary.best_trial->index()];
    auto const& trial = director_.trials()[summary.best_trial->index()];
    if (is_kept(prepared_, {best.id, best.tally.best->epoch})) return;
    auto const state = best_state(best.id, best.tally.best->epoch);
    if (!state && signal_caught() != 0) return;
    if (!state)
        return log_warning(
            fmt::format("trial {}: its best state has not reached the disk; best/ is left out", best.id.value));
    write_best_model(prepared_, make_folders(directory_.path(), "best"),
                     {trial, *best.tally.best, state.bytes(), test ? &*test : nullptr});
}

// The file of the best state, if an earlier job saved it, or if the trial has copies: trainers cannot know which state of a
// group will be the best.
LapSink::Saved const* Attempt::file_of_best(TrialId trial, int epoch) {
    if (prepared_.experiment.search.copies() > 1)
        return await_file_after(trial, epoch, monotonic_s() + prepared_.experiment.run.deadline_s);
    return catch_up_ && !here_.contains({trial, epoch}) ? catch_up_->file_after(trial, epoch) : nullptr;
}

Buffer Attempt::best_state(TrialId trial, int epoch) {
    auto const* saved = file_of_best(trial, epoch);
    bool const kept = prepared_.experiment.search.copies() > 1;
    if (saved == nullptr && kept) return {};
    if (saved == nullptr && !homes_.contains(trial)) return {};
    if (saved == nullptr) return dispatcher_->fetch_best({trial, epoch}, homes_.at(trial));
    return state_in(*saved);
}

Buffer Attempt::state_in(LapSink::Saved const& saved) {
    CheckpointFile const file(directory_.file(saved.file));
    if (saved.state_hash != 0 && file.about().state_hash != saved.state_hash)
        throw DataError(fmt::format("{}: its state differs from the journal's", saved.file));
    auto state = courier_.pool().acquire(file.state_bytes());
    file.read_state(state.bytes());
    return state;
}

LapSink::Saved const* Attempt::await_file_after(TrialId trial, int epoch, double until_s) {
    while (true) {
        if (auto const* saved = recorder_.shelf().file_after(trial, epoch);
            saved != nullptr || monotonic_s() >= until_s || signal_caught() != 0)
            return saved;
        pump_.take(*this, 0.05);
    }
}

void Attempt::write_best_of_trials(Summary const& summary) {
    auto const until_s = monotonic_s() + prepared_.experiment.run.deadline_s;
    for (auto const& each : summary.trials) {
        if (!each.tally.best) continue;
        if (prepared_.earlier && prepared_.earlier->kept.of_trials.contains({each.id, each.tally.best->epoch})) continue;
        auto const* saved = await_file_after(each.id, each.tally.best->epoch, until_s);
        if (signal_caught() != 0) return;
        if (saved == nullptr) {
            log_warning(fmt::format("trial {}: its best state has not reached the disk; best/trial-{} is left out",
                                    each.id.value, each.id.value));
            continue;
        }
        recorder_.stop_if_replaced();
        auto const state = state_in(*saved);
        write_best_model(prepared_, make_folders(directory_.path(), fmt::format("best/trial-{}", each.id.value)),
                         {director_.trials()[each.id.index()], *each.tally.best, state.bytes(), nullptr});
    }
}

}  // namespace hopscotch
