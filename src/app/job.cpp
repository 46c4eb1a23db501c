// SPDX-License-Identifier: Apache-2.0
#include "app/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "app/result_text.hpp"
#include "app/run_facts.hpp"
#include "app/running_job.hpp"
#include "app/signals.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

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
    for (auto const bytes : totals.peak_rss_bytes) end.peak_rss_bytes.push_back(static_cast<std::int64_t>(bytes));
    for (auto const seconds : totals.hop_s) end.hop_s.push_back(static_cast<float>(seconds));
    return end;
}

int run_after_roll_call(PreparedRun& prepared, RunOptions const& options, Courier& courier, std::vector<Hello> const& hellos,
                        double started_s) {
    RunningJob job(prepared, courier, hellos, options);
    auto const told = [&](RunEnd end, std::string const& failure = "") {
        end.reason = signal_caught() != 0 ? fmt::format("signal {}", signal_caught()) : failure;
        end.status = signal_caught() != 0 ? RunStatus::interrupted : failure.empty() ? RunStatus::finished : RunStatus::failed;
        end.wall_s = monotonic_s() - started_s;
        end.setup_s = job.started_s() - started_s;
        end.synthetic = prepared.synthetic;
        end.weight_bytes = static_cast<std::int64_t>(prepared.weight_bytes);
        return end;
    };
    auto const& trials = prepared.director->trials();
    try {
        job.run();
        // The best model is fetched before the trainers leave; what the summary needs from them comes after.
        auto const so_far = job.recorder().summarise({}, trials);
        job.write_best(so_far);
        auto const test = job.test_best(so_far);
        if (signal_caught() != 0) {
            // mpirun kills all ranks a second after it passed a signal on: this much must be there by then.
            job.recorder().write_summary_so_far(told({}), trials);
            if (!job.pause()) {
                job.recorder().finish(told({}), trials);
                throw CommError(fmt::format("signal {}: not all trainers were done with their batch and had saved their states within "
                                            "{:.0f} s; what they learned since the copies before is lost; run.grace_s sets this limit",
                                            signal_caught(), prepared.experiment.run.grace_s));
            }
        }
        auto end = end_of(end_job(courier, 0, prepared.experiment.run.deadline_s));
        end.test = test;
        auto const failure = so_far.best_trial ? "" : fmt::format("no trial finished an epoch with a finite {}", so_far.metric);
        auto const summary = job.recorder().finish(told(std::move(end), failure), trials);
        if (summary.status == RunStatus::failed) log_error(failure);
        if (summary.status == RunStatus::finished) std::filesystem::remove_all(job.directory().file("checkpoints"));
        print_result(summary, prepared.manifest.task, job.directory().path());
        return summary.status == RunStatus::finished ? 0 : summary.status == RunStatus::failed ? 1 : k_exit_resumable;
    } catch (std::exception const& error) {
        if (job.recorder().finished()) throw;  // the first end is the one to tell
        prepared.director->interrupt();
        try {
            auto end = told({}, error.what());
            if (is_resumable(error)) end.status = RunStatus::interrupted;
            job.recorder().finish(end, trials);
        } catch (std::exception const& second) {
            log_error(fmt::format("the run directory is incomplete: {}", second.what()));  // the first error is the one to tell
        }
        throw;
    }
}

}  // namespace

int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s) {
    catch_signals();
    Courier courier(world, {.deadline_s = prepared.experiment.run.deadline_s});
    measure_largest_trial(prepared);
    auto const& run = prepared.experiment.run;
    if (!prepared.resumption) prepared.run_id = new_run_id();
    CheckpointTarget const target{std::filesystem::absolute(run.dir), prepared.run_id,
                                  prepared.resumption ? prepared.resumption->journal.incarnation + 1 : 1, run.checkpoint_every_s,
                                  run.checkpoint_mbps};
    Welcome const welcome{prepared.experiment.document.dump(), prepared.experiment.strategy.name, prepared.owners,
                          prepared.state_bytes, target};
    if (!options.quiet)
        for (auto const& note : prepared.notes) log_warning(note);
    std::vector<Hello> hellos;
    try {
        hellos = call_roll(courier, welcome, build_info(), prepared.experiment.run.deadline_s);
    } catch (ConfigError const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        end_job(courier, 2, prepared.experiment.run.deadline_s);
        return 2;
    }
    return run_after_roll_call(prepared, options, courier, hellos, started_s);
}

}  // namespace hopscotch
