// SPDX-License-Identifier: Apache-2.0
#include "app/cli_bench.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"

namespace hopscotch {
namespace {

void add_step(CLI::App& bench, BenchStepOptions& step) {
    auto* steps = bench.add_subcommand("step", "Rows/s of one trainer's training step, gather and normalisation included");
    steps->add_option("--model", step.model, "A name of hopscotch models")->capture_default_str();
    steps->add_option("--arguments", step.arguments, "Of the model, as JSON: '{\"hidden\": [512, 256]}'")->type_name("JSON");
    steps->add_option("--shape", step.shape, "Of a row: 64, or 3x32x32")->capture_default_str();
    steps->add_option("--augment", step.augment, "flip, crop, cutout (repeatable)")->type_name("NAME");
    steps->add_option("--outputs", step.outputs, "Classes")->capture_default_str();
    steps->add_option("--batch", step.batch_size, "Rows of a step")->capture_default_str();
    steps->add_option("--rows", step.rows, "Rows of the shard")->capture_default_str();
    steps->add_option("--optimizer", step.optimizer, "sgd (with momentum) or adam")->capture_default_str();
    steps->add_option("--device", step.device, "auto, cpu or cuda")->capture_default_str();
    steps->add_option("--precision", step.precision, "fp32 or bf16")->capture_default_str();
    steps->add_flag("--fast", step.fast, "On a GPU: run.deterministic false");
    steps->add_flag("--nchw", step.nchw, "train.channels_last false");
    steps->add_option("--seconds", step.seconds, "Of each repeat")->capture_default_str();
    steps->add_option("--repeats", step.repeats, "The median of these is printed")->capture_default_str();
}

void add_comm(CLI::App& bench, BenchCommOptions& comm) {
    auto* hops =
        bench.add_subcommand("comm", "Speed of hops between two ranks that compute, and what they cost the computation");
    hops->add_option("--megabytes", comm.megabytes, "Of a state")->capture_default_str();
    hops->add_option("--period", comm.period_s, "Seconds between hops")->capture_default_str();
    hops->add_option("--seconds", comm.seconds, "Of each phase")->capture_default_str();
    hops->add_option("--repeats", comm.repeats, "Interleaved phases with and without hops")->capture_default_str();
    hops->add_option("--device", comm.device, "auto, cpu or cuda: where a state begins and ends its hop")
        ->capture_default_str();
    hops->add_flag("--copy", comm.copy, "Copy states, also where ranks of one host could hand their memory over");
    hops->footer(
        "Two threads of one process:  hopscotch bench comm\nTwo MPI ranks:               mpirun --oversubscribe -np 2 "
        "hopscotch bench comm\n"
        "It takes (1 + 3 x repeats) x seconds: 80 s unless told otherwise.");
}

void add_allreduce(CLI::App& bench, BenchAllreduceOptions& options) {
    auto* sums =
        bench.add_subcommand("allreduce", "Speed of ring and deterministic all-reduce, next to the MPI library's own");
    sums->add_option("--bytes", options.bytes, "Of the values (repeatable)")->type_name("N")->check(CLI::PositiveNumber);
    sums->add_option("--bucket-mb", options.bucket_mb, "Of a bucket, 2^20 bytes")->capture_default_str();
    sums->add_option("--repeats", options.repeats, "Interleaved repeats; medians are printed")->capture_default_str();
    sums->footer("Four ranks:  mpirun --oversubscribe -np 4 hopscotch bench allreduce");
}

void add_bench_read(CLI::App& bench, BenchReadOptions& options) {
    auto* read = bench.add_subcommand("read", "Speed of each data.cache (all, window, none), next to memcpy and pread");
    read->add_option("--dir", options.dir, "Read this dataset's first training shard (default: one made for it)")
        ->type_name("DATASET");
    read->add_option("--megabytes", options.megabytes, "Of the shard that is made")->capture_default_str();
    read->add_option("--batch", options.batch_size, "Rows of a batch")->capture_default_str();
    read->add_option("--repeats", options.repeats, "Interleaved repeats; medians are printed")->capture_default_str();
}

}  // namespace

CLI::App* add_bench(CLI::App& app, BenchCommands& commands) {
    auto* bench = app.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    add_step(*bench, commands.step);
    add_comm(*bench, commands.comm);
    add_allreduce(*bench, commands.allreduce);
    add_bench_read(*bench, commands.read);
    auto* schedule = bench->add_subcommand("schedule", "")->group("")->allow_extras();
    schedule->set_help_flag();
    schedule->callback([] {
        throw ConfigError("bench schedule is not available in this version (available: step, comm, allreduce, read)");
    });
    return bench;
}

bool is_mpi_bench(CLI::App const& bench) {
    return bench.parsed() && (bench.got_subcommand("comm") || bench.got_subcommand("allreduce"));
}

int run_bench(CLI::App const& bench, BenchCommands const& commands) {
    if (bench.got_subcommand("read")) return bench_read_command(commands.read);
    if (bench.got_subcommand("allreduce")) return bench_allreduce_command(commands.allreduce);
    return bench.got_subcommand("step") ? bench_step_command(commands.step) : bench_comm_command(commands.comm);
}

}  // namespace hopscotch
