// SPDX-License-Identifier: Apache-2.0
#include "app/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "app/result_text.hpp"
#include "app/run_facts.hpp"
#include "app/running_job.hpp"
#include "app/signals.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "experiment/search_section.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/together/collectives.hpp"

namespace hopscotch {
namespace {

constexpr int k_most_damages = 3;  // a host whose memory fails does so again

void measure_largest_trial(PreparedRun& prepared) {
    Workspace workspace("cpu", 1);
    for (auto const& trial : prepared.director->trials()) {
        auto const model = make_trial_model(prepared.config_of(trial.assignment), prepared.manifest, workspace);
        prepared.state_bytes = std::max<std::uint64_t>(prepared.state_bytes, model->layout().bytes);
        prepared.weight_bytes = std::max<std::uint64_t>(prepared.weight_bytes, model->layout().end_of(Block::parameter));
    }
}

ByteCounts counts_of(std::vector<std::uint64_t> const& bytes) {
    return {static_cast<std::int64_t>(bytes.at(0)), static_cast<std::int64_t>(bytes.at(1)),
            static_cast<std::int64_t>(bytes.at(2)), static_cast<std::int64_t>(bytes.at(3))};
}

RunEnd end_of(JobTotals const& totals) {
    RunEnd end;
    end.bytes = counts_of(totals.bytes);
    for (auto const& bytes : totals.bytes_by_rank) end.bytes_by_rank.push_back(counts_of(bytes));
    end.storage_bytes = static_cast<std::int64_t>(totals.storage_bytes);
    end.staged_bytes = static_cast<std::int64_t>(totals.staged_bytes);
    end.spilled_bytes = static_cast<std::int64_t>(totals.spilled_bytes);
    for (auto const bytes : totals.peak_rss_bytes) end.peak_rss_bytes.push_back(static_cast<std::int64_t>(bytes));
    for (auto const seconds : totals.hop_s) end.hop_s.push_back(static_cast<float>(seconds));
    return end;
}

class Run {
public:
    Run(PreparedRun& prepared, RunOptions options, Courier& courier, double started_s)
        : prepared_(prepared),
          options_(std::move(options)),
          courier_(courier),
          started_s_(started_s),
          earlier_s_(prepared.resumption ? prepared.resumption->journal.seconds : 0),
          incarnation_(prepared.resumption ? prepared.resumption->journal.incarnation + 1 : 1) {}

    // The exit code; nothing if trainers or a state were lost: those that are left have what was theirs, and wait for laps.
    std::optional<int> attempt();
    void go_on();
    void call_roll_of_living();

private:
    void refuse_waiting_backward_passes(std::map<Rank, HostDevice> const& devices) const;
    void choose_collectives_of(std::map<Rank, Hello> const& hellos);
    int work(RunningJob& job);
    void note_damage(StateDamaged const& damaged);
    void regroup(RunningJob& job);
    void pause(RunningJob& job);
    void tell(RunningJob& job, std::exception const& error);
    RunEnd end(RunEnd end, std::string const& failure = "") const;
    void measure_trials(RunEnd& end) const;

    PreparedRun& prepared_;
    RunOptions options_;
    Courier& courier_;
    double started_s_;
    double earlier_s_;  // of earlier jobs
    int incarnation_;
    int damages_ = 0;
};

void Run::call_roll_of_living() {
    auto const& run = prepared_.experiment.run;
    CheckpointTarget const target{std::filesystem::absolute(run.dir), prepared_.run_id, incarnation_, run.checkpoint_every_s,
                                  run.checkpoint_mbps};
    Welcome welcome{prepared_.experiment.document.dump(), prepared_.experiment.strategy.name, prepared_.owners,
                    prepared_.state_bytes, target};
    for (auto const& [path, hash] : prepared_.files) welcome.files.push_back({path, hash});
    auto const hellos = call_roll(courier_, welcome, build_info(), run);
    prepared_.hosts.resize(static_cast<std::size_t>(prepared_.trainers));
    for (auto const& [rank, hello] : hellos) {
        prepared_.hosts[trainer_of(rank).index()] = hello.host;
        if (hello.device.is_gpu()) prepared_.on_gpu = true;
    }
    choose_collectives_of(hellos);
}

// Torch has one thread for the backward passes of all threads on a GPU. Where batch norm waits in it for another trainer,
// that one's backward pass would never come.
void Run::refuse_waiting_backward_passes(std::map<Rank, HostDevice> const& devices) const {
    auto const& strategy = prepared_.experiment.strategy;
    if (strategy.batch_norm != NormStatistics::sync || courier_.world().name() != "threads") return;
    auto const ranks = ranks_of_a_shared_gpu(devices);
    if (!ranks.empty())
        throw ConfigError(fmt::format(
            "strategy.batch_norm \"sync\" does not work for trainers that are threads of one process and share a GPU "
            "(ranks {}; their backward passes wait for each other); start them with mpirun, or use \"local\"",
            fmt::join(ranks, ", ")));
}

// As the trainers will, before anything is trained.
void Run::choose_collectives_of(std::map<Rank, Hello> const& hellos) {
    std::map<Rank, HostDevice> devices;
    for (auto const& [rank, hello] : hellos) devices[rank] = {hello.host, hello.device};
    refuse_waiting_backward_passes(devices);
    auto const choice = choose_collectives(prepared_.experiment, prepared_.owners, devices);
    if (has_collectives(prepared_.experiment.strategy))
        prepared_.collectives = choice.used == Collectives::nccl ? "nccl" : "mpi";
    if (!choice.why.empty()) log_info(fmt::format("sums of the trainers go through host memory, not NCCL: {}", choice.why));
}

std::optional<int> Run::attempt() {
    RunningJob job(prepared_, courier_, options_);
    // Where the bits do not depend on the number of trainers, fewer can go on.
    if (strategy_named(prepared_.experiment.strategy.name).bits == Bits::any_trainers) courier_.peers().survive_losses();
    try {
        try {
            return work(job);
        } catch (TrainerLost const& lost) {
            job.bury(lost);
        } catch (StateDamaged const& damaged) {
            note_damage(damaged);
        } catch (TrialGoesBack const& back) {
            log_warning(back.what());
        }
        regroup(job);
        return std::nullopt;
    } catch (std::exception const& error) {
        tell(job, error);
        throw;
    }
}

// A state that comes damaged costs its trial what it has learned since its last checkpoint, and not the trial.
void Run::note_damage(StateDamaged const& damaged) {
    if (++damages_ > k_most_damages)
        throw CommError(fmt::format("{}; this is the {}th of this job, it ends here: --resume goes on, without those hosts",
                                    damaged.what(), damages_));
    log_warning(fmt::format("{}; the trial goes back to its last checkpoint", damaged.what()));
}

// Until all that are left have left what they were at and answered the roll by the new table: more may be lost meanwhile.
void Run::regroup(RunningJob& job) {
    ++incarnation_;
    while (true) {
        try {
            job.leave_off();
            require_same_files(prepared_);
            return call_roll_of_living();
        } catch (TrainerLost const& lost) {
            job.bury(lost);
        } catch (StateDamaged const& damaged) {
            note_damage(damaged);
        } catch (ConfigError const& error) {
            throw CommError(error.what());  // the job began well
        }
    }
}

void Run::go_on() {
    options_.resume = true;
    options_.overwrite = false;
    prepare_to_go_on(prepared_);
}

int Run::work(RunningJob& job) {
    job.run();
    // The best model is fetched before the trainers leave; what the summary needs from them comes after.
    auto const& trials = prepared_.director->trials();
    auto const so_far = job.recorder().summarise({}, trials);
    // First those that have to reach the disk: while rank 0 fetches the best of all it takes no news of files.
    if (prepared_.experiment.run.keep_best == KeepBest::trial) job.write_best_of_trials(so_far);
    job.write_best(so_far);
    auto const test = job.test_best(so_far);
    if (signal_caught() != 0) pause(job);
    auto totals = end_of(end_job(courier_, 0, prepared_.experiment.run.deadline_s));
    totals.test = test;
    auto const failure = so_far.best_trial ? "" : fmt::format("no trial finished an epoch with a finite {}", so_far.metric);
    auto const summary = job.recorder().finish(end(std::move(totals), failure), trials);
    if (summary.status == RunStatus::failed) log_error(failure);
    if (summary.status == RunStatus::finished) remove_checkpoints(job.directory().path());
    print_result(summary, prepared_.manifest.task, job.directory().path());
    say_farewell(courier_);
    return summary.status == RunStatus::finished ? 0
           : summary.status == RunStatus::failed ? k_exit_failed
                                                 : k_exit_resumable;
}

void Run::pause(RunningJob& job) {
    auto const& trials = prepared_.director->trials();
    // mpirun kills all ranks a second after it passed a signal on: this much must be there by then.
    job.recorder().write_summary_so_far(end({}), trials);
    if (job.pause()) return;
    job.recorder().finish(end({}), trials);
    throw CommError(fmt::format(
        "signal {}: not all trainers were done with their batch and had saved their states within {:.0f} s; what "
        "they learned since the copies before is lost; run.grace_s sets this limit",
        signal_caught(), prepared_.experiment.run.grace_s));
}

void Run::tell(RunningJob& job, std::exception const& error) {
    if (job.recorder().finished()) return;  // the first end is the one to tell
    prepared_.director->interrupt();
    try {
        auto told = end({}, error.what());
        if (is_resumable(error)) told.status = RunStatus::interrupted;
        job.recorder().finish(told, prepared_.director->trials());
    } catch (std::exception const& second) {
        log_error(fmt::format("the run directory is incomplete: {}", second.what()));  // the first error is the one to tell
    }
}

void Run::measure_trials(RunEnd& end) const {
    auto const asked = measure_names();
    auto const& pareto = prepared_.experiment.search.pareto;
    if (std::ranges::find_first_of(pareto, asked) == pareto.end()) return;
    for (auto const& trial : prepared_.director->trials())
        end.measures[trial.id] = prepared_.context.measure(trial.assignment);
}

RunEnd Run::end(RunEnd end, std::string const& failure) const {
    bool const interrupted = signal_caught() != 0;
    end.reason = interrupted       ? fmt::format("signal {}", signal_caught())
                 : failure.empty() ? prepared_.director->finish_reason()
                                   : failure;
    end.status = interrupted ? RunStatus::interrupted : failure.empty() ? RunStatus::finished : RunStatus::failed;
    end.wall_s = earlier_s_ + monotonic_s() - started_s_;
    end.setup_s = prepared_.training_since_s.value_or(monotonic_s()) - started_s_;
    end.synthetic = prepared_.synthetic;
    if (!interrupted) measure_trials(end);  // there is little time after a signal
    end.weight_bytes = static_cast<std::int64_t>(prepared_.weight_bytes);
    return end;
}

}  // namespace

int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s) {
    catch_signals();
    Courier courier(world, {.deadline_s = prepared.experiment.run.deadline_s});
    measure_largest_trial(prepared);
    if (!prepared.resumption) prepared.run_id = new_run_id();
    if (!options.quiet)
        for (auto const& note : prepared.notes) log_warning(note);
    Run run(prepared, options, courier, started_s);
    try {
        run.call_roll_of_living();
    } catch (ConfigError const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        end_job(courier, k_exit_bad_input, prepared.experiment.run.deadline_s);
        say_farewell(courier);
        return k_exit_bad_input;
    }
    while (true) {
        if (auto const exit_code = run.attempt()) return *exit_code;
        run.go_on();
    }
}

}  // namespace hopscotch
