// SPDX-License-Identifier: Apache-2.0
// The best states at the end of an attempt: fetched, scored on the test shards, written.
#include <fmt/format.h>

#include "app/job/attempt.hpp"
#include "app/job/best_model.hpp"
#include "app/job/earlier_jobs.hpp"
#include "app/job/prepare.hpp"
#include "app/job/signals.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/fault.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "run/checkpoint.hpp"
#include "schedule/director.hpp"
#include "strategy/common/dispatcher.hpp"

namespace hopscotch {
namespace {

// best/ is of an earlier job, and the run has found nothing better since.
bool is_kept(PreparedRun const& prepared, LapId best) { return prepared.earlier && prepared.earlier->kept.of_run == best; }

}  // namespace

BestScores Attempt::score_best(Summary const& summary) {
    auto const& manifest = prepared_.manifest;
    bool const nothing_to_learn = manifest.test.empty() && (manifest.valid.empty() || prepared_.synthetic);
    if (!summary.best_trial || signal_caught() != 0 || nothing_to_learn) return {};
    auto const& best = summary.trials[summary.best_trial->index()];
    if (is_kept(prepared_, {best.id, best.tally.best->epoch}))
        return {test_from_json(prepared_.earlier->facts.test), prepared_.earlier->kept.errors};
    Lap lap;
    lap.trial = best.id;
    lap.epoch = best.tally.best->epoch;
    lap.assignment = director_.trials()[best.id.index()].assignment;
    if (auto const* file = file_of_best(lap.trial, lap.epoch)) {
        lap.from = file->file;
        lap.from_hash = file->state_hash;
    }
    if (lap.from.empty() && prepared_.experiment.search.copies() > 1) return {};
    dispatcher_->score_best(lap, lap.from.empty() ? homes_.at(best.id) : facts_.owners.of(ShardId(0)));
    while (!scored_ && signal_caught() == 0) pump_.take(*this, 0.1);
    if (!scored_) return {};
    auto const& record = scored_->first;
    if (record.outcome != Outcome::finished) {
        log_warning(fmt::format("trial {} could not be scored on the test shards: {}", best.id.value, record.reason));
        return {};
    }
    BestScores out;
    if (!scored_->second.empty()) out.errors = parse_json_or_throw(scored_->second, "errors on the validation rows");
    if (manifest.test.empty()) return out;
    out.test = metrics_of(record, director_.trials()[best.id.index()].loss);
    out.test->rows = record.valid.rows;
    return out;
}

// The state comes from the trainer that validated that epoch, or from the file of an earlier job.
void Attempt::write_best(Summary const& summary, BestScores const& scores) {
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
    auto const folder = make_folders(directory_.path(), "best");
    write_best_model(prepared_, folder, {trial, *best.tally.best, state.bytes(), scores.test ? &*scores.test : nullptr});
    write_errors(folder, {best.id, best.tally.best->epoch}, scores.errors);
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
