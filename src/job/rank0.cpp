// SPDX-License-Identifier: Apache-2.0
#include "job/rank0.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "direct/director.hpp"
#include "experiment/measures.hpp"
#include "job/attempt.hpp"
#include "job/call_trainers.hpp"
#include "job/describe_run.hpp"
#include "job/earlier_jobs.hpp"
#include "job/largest_trial.hpp"
#include "job/model_files_of_run.hpp"
#include "job/on_end.hpp"
#include "job/owner_moves.hpp"
#include "job/prepare.hpp"
#include "job/print_result.hpp"
#include "job/recorder.hpp"
#include "job/run_end.hpp"
#include "job/run_meter.hpp"
#include "job/run_options.hpp"
#include "job/run_owners.hpp"
#include "job/storage.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/roll_call.hpp"

namespace hopscotch {
namespace {

constexpr int k_most_damages = 3;  // a host with faulty memory damages states again

ByteCounts counts_of(std::vector<std::uint64_t> const& bytes) {
    return {static_cast<std::int64_t>(bytes.at(0)), static_cast<std::int64_t>(bytes.at(1)),
            static_cast<std::int64_t>(bytes.at(2)), static_cast<std::int64_t>(bytes.at(3))};
}

RunEnd end_of(JobTotals const& totals) {
    RunEnd end;
    end.bytes.sent = counts_of(totals.bytes);
    for (auto const& bytes : totals.bytes_by_rank) end.bytes.sent_by_rank.push_back(counts_of(bytes));
    end.bytes.storage = static_cast<std::int64_t>(totals.storage_bytes);
    end.bytes.staged = static_cast<std::int64_t>(totals.staged_bytes);
    end.bytes.spilled = static_cast<std::int64_t>(totals.spilled_bytes);
    for (auto const bytes : totals.peak_rss_bytes) end.bytes.peak_rss.push_back(static_cast<std::int64_t>(bytes));
    end.hop_s = totals.hop_s;
    return end;
}

class Rank0 {
public:
    Rank0(PreparedRun& prepared, RunOptions options, Courier& courier, double started_s, MakeLivePages const& make_pages)
        : prepared_(prepared),
          options_(std::move(options)),
          courier_(courier),
          started_s_(started_s),
          earlier_s_(prepared.inputs.earlier ? prepared.inputs.earlier->journal.jobs.seconds : 0),
          incarnation_(prepared.inputs.earlier ? prepared.inputs.earlier->journal.jobs.count + 1 : 1),
          moves_(prepared),
          meter_(prepared.shard_files()),
          make_pages_(make_pages) {}

    // One attempt. Returns the exit code; nothing if the job goes on. Then the living trainers own the shards of the lost
    // ones, and wait for laps.
    std::optional<int> attempt();
    void go_on();
    std::optional<Setback> call_trainers();
    void plan_by_speed();  // after the first roll call; may call the roll again

private:
    std::variant<int, AttemptEnd> work(Attempt& job);
    int finish(Attempt& job, Summary const& so_far, std::optional<Metrics> const& test, Json const& errors);
    void before_the_next(Attempt& job, AttemptEnd const& end);
    void change_owners(Attempt& job, OwnersMove const& move);
    void endure(Attempt& job, Setback const& setback);
    void bury(Attempt& job, LostTrainer const& lost);
    void note_damage(DamagedState const& damaged);
    void regroup(Attempt& job);
    std::optional<Setback> call_trainers_again();
    std::optional<Setback> pause(Attempt& job);
    void tell(Attempt& job, std::exception const& error);
    RunEnd end(RunEnd end, std::string const& failure = "") const;
    void tell_people(Summary const& summary);
    void measure_trials(RunEnd& end) const;

    PreparedRun& prepared_;
    RunOptions options_;
    Courier& courier_;
    double started_s_;
    double earlier_s_;  // of earlier jobs
    int incarnation_;
    int damages_ = 0;
    OwnerMoves moves_;
    RunMeter meter_;
    std::map<Rank, Hello> hellos_;
    MakeLivePages const& make_pages_;
    std::unique_ptr<LivePages> pages_;  // from the first attempt on, which makes the run directory
};

void Rank0::plan_by_speed() {
    std::vector<double> speed(static_cast<std::size_t>(prepared_.fleet.trainers));
    for (auto const& [rank, hello] : hellos_) speed[trainer_of(rank).index()] = hello.speed;
    auto better = moves_.after_roll_call(std::move(speed));
    if (!better) return;
    prepared_.fleet.owners = std::move(better->table);
    if (!options_.quiet)
        log_info(fmt::format("the trainers' speeds are {}: shards are dealt out by speed",
                             speeds_text(prepared_.fleet.owners.speed)));
    refuse(call_trainers());
}

std::optional<Setback> Rank0::call_trainers() {
    auto roll = call_living_trainers(prepared_, courier_, incarnation_);
    if (auto* setback = std::get_if<Setback>(&roll)) return std::move(*setback);
    hellos_ = std::get<std::map<Rank, Hello>>(std::move(roll));
    return std::nullopt;
}

std::optional<int> Rank0::attempt() {
    Attempt job(prepared_, courier_, options_,
                {moves_, meter_, [&](RunView view) { pages_->show(std::move(view), job.recorder().journal()); }});
    if (!pages_) pages_ = make_pages_(prepared_.inputs.experiment.run.dir, prepared_.inputs.experiment.run.report_every_s);
    // If the bits do not depend on the number of trainers, the job can continue with fewer trainers. Members of a group wait
    // for each other in the middle of units, so a job with groups ends and is resumed.
    if (!trains_together(prepared_.inputs.experiment.strategy)) courier_.peers().survive_losses();
    try {
        auto const result = work(job);
        if (auto const* exit_code = std::get_if<int>(&result)) return *exit_code;
        before_the_next(job, std::get<AttemptEnd>(result));
        regroup(job);
        return std::nullopt;
    } catch (std::exception const& error) {
        tell(job, error);
        throw;
    }
}

void Rank0::before_the_next(Attempt& job, AttemptEnd const& end) {
    if (auto const* setback = std::get_if<Setback>(&end)) endure(job, *setback);
    if (auto const* back = std::get_if<TrialGoesBack>(&end)) log_warning(back->why);
    if (auto const* move = std::get_if<OwnersMove>(&end)) {
        moves_.moves(monotonic_s());
        change_owners(job, *move);
    }
}

void Rank0::endure(Attempt& job, Setback const& setback) {
    if (auto const* lost = std::get_if<LostTrainer>(&setback)) bury(job, *lost);
    if (auto const* damaged = std::get_if<DamagedState>(&setback)) note_damage(*damaged);
}

void Rank0::change_owners(Attempt& job, OwnersMove const& move) {
    log_info(move.why);
    job.recorder().owners_moved({move.better.table.speed, move.why, unix_s()});
    prepared_.fleet.owners = move.better.table;
}

// The heirs of whole shards would have twice the work of the others, until a lap has ended.
void Rank0::bury(Attempt& job, LostTrainer const& lost) {
    job.bury(lost);
    if (auto const move = moves_.after_loss()) change_owners(job, *move);
}

// A damaged state does not end its trial: the trial goes back to its last checkpoint.
void Rank0::note_damage(DamagedState const& damaged) {
    if (++damages_ > k_most_damages)
        throw CommError(fmt::format(
            "{}; this is damaged state {} of this job, so the job ends; continue with --resume, without those hosts",
            damaged.why, damages_));
    log_warning(fmt::format("{}; the trial goes back to its last checkpoint", damaged.why));
}

// Until all living trainers have left their units and answered the roll call with the new owner table. More may be lost
// meanwhile.
void Rank0::regroup(Attempt& job) {
    ++incarnation_;
    while (true) {
        auto setback = job.leave_off();
        if (!setback) {
            require_same_files(prepared_);
            setback = call_trainers_again();
        }
        if (!setback) return;
        endure(job, *setback);
    }
}

// The job began well: from now on, a complaint of the trainers is not an error of the input.
std::optional<Setback> Rank0::call_trainers_again() {
    try {
        return call_trainers();
    } catch (ConfigError const& error) {
        throw CommError(error.what());
    }
}

void Rank0::go_on() {
    options_.resume = true;
    options_.overwrite = false;
    prepare_to_go_on(prepared_);
}

std::variant<int, AttemptEnd> Rank0::work(Attempt& job) {
    auto end = job.run();
    if (!std::holds_alternative<TrialsEnded>(end) && !std::holds_alternative<SignalCame>(end)) return end;
    // The best model is fetched before the trainers leave. Their numbers for the summary come with their goodbye.
    auto const so_far = job.recorder().summarise({}, prepared_.trials());
    auto& best = job.best();
    if (prepared_.inputs.experiment.run.keep_best == KeepBest::trial) best.write_each(so_far);
    auto const test = best.test(so_far);
    best.write(so_far, test);
    auto const errors = best.analyse(so_far);  // last: an error here loses no model
    if (job.end() && !std::holds_alternative<SignalCame>(*job.end())) return *job.end();
    if (signal_caught() != 0)
        if (auto setback = pause(job)) return AttemptEnd(std::move(*setback));
    return finish(job, so_far, test, errors);
}

int Rank0::finish(Attempt& job, Summary const& so_far, std::optional<Metrics> const& test, Json const& errors) {
    auto const& trials = prepared_.trials();
    auto totals = end_of(end_job(courier_, 0, prepared_.inputs.experiment.run.limits.deadline_s));
    totals.test = test;
    if (auto const* error = errors.find("standard_error"); error != nullptr && error->is_number())
        totals.standard_error = error->number();
    auto const failure =
        so_far.result.best_trial ? "" : fmt::format("no trial finished an epoch with a finite {}", so_far.result.metric);
    auto const summary = job.recorder().finish(end(std::move(totals), failure), trials);
    if (summary.status == RunStatus::failed) log_error(failure);
    if (summary.status == RunStatus::finished) {
        remove_checkpoints(prepared_.inputs.experiment.run.dir);
        job.recorder().complete(summary);
    }
    print_result(summary, prepared_.inputs.manifest.task, prepared_.inputs.experiment.run.dir);
    tell_people(summary);
    say_farewell(courier_);
    return summary.status == RunStatus::finished ? 0
           : summary.status == RunStatus::failed ? k_exit_failed
                                                 : k_exit_resumable;
}

std::optional<Setback> Rank0::pause(Attempt& job) {
    auto const& trials = prepared_.trials();
    // mpirun kills all ranks one second after it passes a signal on. The summary must be written by then.
    job.recorder().write_summary_so_far(end({}), trials);
    auto answers = job.pause();
    if (answers.all || answers.setback) return std::move(answers.setback);
    tell_people(job.recorder().finish(end({}), trials));
    throw CommError(fmt::format(
        "signal {}: not all trainers finished their batch and saved their states within {:.0f} s (training since "
        "their last checkpoints is lost); run.grace_s sets this limit",
        signal_caught(), prepared_.inputs.experiment.run.limits.grace_s));
}

// Everything else has been written. Other ranks wait at most 30 s in MPI_Finalize, so this comes before the farewell.
void Rank0::tell_people(Summary const& summary) {
    auto const page = std::filesystem::path(prepared_.inputs.experiment.run.dir) / "report.html";
    if (pages_->finish(name_of(summary.status))) fmt::print("report: {}\n", page.string());
    run_on_end(prepared_.inputs.experiment.run, summary);
}

void Rank0::tell(Attempt& job, std::exception const& error) {
    if (job.recorder().finished()) return;  // only the first end counts
    prepared_.director->interrupt();
    try {
        auto told = end({}, error.what());
        if (is_resumable(error)) told.status = RunStatus::interrupted;
        tell_people(job.recorder().finish(told, prepared_.trials()));
    } catch (std::exception const& second) {
        log_error(fmt::format("the run directory is incomplete: {}", second.what()));  // only the first error counts
        Summary none;
        none.status = RunStatus::failed;
        run_on_end(prepared_.inputs.experiment.run, none);
    }
}

void Rank0::measure_trials(RunEnd& end) const {
    if (std::ranges::none_of(prepared_.inputs.experiment.search.front.names, is_measure)) return;
    for (auto const& trial : prepared_.trials()) end.measures[trial.id] = prepared_.inputs.context.measure(trial.assignment);
}

RunEnd Rank0::end(RunEnd end, std::string const& failure) const {
    bool const interrupted = signal_caught() != 0;
    end.reason = interrupted       ? fmt::format("signal {}", signal_caught())
                 : failure.empty() ? prepared_.director->finish_reason()
                                   : failure;
    end.status = interrupted ? RunStatus::interrupted : failure.empty() ? RunStatus::finished : RunStatus::failed;
    end.wall_s = earlier_s_ + monotonic_s() - started_s_;
    end.setup_s = meter_.started_s().value_or(monotonic_s()) - started_s_;
    end.synthetic = prepared_.inputs.synthetic;
    if (!interrupted) measure_trials(end);  // after a signal, time is short
    end.bytes.weights = static_cast<std::int64_t>(prepared_.plan.weight_bytes);
    return end;
}

}  // namespace

int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s,
            MakeLivePages const& make_pages) {
    Courier courier(world, {.deadline_s = prepared.inputs.experiment.run.limits.deadline_s});
    auto const largest = largest_trial(prepared);
    prepared.plan.state_bytes = largest.state;
    prepared.plan.weight_bytes = largest.weights;
    if (auto missing = missing_space(prepared, storage_of(prepared, prepared.inputs.experiment.strategy, largest));
        !prepared.inputs.earlier && !missing.empty())
        prepared.notes.warnings.push_back(std::move(missing));
    if (!prepared.inputs.earlier) prepared.inputs.run_id = new_run_id();
    if (!options.quiet)
        for (auto const& note : prepared.notes.warnings) log_warning(note);
    Rank0 rank0(prepared, options, courier, started_s, make_pages);
    try {
        refuse(rank0.call_trainers());
        rank0.plan_by_speed();
    } catch (ConfigError const& error) {
        std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
        end_job(courier, k_exit_bad_input, prepared.inputs.experiment.run.limits.deadline_s);
        say_farewell(courier);
        return k_exit_bad_input;
    }
    for (auto const& fact : {prepared.plan.search.chosen, prepared.notes.known_trials, prepared.notes.routes_and_number})
        if (!options.quiet && !fact.empty()) log_info(fact);
    while (true) {
        if (auto const exit_code = rank0.attempt()) return *exit_code;
        rank0.go_on();
    }
}

}  // namespace hopscotch
