// SPDX-License-Identifier: Apache-2.0
// Rows/s of a training step: one case from the command line, or all cases of a file, one after another in one process.
// Loading the libraries of a GPU takes longer than most cases.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include "bench/benches.hpp"
#include "bench/median.hpp"
#include "bench/step_case.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "model/gpu/device.hpp"
#include "model/gpu/device_timer.hpp"
#include "model/state/state.hpp"
#include "model/trial/torch_library.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "strategy/common/devices.hpp"

namespace hopscotch {
namespace {

struct BenchStepOptions {
    StepCase step;
    std::string cases;           // a file; empty: `step` alone
    std::string device = "cpu";  // as run.device
    double seconds = 1;
    int repeats = 5;
};

struct StepRates {
    std::vector<double> rows_per_s;  // of whole units
    double feed_s = 0;               // of a row: batches alone
    double device_s = 0;             // of a step: steps that wait for the device in a queue, without the ends of a unit
    Workspace::Graphs graphs;
};

GpuMode mode_of(StepCase const& step) {
    RunConfig run;
    run.gpu.deterministic = !step.fast;
    run.gpu.cuda_graphs = step.graphs;
    return gpu_mode(run);
}

// The model of a case, and its data.
class StepBench {
public:
    StepBench(StepCase const& step, std::string const& device)
        : step_(step),
          device_(device),
          manifest_(manifest_of(step)),
          config_(config_of(step)),
          source_(shard_in_memory(shard_of(step, manifest_))),
          workspace_(device, 1, mode_of(step)),
          model_(make_trial_model(config_, manifest_, workspace_)),
          pool_(std::make_shared<BufferPool>()) {
        pool_->set_pinning(pinning_for(device));
        state_ = pool_->acquire(model_.state->layout().bytes);  // where a trainer's states lie
        model_.state->initialise(state_.bytes(), 1, TrialId(0));
        model_.state->bind(state_.bytes());
    }

    StepRates measure(double seconds, int repeats) {
        if (device_ != "cpu") train_unit();  // kernels are loaded, algorithms chosen
        StepRates out;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            std::int64_t rows = 0;
            auto const start = monotonic_s();
            while (monotonic_s() - start < seconds) rows += train_unit();
            out.rows_per_s.push_back(static_cast<double>(rows) / (monotonic_s() - start));
        }
        out.graphs = workspace_.graphs();
        out.device_s = least_of(3, [&] { return device_seconds(); });
        // The first pass brings the shard to the device.
        out.feed_s = least_of(5, [&] { return torch_library().feed_seconds(config_, manifest_, workspace_, *source_); }) /
                     static_cast<double>(step_.rows);
        return out;
    }

private:
    template <class Measure>
    static double least_of(int times, Measure const& measure) {
        auto least = measure();
        for (int i = 1; i < times; ++i) least = std::min(least, measure());
        return least;
    }

    UnitAddress next_unit() { return {1, TrialId(0), epoch_++, ShardId(0)}; }
    std::int64_t train_unit() {
        return model_.training->train_unit(*source_, next_unit(), [] {}).rows;
    }

    double device_seconds() {
        constexpr int k_most_steps = 20;
        auto const timer = make_device_timer(device_);
        auto& training = *model_.training;
        training.begin_pass(*source_, next_unit(), training.batch_size());
        timer->hold_back(0.05);
        timer->start();
        int steps = 0;
        for (; steps < k_most_steps; ++steps) {
            auto const rows = training.next_gradient({}, {});
            if (rows == 0) break;
            training.update(rows);
        }
        timer->stop();
        training.end_pass();
        return timer->seconds() / std::max(1, steps);
    }

    StepCase const& step_;
    std::string device_;
    Manifest manifest_;
    TrialConfig config_;
    std::unique_ptr<ShardSource> source_;
    Workspace workspace_;
    TrialModel model_;
    std::shared_ptr<BufferPool> pool_;
    Buffer state_;
    int epoch_ = 0;
};

std::string first_members(StepCase const& step, std::string const& device) {
    Json const name(step.name);
    return fmt::format("{{\"bench\": \"step\", {}\"model\": \"{}\", \"device\": \"{}\"",
                       step.name.empty() ? "" : fmt::format("\"name\": {}, ", name.dump()), step.model, device);
}

void print_rates(StepCase const& step, std::string const& device, StepRates rates) {
    auto const [least, most] = std::ranges::minmax(rates.rows_per_s);
    auto const typical = median(std::move(rates.rows_per_s));
    auto const mode = mode_of(step);
    auto const ms_per_step = 1e3 * static_cast<double>(step.batch) / typical;
    fmt::print(
        "{}, \"precision\": \"{}\", \"deterministic\": {}, \"tf32\": {}, \"benchmark\": {}, \"batch\": {}, "
        "\"optimizer\": \"{}\", \"rows_per_s\": {:.0f}, \"min\": {:.0f}, "
        "\"max\": {:.0f}, \"ms_per_step\": {:.4f}, \"device_ms_per_step\": {:.4f}, \"feed_share\": {:.4f}, "
        "\"graphs\": {}, \"refused\": {}}}\n",
        first_members(step, device), step.precision, mode.deterministic, mode.tf32, mode.benchmark, step.batch,
        step.optimizer, typical, least, most, ms_per_step, 1e3 * rates.device_s, rates.feed_s * typical, rates.graphs.kept,
        Json(rates.graphs.refused).dump());
    std::fflush(stdout);  // a reader of the output sees this case's result now
}

int bench_step_command(BenchStepOptions const& options) {
    auto const device = resolve_device(options.device, 0);
    if (options.cases.empty()) {
        print_rates(options.step, device, StepBench(options.step, device).measure(options.seconds, options.repeats));
        return 0;
    }
    int failed = 0;
    for (auto const& step : read_step_cases(options.cases, options.step)) try {
            print_rates(step, device, StepBench(step, device).measure(options.seconds, options.repeats));
        } catch (std::exception const& error) {  // of one case; the others are measured
            ++failed;
            fmt::print("{}, \"error\": {}}}\n", first_members(step, device), Json(error.what()).dump());
            std::fflush(stdout);
        }
    return failed == 0 ? 0 : 1;
}

void add_case_options(Command command, StepCase& step) {
    command.add_option("--model", step.model, "A model of hopscotch models").shows_default().type_name("MODEL");
    command.add_option("--arguments", step.arguments, "Arguments of the model, as JSON: '{\"hidden\": [512, 256]}'")
        .type_name("JSON");
    command.add_option("--shape", step.shape, "Shape of a row: 64, or 3x32x32").shows_default();
    command.add_option("--augment", step.augment, "Augmentation (repeatable)").type_name("flip|crop|cutout");
    command.add_option("--outputs", step.outputs, "Classes").shows_default();
    command.add_option("--batch", step.batch, "Rows of a step").shows_default();
    command.add_option("--rows", step.rows, "Rows of the shard").shows_default();
    command.add_option("--optimizer", step.optimizer, "Optimizer; sgd has a momentum").shows_default().type_name("sgd|adam");
    command.add_option("--precision", step.precision, "Precision of the step").shows_default().type_name("fp32|bf16");
    command.add_option("--engine", step.engine, "As train.engine").shows_default().type_name("lean|torch");
    command.add_flag("--fast", step.fast, "On a GPU: with run.deterministic false");
    command.add_flag("--nchw", step.nchw, "With train.channels_last false");
}

}  // namespace

Work add_bench_step(Command command) {
    auto const options = std::make_shared<BenchStepOptions>();
    add_case_options(command, options->step);
    command
        .add_option("--cases", options->cases,
                    "Measure all cases of a file: a JSON array of objects with the options above as keys, and a name")
        .type_name("FILE");
    command.add_option("--device", options->device, "Device of the model").shows_default().type_name("auto|cpu|cuda");
    command.add_option("--seconds", options->seconds, "Length of each repeat").shows_default();
    command.add_option("--repeats", options->repeats, "Number of repeats; their median is printed").shows_default();
    return on_first_rank([options] { return bench_step_command(*options); });
}

}  // namespace hopscotch
