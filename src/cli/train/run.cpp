// SPDX-License-Identifier: Apache-2.0
// hopscotch run: starts the ranks, as MPI processes or as threads of this process. Rank 0 continues in job/rank0.hpp.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "analysis/plan/group_choice.hpp"
#include "analysis/plan/print_plan.hpp"
#include "cli/common/commands.hpp"
#include "cli/common/launch.hpp"
#include "comm/announcement.hpp"
#include "comm/courier.hpp"
#include "comm/mpi_world.hpp"
#include "comm/shared_world.hpp"
#include "comm/thread_world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "job/build_info.hpp"
#include "job/check_trials.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepare.hpp"
#include "job/rank0.hpp"
#include "job/run_options.hpp"
#include "report/live_report.hpp"
#include "rundir/summary.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/trainer_main.hpp"

namespace hopscotch {
namespace {

// How long a trainer waits for a sign of rank 0 before it knows the experiment. HOPSCOTCH_START_DEADLINE_S changes it.
double start_deadline_s() {
    auto const* text = std::getenv("HOPSCOTCH_START_DEADLINE_S");
    if (text == nullptr) return CourierOptions{}.deadline_s;
    char* end = nullptr;
    auto const out = std::strtod(text, &end);
    if (*text == 0 || *end != 0 || !(out > 0 && out <= 1e9))
        throw ConfigError(
            fmt::format("HOPSCOTCH_START_DEADLINE_S: \"{}\" is not a number of seconds (above 0, at most 1e9)", text));
    return out;
}

struct Start {
    double at_s = 0;  // of this process
    double deadline_s = 0;
};

// Bad input on rank 0: ends the trainers, which wait for a Welcome.
int dismiss(World& world, int exit_code) {
    announce(world, false);
    Courier courier(world, {});
    end_job(courier, exit_code, CourierOptions{}.deadline_s);
    say_farewell(courier);
    return exit_code;
}

// strategy.group_size "auto" in a new run.
ChosenGroups chosen_groups(PreparedRun const& prepared) {
    auto const choice = choose_groups(prepared);
    if (!choice) return {1, "strategy.group_size auto is 1: no group is known to be a tenth faster"};
    return {choice->group_size, "strategy.group_size auto: " + text_of(*choice, prepared)};
}

PreparedRun prepare_for_mpi(RunOptions const& options, int processes) {
    auto const trainers_of = [&](RunConfig const& run) {
        int const schedulers = run.scheduler == SchedulerPlacement::dedicated ? 1 : 0;
        int const trainers = processes - schedulers;
        if (options.trainers && *options.trainers != trainers)
            throw ConfigError(fmt::format(
                "--trainers {} under a launcher with {} processes ({}); leave --trainers out, or start {} processes",
                *options.trainers, processes, schedulers == 1 ? "rank 0 schedules, the others train" : "all of them train",
                *options.trainers + schedulers));
        return trainers;
    };
    return prepare_run(options, trainers_of, chosen_groups);
}

// --resume of a run that has finished: does the rest of the work that its killed job had left.
bool told_finished(PreparedRun const& prepared) {
    auto const& dir = prepared.inputs.experiment.run.dir;
    if (!prepared.inputs.earlier || prepared.inputs.earlier->extends) return false;
    if (prepared.inputs.earlier->journal.end.status != name_of(RunStatus::finished)) return false;
    if (status_of(dir) != name_of(RunStatus::finished)) return false;
    remove_checkpoints(dir);
    complete_report(dir);
    fmt::print("{}: this run has finished; nothing is left to do\n", dir);
    return true;
}

// The trainer beside the scheduler is a thread. If the trainer is lost, or the job fails, the thread is not joined: the
// process ends.
int schedule_and_train(MpiWorld& world, PreparedRun prepared, RunOptions const& options, double started_s) {
    auto const job = std::make_shared<SharedJob>(world);
    std::thread trainer([job] { trainer_main(job->trainer(), build_info()); });
    try {
        auto const exit_code = run_job(job->world(), std::move(prepared), options, started_s, live_report);
        if (world.whole())
            trainer.join();
        else
            trainer.detach();
        return exit_code;
    } catch (...) {
        trainer.detach();
        throw;
    }
}

int schedule_mpi(MpiWorld& world, RunOptions const& options, Start const& start) {
    std::optional<PreparedRun> prepared;
    int exit_code = 0;
    bool done = true;
    try {
        SignsOfLife const signs(world, start.deadline_s / 100);  // a long journal takes minutes to read
        prepared = prepare_for_mpi(options, world.size());
        if (options.dry_run) print_plan(*prepared);
        done = options.dry_run || told_finished(*prepared);
    } catch (ConfigError const& error) {
        std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
        exit_code = 2;
    }
    if (done) return dismiss(world, exit_code);
    bool const shared = prepared->inputs.experiment.run.scheduler == SchedulerPlacement::shared;
    announce(world, shared);
    if (shared)
        prepared->notes.warnings.push_back(
            fmt::format("rank 0 trains too (run.scheduler is shared): its trainer is called rank {}", world.size()));
    if (shared) return schedule_and_train(world, std::move(*prepared), options, start.at_s);
    return run_job(world, std::move(*prepared), options, start.at_s, live_report);
}

void train_under_mpi(MpiWorld& world, double deadline_s) {
    ignore_signals();
    if (!await_announcement(world, deadline_s)) return trainer_main(world, build_info());
    SharedJob job(world);
    trainer_main(job.world(), build_info());
}

int run_under_mpi(MpiWorld& world, RunOptions const& options, Start const& start) {
    auto const who = fmt::format("rank {} {}", world.rank().value, host_name());
    log_setup(who, LogLevel::info);
    int failure_code = k_exit_failed;
    try {
        int exit_code = 0;
        if (world.rank() == Rank(0)) {
            exit_code = schedule_mpi(world, options, start);
        } else {
            train_under_mpi(world, start.deadline_s);
        }
        if (!world.whole()) world.finish_without_the_lost(exit_code);
        world.finish(exit_code);
        return exit_code;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "[rank %d %s] %s\n", world.rank().value, host_name().c_str(),
                     printable(words_of(error)).c_str());
        if (is_resumable(error)) failure_code = k_exit_resumable;
    }
    world.abort(failure_code);
    return failure_code;
}

int run_as_threads(RunOptions const& options, double started_s) {
    auto const cores = std::max(1U, std::thread::hardware_concurrency());
    int const trainers = options.trainers.value_or(static_cast<int>(cores));
    auto prepared = prepare_run(options, [&](RunConfig const&) { return trainers; }, chosen_groups);
    check_threads(prepared);
    if (options.dry_run) {
        print_plan(prepared);
        return 0;
    }
    if (told_finished(prepared)) return 0;
    int exit_code = 1;
    run_thread_ranks(trainers + 1, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, build_info());
        try {
            exit_code = run_job(world, std::move(prepared), options, started_s, live_report);
        } catch (std::exception const& error) {
            if (!is_resumable(error)) throw;
            // A trainer that hangs in a batch could not be joined; there is nothing left to write.
            std::fprintf(stderr, "hopscotch: %s\n", printable(words_of(error)).c_str());
            std::fflush(nullptr);
            std::_Exit(k_exit_resumable);
        }
    });
    return exit_code;
}

// A batch script is one process: its dry run must see the trainers of the job.
int plan_for_processes(RunOptions const& options, int processes) {
    if (processes < 2) throw ConfigError("--processes: must be at least 2 (a launcher's rank 0 and a trainer)");
    print_plan(prepare_for_mpi(options, processes));
    return 0;
}

int run_command(RunOptions const& options) {
    auto const started_s = monotonic_s();
    if (options.processes) return plan_for_processes(options, *options.processes);
    if (!launched_by_mpi()) return is_surplus_copy(1) ? 0 : run_as_threads(options, started_s);
    Start const start{started_s, start_deadline_s()};  // here every rank still leaves bad input to rank 0 (cli.cpp)
    {
        MpiWorld world;
        if (world.size() > 1) return run_under_mpi(world, options, start);
        world.finish();
    }
    if (is_surplus_copy(1)) return 0;
    if (!options.quiet)
        log_info("one process under the launcher: trainers run as threads of it (mpirun -np N+1 for N trainer processes)");
    return run_as_threads(options, started_s);
}

// The options that run and resume share.
void add_common(Command command, RunOptions& options) {
    command.add_option("--set", options.overrides, "Change one setting, for example train.epochs=3 (repeatable)")
        .repeatable()
        .type_name("PATH=VALUE");
    command.add_option("--inject", options.inject, "Inject a fault: slow:rank=3,factor=2 or delay:sync_s=20 (repeatable)")
        .repeatable()
        .type_name("FAULT");
    command.add_option("--trainers", options.trainers, "Without mpirun: number of trainer threads (default: one per core)")
        .type_name("N");
    auto const dry_run =
        command.add_flag("--dry-run", options.dry_run, "Check everything and print the plan; write and train nothing");
    command.add_option("--processes", options.processes, "With --dry-run: as under a launcher with N processes")
        .needs(dry_run)
        .type_name("N");
    command.add_flag("--quiet", options.quiet, "Print only the result, no progress");
}

}  // namespace

Work add_run(Command command) {
    auto const options = std::make_shared<RunOptions>();
    command.add_option("experiment", options->experiment, "The experiment, for example configs/digits-grid.json")
        .required()
        .type_name("FILE");
    command
        .add_value(
            "--strategy", [options](std::string const& name) { options->strategy = name; },
            "Use this strategy, before --set. If the file names another one, its section strategy is replaced")
        .type_name("STRATEGY");
    add_common(command, *options);
    command.add_flag("--resume", options->resume, "Continue the run in run.dir, or start it if there is none");
    command.add_flag("--overwrite", options->overwrite, "Replace an existing run directory");
    command.footer(
        "One process, one thread per trainer:    hopscotch run FILE\n"
        "Rank 0 schedules, two ranks train:      mpirun --oversubscribe -np 3 hopscotch run FILE\n"
        "  (as root, add --allow-run-as-root; with more cores than ranks, leave --oversubscribe out)\n\n"
        "Exit codes: 0 finished; 1 failed; 2 bad input, nothing was written or trained; 75 interrupted, --resume "
        "continues.");
    return [options] { return run_command(*options); };
}

Work add_resume(Command command) {
    auto const options = std::make_shared<RunOptions>();
    options->resume = true;
    command.add_option("run", options->run_dir, "The run directory (run.dir)").required().type_name("DIR");
    add_common(command, *options);
    command.add_flag("--allow-code", options->allow_code, "Execute the plug-in or TorchScript file that the run names");
    command.footer(
        "Continues a run with the experiment that it keeps, and with every --set that it began with. More --set change\n"
        "what may change: search.trials to extend it, settings of run. Under mpirun as hopscotch run.\n"
        "Example: hopscotch resume runs/digits");
    return [options] { return run_command(*options); };
}

}  // namespace hopscotch
