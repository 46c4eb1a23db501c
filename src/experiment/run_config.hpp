// SPDX-License-Identifier: Apache-2.0
// The section `run` of an experiment: the comment beside a field is its manual, and docs/running.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hopscotch {

struct SlowRank {
    int rank = 0;
    double factor = 1;
    std::int64_t after = 0;  // units that it trains before
};

// Delays on purpose, to measure their effect on a strategy. The summary lists them.
struct InjectConfig {
    std::vector<std::string> as_written;  // "slow:rank=3,factor=2", "slow:rank=3,factor=2,after=20", "delay:sync_s=20"
    std::vector<SlowRank> slow;           // a rank's batches take this many times as long
    double sync_s = 0;                    // added to each synchronisation: a step or mean of all trainers, a hop

    double slowness_of(int rank, std::int64_t units) const {  // after this many units
        double out = 1;
        for (auto const& each : slow) out *= each.rank == rank && units >= each.after ? each.factor : 1;
        return out;
    }
};

// Whether rank 0 only schedules, or its process trains too. With threads of one process both are the same.
enum class SchedulerPlacement { dedicated, shared };

// Whether a trainer has a helper thread beside the one that trains. automatic: on a GPU, and where each trainer has a core
// for it; then states below a megabyte are too small for it.
enum class HelperThreads { automatic, on, off };

// Which best models a run keeps: one of the run, or one of every trial.
enum class KeepBest { run, trial };

struct CpuConfig {
    int threads = 1;  // of torch, per trainer; "auto" = 1 (bits must not depend on the trainers)
    HelperThreads helper = HelperThreads::automatic;  // checks and hashes states while the trainer trains
};

struct GpuConfig {
    // true: the same bits each time; an operator that has no deterministic form fails its trial. false: atomics add in any
    // order, and the two below are on; replay can verify nothing then.
    bool deterministic = true;
    std::optional<bool> tf32;  // fp32 products of 10 bits' precision, the same bits each time; null: unless deterministic
    std::optional<bool> cudnn_benchmark;  // cuDNN tries its algorithms out for each new shape; null: unless deterministic
    bool cuda_graphs = true;  // steps are captured and launched at once; models that cannot be say why in the log
    bool fused_norm = true;   // batch norm and what follows it by kernels of our own; false: by torch's
};

struct CheckpointConfig {
    double every_s = 60;  // a trial's newest copy on the disk is not older than this, if the disk keeps up
    double mbps = 0;      // a trainer writes at most this many megabytes a second; 0: no limit
    int keep = 2;         // newest files of a trial that goes on, 1 to 1000: --resume falls back to the one before if a file
                          // is damaged. Files that the run still needs stay beyond that
};

// Longest times. None of them decides a bit.
struct TimeLimits {
    double grace_s = 30;     // after a signal, the job saves its states and ends within this time
    double silence_s = 10;   // a trainer that sends nothing for this long is lost
    double deadline_s = 60;  // of a wait for a reply or a transfer, at most 1e9
    double stall_s = 300;    // of a wait for batch progress
    double setup_s = 3600;   // of a wait for trainers to open their data; default: an hour, or deadline_s if longer
    double on_end_s = 60;    // of the command run.on_end; then it is killed
};

// Waiting states of a trainer.
struct StateConfig {
    std::uint64_t memory = 0;  // bytes of them in memory; 0: the trainer's part of a third of the host's free memory
    std::string spill;         // a directory for the others; empty: in dir
};

struct RunConfig {
    std::string dir;              // run directory, made by the run
    std::string device = "auto";  // auto | cpu | cuda
    SchedulerPlacement scheduler = SchedulerPlacement::dedicated;
    bool exact = true;  // same bits for any number of trainers
    CpuConfig cpu;
    GpuConfig gpu;
    CheckpointConfig checkpoints;
    TimeLimits limits;
    StateConfig states;
    KeepBest keep_best = KeepBest::run;
    double report_every_s = 60;  // report.html is renewed this often, or more rarely if that took over 1 % of a core; 0:
                                 // only at the end of each job
    bool tensorboard = true;     // event files in tb/, one a trial
    std::vector<std::string> on_end;  // the command that rank 0 starts when the run has ended; empty: none
    InjectConfig inject;              // array of texts
};

}  // namespace hopscotch
