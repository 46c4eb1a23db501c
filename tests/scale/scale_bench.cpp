// SPDX-License-Identifier: Apache-2.0
// One job of rank 0 with played trainers (played_world.hpp): scripts/scale.sh calls it for each of its rows. Prints one JSON
// object: laps a second, CPU seconds a lap of rank 0's thread and of the whole process by tenth, resident memory by tenth.
#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "data/dataset/manifest.hpp"
#include "job/prepare.hpp"
#include "job/rank0.hpp"
#include "job/run_options.hpp"
#include "report/live_report.hpp"
#include "scale/played_world.hpp"

namespace {

using namespace hopscotch;

struct Options {
    Cast cast;
    int trials = 4000, epochs = 10, shards = 1000;
    std::string procedure = "random", dir = "scale";
    bool resume = false;
    double lose_at = 0, report_every_s = 60;
};

Options options_of(int count, char** arguments) {
    Options out;
    CLI::App app{"Rank 0 with played trainers"};
    app.add_option("--trainers", out.cast.trainers);
    app.add_option("--shards", out.shards);
    app.add_option("--trials", out.trials);
    app.add_option("--epochs", out.epochs);
    app.add_option("--procedure", out.procedure, "random or asha");
    app.add_option("--laps-per-s", out.cast.laps_per_s, "offered to rank 0");
    app.add_option("--checkpoints-per-s", out.cast.checkpoints_per_s);
    app.add_option("--lose-at", out.lose_at, "the part of all laps after which one trainer dies");
    app.add_option("--report-every-s", out.report_every_s, "run.report_every_s");
    app.add_option("--dir", out.dir, "for the dataset and the run directory");
    app.add_flag("--resume", out.resume);
    try {
        app.parse(count, arguments);
    } catch (CLI::ParseError const& error) {
        std::exit(app.exit(error));
    }
    return out;
}

// Rank 0 reads only dataset.json; the shards are with the trainers, who are played.
void write_dataset(Options const& options) {
    Manifest manifest;
    manifest.shape = {8};
    manifest.outputs = 10;
    for (int shard = 0; shard < options.shards; ++shard)
        manifest.train.push_back({fmt::format("train-{:05}.h5", shard), 1000, 1});
    manifest.valid.push_back({"valid-00000.h5", 1000, 1});
    manifest.features.mean.assign(8, 0);
    manifest.features.stddev.assign(8, 1);
    manifest.origin.provenance = Json::object({{"importer", "played"}});
    std::filesystem::create_directories(options.dir + "/data");
    write_manifest(options.dir + "/data", manifest);
}

std::string write_experiment(Options const& options) {
    auto const path = options.dir + "/experiment.json";
    std::ofstream(path) << fmt::format(
        R"({{"name": "scale", "seed": 1, "data": {{"path": "{0}/data"}},
  "model": {{"name": "synthetic", "parameters": 1000, "seconds_per_batch": 0.001}},
  "train": {{"epochs": {1}, "batch_size": 100, "optimizer": {{"name": "sgd", "lr": 0.1}}}},
  "search": {{"procedure": "{2}", "trials": {3}}},
  "space": {{"train.optimizer.lr": {{"type": "float", "low": 0.001, "high": 1, "log": true}}}},
  "run": {{"dir": "{0}/run", "device": "cpu", "report_every_s": {4}}}}})",
        options.dir, options.epochs, options.procedure, options.trials, options.report_every_s);
    return path;
}

double cpu_s(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double resident_mb() {
    std::int64_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6;
}

// At every tenth of the laps.
struct Look {
    std::int64_t laps = 0;
    double wall_s = 0, rank0_s = 0, process_s = 0, memory_mb = 0;
};

class Watch {
public:
    explicit Watch(std::int64_t laps) : step_(std::max<std::int64_t>(1, laps / 10)) {
        pthread_getcpuclockid(pthread_self(), &rank0_);
    }
    void lap_taken(std::int64_t laps) {
        if (laps == 1 || laps % step_ == 0) looks_.push_back(look(laps));
    }
    Look look(std::int64_t laps) const {
        return {laps, monotonic_s(), cpu_s(rank0_), cpu_s(CLOCK_PROCESS_CPUTIME_ID), resident_mb()};
    }
    std::vector<Look> const& looks() const { return looks_; }

private:
    std::int64_t step_;
    clockid_t rank0_{};
    std::vector<Look> looks_;
};

Json text_of(std::vector<Look> const& looks) {
    std::vector<Json> tenths;
    for (std::size_t i = 1; i < looks.size(); ++i) {
        auto const& a = looks[i - 1];
        auto const& b = looks[i];
        auto const laps = static_cast<double>(b.laps - a.laps);
        tenths.push_back(Json::object({{"laps_per_s", laps / (b.wall_s - a.wall_s)},
                                       {"rank0_ms_per_lap", 1e3 * (b.rank0_s - a.rank0_s) / laps},
                                       {"process_ms_per_lap", 1e3 * (b.process_s - a.process_s) / laps},
                                       {"memory_mb", b.memory_mb}}));
    }
    return Json(std::move(tenths));
}

double peak_mb() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1e3;
}

int run(Options options) {
    auto const started_s = monotonic_s();
    auto const program_mb = resident_mb();
    write_dataset(options);
    RunOptions run_options;
    run_options.experiment = write_experiment(options);
    run_options.resume = options.resume;
    run_options.overwrite = !options.resume;
    run_options.quiet = true;
    auto prepared = prepare_run(run_options, [&](RunConfig const&) { return options.cast.trainers; });
    auto const prepared_s = monotonic_s();
    auto const prepared_mb = resident_mb();
    auto const laps = static_cast<std::int64_t>(options.trials) * options.epochs;
    options.cast.lose_after = static_cast<std::int64_t>(options.lose_at * static_cast<double>(laps));
    Watch watch(laps);
    PlayedWorld world(options.cast, [&](std::int64_t taken) { watch.lap_taken(taken); });
    auto const exit_code = run_job(world, std::move(prepared), run_options, started_s, live_report);
    auto const ended_s = monotonic_s();
    auto const rank0_s = watch.look(0).rank0_s;
    auto out = Json::object({{"exit_code", exit_code},
                             {"laps", world.laps()},
                             {"prepare_s", prepared_s - started_s},
                             {"to_first_lap_s", world.first_lap_s().value_or(ended_s) - started_s},
                             {"seconds", ended_s - started_s},
                             {"rank0_s", rank0_s},
                             {"end_s", watch.looks().empty() ? 0 : ended_s - watch.looks().back().wall_s},
                             {"program_mb", program_mb},
                             {"prepared_mb", prepared_mb},
                             {"peak_mb", peak_mb()},
                             {"tenths", text_of(watch.looks())}});
    if (world.lost_s()) out["after_loss_s"] = world.back_s().value_or(ended_s) - *world.lost_s();
    fmt::print("{}\n", out.dump());
    return exit_code;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        hopscotch::log_setup("rank 0", hopscotch::LogLevel::warning);
        return run(options_of(count, arguments));
    } catch (std::exception const& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
