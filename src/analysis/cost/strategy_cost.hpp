// SPDX-License-Identifier: Apache-2.0
// The cost of a whole run under each strategy: sums of cost_model.hpp's closed forms over the models of a search. Pure.
// Links and processors do nothing else, all trainers are alike, shards and batches are equal, and start-up is left out.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/cost/cost_model.hpp"

namespace hopscotch {

// One model, trained on any rank. A step on x rows takes fixed_s + x row_s: half the batch takes more than half the time.
struct ModelWork {
    std::int64_t epochs = 1;
    std::int64_t rows = 0;  // of an epoch
    std::int64_t batch = 1;
    double fixed_s = 0, row_s = 0;
    double validation_s = 0;           // after every epoch, on one trainer
    std::int64_t weight_bytes = 0;     // W, also those of a gradient
    std::int64_t optimizer_bytes = 0;  // O and all else that hops: 0 for plain SGD, W for momentum, 2W for Adam

    double step_s(double batch_rows) const { return fixed_s + batch_rows * row_s; }
    std::int64_t state_bytes() const { return weight_bytes + optimizer_bytes; }
};

struct Workload {
    std::vector<ModelWork> models;
    std::int64_t dataset_bytes = 0;
};

struct Cluster {
    int trainers = 1;
    Link link;
};

struct Estimate {
    std::int64_t network_bytes = 0;  // sent by all ranks, control messages left out
    double compute_s = 0;            // training and validation, summed over trainers
    double communication_s = 0;      // by which exchanges that computation does not hide lengthen the makespan
    double makespan_s = 0;           // the first unit's start to the last one's end; for mop a lower bound
    std::int64_t storage_bytes = 0;  // training rows held, summed over trainers
    std::int64_t memory_bytes = 0;   // of weights, gradients and optimizer slots on the rank that has most, at a time
};

// All on one trainer, one after another: nothing is sent. Memory: W + W + O.
Estimate estimate_sequential(Workload const& work);

// M (W+O) bytes x hops. Compute-bound makespan max(sum_m C_m / p, max_m C_m), C_m = k (steps c(b) + validation), of the open
// shop (Cerebro, VLDB 2020). Hops are hidden behind other models, so they lengthen a model's own chain by k hops_per_lap
// T_hop, and no trainer receives more than its link takes: max(sum_m C_m / p, max_m (C_m + hops), sum_m hops / p). Memory: a
// model in training and one on its way, 2(W+O) + W. hops_per_lap: p where all come home after a lap.
Estimate estimate_mop(Workload const& work, Cluster const& cluster, double hops_per_lap);

// Each model on one trainer, longest first; its weights come back (M W). replicated: every trainer first gets the missing
// (p-1)/p of the data, all at the same time. remote: it reads them in every epoch, which hides behind the computation.
Estimate estimate_task_parallel(Workload const& work, Cluster const& cluster, TaskData data);

// One model after another on all trainers, which validate it together (a K-th each). split: all together take the batch b,
// b/K rows each, in ceil(N/b) steps an epoch; per_worker: b rows each in ceil(N/(K b)) steps. Each reduces W bytes in
// buckets; all but the last can hide behind the backward pass, 2/3 of the step (twice the forward pass's work): exposed = T
// - min(T - T_last, 2/3 c). Bytes: steps 2(K-1)W. Memory: W + W + O.
struct AllReduceUse {
    Collective collective = Collective::ring;
    std::int64_t bucket_bytes = 25 << 20;  // as PyTorch's DDP
    GroupBatch batch = GroupBatch::split;
};
Estimate estimate_all_reduce(Workload const& work, Cluster const& cluster, AllReduceUse const& use);

// Groups of G trainers that train mop's units together (strategy.group_size). An epoch of a model's units on a group: as of
// all-reduce on G trainers, steps (c(b/G) + exposed), and for each bundle the state to the G-1 others, a + (G-1)(W+O)/B.
// Validation v: v/G after one more such state. With it the rest is as of mop, with groups for trainers. Bytes: mop's,
// 2(G-1)W a step, and the states to the others.
struct GroupUse {
    int size = 2, bundles = 1;
    AllReduceUse reduce = {Collective::direct};
};
std::int64_t bucket_bytes_of(StrategyConfig const& strategy);
GroupUse group_use(StrategyConfig const& strategy, int bundles);  // its sums are the deterministic all-reduce
double group_epoch_s(ModelWork const& model, Link const& link, GroupUse const& use);
double group_validation_s(ModelWork const& model, Link const& link, int size);
Estimate estimate_mop_in_groups(Workload const& work, Cluster const& groups, double hops_per_lap, GroupUse const& use);

// As all-reduce, but nothing hides behind the backward pass. Bytes: steps 2KW, colocated 2(K-1)W. Memory: a worker's 2W and
// a server's part of (W+O)/s with K pushes of W/s waiting; both on one rank if colocated.
Estimate estimate_parameter_server(Workload const& work, Cluster const& cluster, Servers const& servers, GroupBatch batch);

// Without barriers: ceil(N/b_local) updates an epoch, the workers' together, each worker's every async_update_seconds.
Estimate estimate_async_server(Workload const& work, Cluster const& cluster, Servers const& servers, GroupBatch batch);

// Model averaging (SparkNet, Moritz et al. 2016): each takes ceil(N/(K b)) local steps of b rows an epoch, or ceil(N/b) of
// b/K rows; after every `every_steps` of them and at the epoch's end (every_steps 0: only there) a round costs S =
// all_reduce_seconds and 2(K-1)W bytes. Makespan: steps c(b) + rounds S. Memory: W + W + O and the sum W.
struct AveragingUse {
    std::int64_t every_steps = 0;
    Collective collective = Collective::ring;  // star: through a master
    GroupBatch batch = GroupBatch::per_worker;
};
Estimate estimate_averaging(Workload const& work, Cluster const& cluster, AveragingUse const& use);

}  // namespace hopscotch
