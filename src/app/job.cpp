// SPDX-License-Identifier: Apache-2.0
#include "app/job.hpp"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "app/best_model.hpp"
#include "app/continuation.hpp"
#include "app/result_text.hpp"
#include "app/run_facts.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "run/recorder.hpp"
#include "strategy/strategy.hpp"

namespace hopscotch {
namespace {

// Set by SIGTERM and SIGINT; a second signal kills as usual.
std::sig_atomic_t volatile g_signal = 0;

void on_signal(int signal) {
    g_signal = signal;
    std::signal(signal, SIG_DFL);
}

// The run between the roll call and the end: laps out, records in.
class Job : public LapSink {
public:
    Job(PreparedRun& prepared, Courier& courier, std::vector<Hello> const& hellos, RunOptions const& options)
        : prepared_(prepared),
          courier_(courier),
          director_(*prepared.director),
          facts_(facts_of(prepared, hellos)),
          directory_(prepared.experiment.run.dir, run_dir_use(options), facts_),
          recorder_(directory_, facts_, prepared.experiment),
          strategy_(strategy_named(prepared.experiment.strategy.name)
                        .make({courier, prepared.experiment, prepared.owners, nullptr})),
          pump_(courier, facts_.hosts, prepared.experiment.run.stall_s),
          progress_(options.quiet ? ProgressMode::quiet : progress_mode(terminal_of(2)), terminal_of(2).columns,
                    [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }) {
        if (prepared.resumption) continuation_.emplace(*prepared.resumption, prepared.experiment);
        for (auto const& trial : director_.trials())
            total_units_ += static_cast<double>(trial.epochs_wanted * prepared.shards);
    }

    void run() {
        started_s_ = monotonic_s();
        if (continuation_) go_on();
        release();
        while (!director_.finished() || (continuation_ && continuation_->waits())) {
            pump_.take(*this, 0.1);
            recorder_.tick();
            show_progress();
            if (g_signal != 0) return director_.interrupt();
        }
        progress_.finish(view());
    }

    void lap_done(LapRecord const& record) override {
        homes_[record.trial] = record.home;
        here_.insert({record.trial, record.epoch});
        if (continuation_ && continuation_->trained_again(record)) return strategy_->lap_done(record);
        director_.record(record);
        auto const& trial = director_.trials()[record.trial.index()];
        recorder_.lap_done(record, trial);
        units_ += static_cast<double>(record.units.size());
        if (trial.status != TrialStatus::running) {
            strategy_->forget(record.trial);
            ++ended_;
            total_units_ -= static_cast<double>((trial.epochs_wanted - record.epoch - 1) * prepared_.shards);
            if (trial.status != TrialStatus::finished && trial.status != TrialStatus::stopped)
                log_warning(fmt::format("trial {} {}: {}", trial.id.value, name_of(trial.status), trial.reason));
        }
        release();
        strategy_->lap_done(record);
    }

    // The best trial's numbers on the test shards, once, at the end. Nothing if there are none.
    std::optional<Metrics> test_best(Summary const& summary) {
        if (!summary.best_trial || g_signal != 0 || prepared_.manifest.test.empty()) return std::nullopt;
        auto const& best = summary.trials[summary.best_trial->index()];
        Lap lap;
        lap.trial = best.id;
        lap.epoch = best.tally.best->epoch;
        lap.assignment = director_.trials()[best.id.index()].assignment;
        if (auto const* file = file_of_best(lap.trial, lap.epoch)) lap.from = file->file;
        strategy_->score_best(lap, lap.from.empty() ? homes_.at(best.id) : TrainerId(0));
        while (!test_record_ && g_signal == 0) pump_.take(*this, 0.1);
        if (!test_record_) return std::nullopt;
        if (test_record_->outcome != Outcome::finished) {
            log_warning(fmt::format("trial {} could not be scored on the test shards: {}", best.id.value, test_record_->reason));
            return std::nullopt;
        }
        auto metrics = metrics_of(*test_record_, loss_of(prepared_.experiment, lap.assignment));
        metrics.rows = test_record_->valid_rows;
        return metrics;
    }

    void scored(LapRecord const& record) override { test_record_ = record; }
    void saved(Saved const& saved) override { recorder_.saved(saved); }

    // best/model.safetensors and best/model.json, from the trainer that validated that epoch.
    void write_best(Summary const& summary) {
        if (!summary.best_trial || g_signal != 0) return;
        auto const& best = summary.trials[summary.best_trial->index()];
        auto const& trial = director_.trials()[summary.best_trial->index()];
        auto const state = best_state(best.id, best.tally.best->epoch);
        write_best_model(prepared_, directory_.file("best"), {trial, *best.tally.best, state.bytes()});
    }

    Recorder& recorder() { return recorder_; }
    RunDirectory const& directory() const { return directory_; }
    double started_s() const { return started_s_; }

private:
    // What earlier jobs have recorded, then what is left of every trial.
    void go_on() {
        for (auto const& lap : continuation_->begin(director_, recorder_)) strategy_->execute(lap);
        units_ = static_cast<double>(continuation_->units());
        for (auto const& trial : director_.trials()) ended_ += has_ended(trial.status) ? 1 : 0;
    }

    // The best state of an earlier job.
    LapSink::Saved const* file_of_best(TrialId trial, int epoch) const {
        return continuation_ && !here_.contains({trial, epoch}) ? continuation_->file_after(trial, epoch) : nullptr;
    }

    Buffer best_state(TrialId trial, int epoch) {
        auto const* saved = file_of_best(trial, epoch);
        if (saved == nullptr) return strategy_->fetch_best(trial, epoch, homes_.at(trial));
        CheckpointFile const file(directory_.file(saved->file));
        auto state = courier_.pool().acquire(file.state_bytes());
        file.read_state(state.bytes());
        return state;
    }

    void release() {
        for (auto const& lap : director_.release()) {
            recorder_.released(lap);
            strategy_->execute(lap);
        }
    }

    void show_progress() {
        auto const now = monotonic_s();
        if (now < next_view_s_) return;
        next_view_s_ = now + 0.1;
        progress_.update(view(), now);
    }

    ProgressState view() const {
        ProgressState state;
        state.elapsed_s = monotonic_s() - started_s_;
        state.done = std::max(units_, std::min(static_cast<double>(pump_.units_done()), total_units_));
        state.total = total_units_;
        state.busy = pump_.busy_trainers();
        state.trainers = prepared_.trainers;
        state.trials_done = ended_;
        state.trials = static_cast<std::int64_t>(director_.trials().size());
        state.metric = prepared_.experiment.search.metric;
        state.best = recorder_.best();
        return state;
    }

    PreparedRun& prepared_;
    Courier& courier_;
    Director& director_;
    RunFacts facts_;
    RunDirectory directory_;
    Recorder recorder_;
    std::unique_ptr<Strategy> strategy_;
    Pump pump_;
    Progress progress_;
    std::map<TrialId, TrainerId> homes_;
    std::set<std::pair<TrialId, int>> here_;  // laps that came to an end in this job
    std::optional<Continuation> continuation_;
    std::optional<LapRecord> test_record_;
    double started_s_ = 0, next_view_s_ = 0, units_ = 0, total_units_ = 0;
    std::int64_t ended_ = 0;
};

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
    Job job(prepared, courier, hellos, options);
    auto const finish = [&](RunEnd end, std::string const& failure = "") {
        if (g_signal != 0) end.reason = fmt::format("signal {}", static_cast<int>(g_signal));
        if (!failure.empty()) end.reason = failure;
        end.status = !failure.empty() ? RunStatus::failed : g_signal != 0 ? RunStatus::interrupted : RunStatus::finished;
        end.wall_s = monotonic_s() - started_s;
        end.setup_s = job.started_s() - started_s;
        end.synthetic = prepared.synthetic;
        end.weight_bytes = static_cast<std::int64_t>(prepared.weight_bytes);
        return job.recorder().finish(end, prepared.director->trials());
    };
    auto const fail = [&](std::string const& reason) {
        if (job.recorder().finished()) return;  // the first end is the one to tell
        prepared.director->interrupt();
        try {
            finish({}, reason);
        } catch (std::exception const& error) {
            log_error(
                fmt::format("the run directory is incomplete: {}", error.what()));  // the first error is the one to tell
        }
    };
    try {
        job.run();
        // A trainer leaves after its batch, and mpirun kills all ranks a second after it passed the signal on.
        if (g_signal != 0) finish({});
        // The best model is fetched before the trainers leave; what the summary needs from them comes after.
        auto const so_far = job.recorder().summarise({}, prepared.director->trials());
        job.write_best(so_far);
        auto const test = job.test_best(so_far);
        auto end = end_of(end_job(courier, 0, prepared.experiment.run.deadline_s));
        end.test = test;
        auto const failure = so_far.best_trial || g_signal != 0
                                 ? ""
                                 : fmt::format("no trial finished an epoch with a finite {}", so_far.metric);
        auto const summary = finish(std::move(end), failure);
        if (!failure.empty()) log_error(failure);
        if (summary.status == RunStatus::finished) std::filesystem::remove_all(job.directory().file("checkpoints"));
        print_result(summary, prepared.manifest.task, job.directory().path());
        return summary.status == RunStatus::finished ? 0 : 1;
    } catch (std::exception const& error) {
        fail(error.what());
        throw;
    }
}

}  // namespace

int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s) {
    std::signal(SIGTERM, on_signal);
    std::signal(SIGINT, on_signal);
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
