// SPDX-License-Identifier: Apache-2.0
// The sub-commands: each is one function in one file that returns the exit code (0 finished, 1 failed, 2 bad input). They
// throw ConfigError for bad input and other Errors for failures; main turns those into exit codes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/run_directory.hpp"
#include "strategy/roll_call.hpp"

namespace hopscotch {

BuildInfo const& build_info();
std::string version_text();  // of --version: hopscotch, git, LibTorch, MPI, CPU or CUDA

struct RunOptions {
    std::string experiment;               // the file
    std::vector<std::string> overrides;   // --set path=value
    std::optional<std::string> strategy;  // none: as the file says
    std::vector<std::string> inject;      // --inject: instead of run.inject
    std::optional<int> trainers;          // threads; under mpirun it must be np - 1
    bool resume = false, overwrite = false, dry_run = false, quiet = false;
};
inline RunDirUse run_dir_use(RunOptions const& options) {
    return options.resume ? RunDirUse::resume : options.overwrite ? RunDirUse::overwrite : RunDirUse::fresh;
}
int run_command(RunOptions const& options);

struct ReplayOptions {
    std::string run_dir;
    std::vector<int> trials;  // empty: all
};
int replay_command(ReplayOptions const& options);

struct PredictOptions {
    std::string run_dir, dataset;
    std::optional<int> trial;   // default: the best one
    std::string out;            // CSV
    std::string split = "all";  // train | valid | test | all
    std::string device = "auto";
};
int predict_command(PredictOptions const& options);

struct CompareOptions {
    std::vector<std::string> run_dirs;
    std::optional<double> target;          // of search.metric; default: the worst of the runs' best
    std::optional<std::string> bandwidth;  // "1gbit": also what the cost model predicts
    std::string latency = "0.1ms";
    bool json = false, anyway = false;  // anyway: also runs that did different work
};
int compare_command(CompareOptions const& options);

struct CtlOptions {
    std::string run_dir, action;         // status, stop, resume, clone, finish
    std::vector<std::string> arguments;  // a trial; path=value ...
    double timeout_s = 10;               // for the job's answer
};
int ctl_command(CtlOptions const& options);

int models_command(std::string const& name);

struct BenchStepOptions {
    std::string model = "mlp";
    std::string arguments;     // of the model, as JSON: {"hidden": [128]}; empty: its defaults
    std::string shape = "64";  // of a row: 64, or 3x32x32
    std::int64_t outputs = 10, batch_size = 32, rows = 2048;
    std::vector<std::string> augment;  // flip, crop, cutout
    std::string optimizer = "sgd";     // with momentum; or adam
    std::string device = "cpu";        // as run.device
    std::string precision = "fp32";    // or bf16
    bool fast = false;                 // of a GPU: run.deterministic false
    bool nchw = false;                 // train.channels_last false
    double seconds = 1;
    int repeats = 5;
};
int bench_step_command(BenchStepOptions const& options);

struct BenchCommOptions {
    double megabytes = 100;
    double period_s = 1;         // one hop every so often
    double seconds = 5;          // of each phase
    int repeats = 5;             // interleaved pairs of phases with and without hops
    std::string device = "cpu";  // as run.device: where a state begins and ends its hop
    bool copy = false;           // states, also where their memory could change hands
};
int bench_comm_command(BenchCommOptions const& options);

struct BenchAllreduceOptions {
    std::vector<std::int64_t> bytes{1 << 10, 1 << 20, 100'000'000};  // of the values that are summed
    double bucket_mb = 25;
    int repeats = 7;  // interleaved
};
int bench_allreduce_command(BenchAllreduceOptions const& options);

struct BenchReadOptions {
    std::string dir;         // a dataset whose first training shard is read; empty: one is made for it, and removed
    double megabytes = 256;  // of that one
    std::int64_t batch_size = 128;
    int repeats = 5;
};
int bench_read_command(BenchReadOptions const& options);

}  // namespace hopscotch
