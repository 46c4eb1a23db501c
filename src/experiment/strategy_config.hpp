// SPDX-License-Identifier: Apache-2.0
// The section `strategy` of an experiment: the comment beside a field is its manual; docs/strategies.md gives advice.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace hopscotch {

enum class GroupBatch { split, per_worker };
enum class NormStatistics { local, sync };
enum class ReduceAlgorithm { ring, deterministic };
enum class Collectives { automatic, mpi, nccl };
enum class ServerMode { sync, async, ssp, backup };
enum class ServerPlacement { colocated, dedicated };
enum class SlotPolicy { local, averaged, reset };
enum class AverageVia { allreduce, master };
enum class TaskData { replicated, remote };
enum class Visits { balanced, in_order };
enum class OwnersBy { shares, whole, equal };

struct OuterOptimizer {  // on the mean of the workers' changes (DiLoCo: Nesterov, lr 0.7, momentum 0.9)
    double lr = 1;
    double momentum = 0;
    bool nesterov = false;
};

// How several trainers add up: gradients of allreduce, and the means of model_averaging.
struct SumConfig {
    // ring is the algorithm of Horovod and NCCL; deterministic has bits that do not depend on buckets.
    ReduceAlgorithm algorithm = ReduceAlgorithm::ring;
    // 2^20 bytes, as in PyTorch: the first bucket is small, so that communication starts early.
    double first_bucket_mb = 1, bucket_mb = 25;
    // Of GPUs. mpi: through host memory; nccl: from GPU to GPU, an error where that cannot be; "auto": nccl wherever it can
    // be (strategy/together/collectives.hpp has the rules; run.deterministic must be false).
    Collectives collectives = Collectives::automatic;
};

struct ServerConfig {
    ServerMode mode = ServerMode::sync;
    int count = 0;                                           // 0: one on every trainer (colocated), one in all (dedicated)
    ServerPlacement placement = ServerPlacement::colocated;  // dedicated: the last trainers serve and own no shards
    int staleness = 3;  // ssp: a worker is never more than this many steps ahead of the slowest
    int aggregate = 0;  // backup: a step is complete with the gradients of this many workers, the first ones; 0: all but one
    double part_mb = 4;  // no part is larger (2^20 bytes); eight a server or more, unless they would be under 256 KB
};

struct AveragingConfig {
    std::int64_t every = 0;                   // steps between means; 0: "epoch"
    SlotPolicy momentum = SlotPolicy::local;  // of the optimizer's slots at a mean: kept by each, averaged too, or zeroed
    AverageVia via = AverageVia::allreduce;   // master: all send to the first trainer, which sends the mean back (SparkNet)
    std::optional<OuterOptimizer> outer;      // none: the mean itself
};

struct StrategyConfig {
    std::string name = "mop";
    std::string policy = "planned";  // mop: planned, or for comparison lrtf, random, ring (docs/strategies.md)

    // mop, task_parallel, sequential: where a trial begins, and which way it goes round the shards. balanced: so that
    // trainers have equal work (schedule/routes.hpp); in_order: trial t begins at shard t mod S and goes forward.
    Visits visits = Visits::balanced;

    // mop: how shards are dealt out. shares: by the speed of the trainers, and two trainers hold a shard where counts do not
    // divide; whole: by speed, one trainer a shard; equal: the same number to each, whatever their speed.
    OwnersBy owners = OwnersBy::shares;

    // mop: this many trainers train a unit together, step by step, on as many shards (a bundle); bits depend on this number,
    // and not on the number of trainers. 1: no groups. For fewer trials than trainers. "auto": a number that the first start
    // of a run chooses (docs/strategies.md); until then auto_groups is true.
    int group_size = 1;
    bool auto_groups = false;

    // Where K trainers train a trial together (allreduce, parameter_server, model_averaging, groups of mop): each takes
    // batch_size / K rows of a batch (split), or batch_size rows (per_worker; the default of model_averaging).
    GroupBatch batch = GroupBatch::split;
    // per_worker: lr x K, the linear scaling rule of Goyal et al.; set schedule.warmup_epochs with it.
    bool scale_lr = false;
    NormStatistics batch_norm = NormStatistics::local;  // allreduce: of the own batch, or of all trainers' batches

    SumConfig reduce;           // allreduce, and the means of model_averaging
    ServerConfig server;        // parameter_server
    AveragingConfig averaging;  // model_averaging
    // task_parallel: every trainer fetches all shards once, or rows as they are needed.
    TaskData data = TaskData::replicated;
};

// Whether a trial's bits need the trainers of the run: then it cannot be trained alone.
bool trains_together(StrategyConfig const& config);

}  // namespace hopscotch
