// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/strategy_cost.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr double k_backward = 2.0 / 3.0;  // of a step: the backward pass does twice the forward pass's work

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t steps_of(ModelWork const& model) { return model.epochs * ceil_div(model.rows, model.batch); }

// C_m: the whole model on one trainer.
double alone_s(ModelWork const& model) {
    return static_cast<double>(steps_of(model)) * model.step_s(static_cast<double>(model.batch)) +
           static_cast<double>(model.epochs) * model.validation_s;
}

std::vector<double> alone_s(Workload const& work) {
    std::vector<double> out;
    for (auto const& model : work.models) out.push_back(alone_s(model));
    return out;
}

double sum(std::vector<double> const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

template <class Bytes>
std::int64_t largest(Workload const& work, Bytes const& bytes) {
    std::int64_t most = 0;
    for (auto const& model : work.models) most = std::max<std::int64_t>(most, bytes(model));
    return most;
}

std::int64_t training_memory(ModelWork const& model) { return model.weight_bytes + model.state_bytes(); }

// A model trained by all trainers together.
struct Together {
    double step_s = 0;
    std::int64_t steps = 0;  // of the run, for all workers the same
};

Together together(ModelWork const& model, int trainers, GroupBatch use) {
    double const batch = static_cast<double>(model.batch);
    if (use == GroupBatch::split) return {model.step_s(batch / trainers), steps_of(model)};
    return {model.step_s(batch), model.epochs * ceil_div(model.rows, model.batch * trainers)};
}

// Adds a model whose steps cost step_s and whose exchanges (bytes, seconds in sight) come on top.
void add_together(Estimate& out, ModelWork const& model, Together const& run, int trainers) {
    double const compute =
        static_cast<double>(run.steps) * run.step_s + static_cast<double>(model.epochs) * model.validation_s / trainers;
    out.compute_s += compute * trainers;
    out.makespan_s += compute;
}

void add_exposed(Estimate& out, double seconds) {
    out.communication_s += seconds;
    out.makespan_s += seconds;
}

// The part of a bucketed all-reduce that is left when the backward pass is over.
double exposed_s(ModelWork const& model, Cluster const& cluster, AllReduceUse const& use, double step_s) {
    auto const seconds = [&](std::int64_t bytes) {
        return all_reduce_seconds(use.collective, cluster.trainers, static_cast<double>(bytes), cluster.link);
    };
    auto const full = std::max<std::int64_t>(0, ceil_div(model.weight_bytes, use.bucket_bytes) - 1);
    double const hideable = static_cast<double>(full) * seconds(use.bucket_bytes);
    double const last = seconds(model.weight_bytes - full * use.bucket_bytes);
    return hideable + last - std::min(hideable, k_backward * step_s);
}

std::int64_t server_bytes(int workers, Servers const& servers, std::int64_t weight_bytes) {
    auto const home = servers.placement == ServerPlacement::colocated ? std::optional(TrainerId(0)) : std::nullopt;
    PartAndHome const all{weight_bytes, home};  // the sum is the same, whichever worker serves a part
    return parameter_server_step_bytes(workers, {&all, 1});
}

std::int64_t server_memory(Workload const& work, int workers, Servers const& servers) {
    return largest(work, [&](ModelWork const& model) {
        auto const worker = 2 * model.weight_bytes;
        auto const server = ceil_div(model.state_bytes() + workers * model.weight_bytes, servers.count);
        return servers.placement == ServerPlacement::colocated ? worker + server : std::max(worker, server);
    });
}

}  // namespace

Estimate estimate_sequential(Workload const& work) {
    Estimate out;
    out.compute_s = out.makespan_s = sum(alone_s(work));
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = largest(work, training_memory);
    return out;
}

Estimate estimate_mop(Workload const& work, Cluster const& cluster, double hops_per_lap) {
    Estimate out;
    auto const alone = alone_s(work);
    auto const compute = makespan_bounds(alone, cluster.trainers).lower;
    out.makespan_s = compute;
    double transfers = 0, bytes = 0;
    for (std::size_t m = 0; m < work.models.size(); ++m) {
        auto const& model = work.models[m];
        auto const state = static_cast<double>(model.state_bytes());
        double const hops = static_cast<double>(model.epochs) * (cluster.trainers == 1 ? 0 : hops_per_lap);
        double const seconds = hops * hop_seconds(state, cluster.link);
        bytes += hops * state;
        transfers += seconds;
        out.makespan_s = std::max(out.makespan_s, alone[m] + seconds);
    }
    out.makespan_s = std::max(out.makespan_s, transfers / cluster.trainers);
    out.network_bytes = static_cast<std::int64_t>(bytes + 0.5);
    out.compute_s = sum(alone);
    out.communication_s = out.makespan_s - compute;
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = largest(work, [](auto const& model) { return 2 * model.state_bytes() + model.weight_bytes; });
    return out;
}

Estimate estimate_task_parallel(Workload const& work, Cluster const& cluster, TaskData data) {
    Estimate out;
    int const trainers = cluster.trainers;
    auto costs = alone_s(work);
    out.compute_s = sum(costs);
    double const compute = longest_first_makespan(costs, trainers);
    double const missing_s = static_cast<double>(replication_bytes(work.dataset_bytes, trainers, DataAt::trainers)) /
                             trainers / cluster.link.bytes_per_s;
    std::int64_t passes = 0;
    for (std::size_t m = 0; m < costs.size(); ++m) {
        auto const& model = work.models[m];
        passes += model.epochs;
        if (trainers > 1) out.network_bytes += model.weight_bytes;
        if (data == TaskData::remote) costs[m] = std::max(costs[m], static_cast<double>(model.epochs) * missing_s);
    }
    bool const copied = data == TaskData::replicated;
    out.makespan_s = longest_first_makespan(costs, trainers) + (copied ? missing_s : 0);
    out.communication_s = out.makespan_s - compute;
    out.network_bytes += copied ? replication_bytes(work.dataset_bytes, trainers, DataAt::trainers)
                                : remote_read_bytes(work.dataset_bytes, passes, trainers, DataAt::trainers);
    out.storage_bytes = work.dataset_bytes * (copied ? trainers : 1);
    out.memory_bytes = largest(work, training_memory);
    return out;
}

Estimate estimate_all_reduce(Workload const& work, Cluster const& cluster, AllReduceUse const& use) {
    require(use.bucket_bytes >= 1, "a bucket needs at least one byte");
    Estimate out;
    for (auto const& model : work.models) {
        auto const run = together(model, cluster.trainers, use.batch);
        add_together(out, model, run, cluster.trainers);
        add_exposed(out, static_cast<double>(run.steps) * exposed_s(model, cluster, use, run.step_s));
        out.network_bytes += run.steps * all_reduce_bytes(cluster.trainers, model.weight_bytes);
    }
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = largest(work, training_memory);
    return out;
}

namespace {

double broadcast_s(ModelWork const& model, Link const& link, int size) {
    return link.latency_s + (size - 1) * static_cast<double>(model.state_bytes()) / link.bytes_per_s;
}

// A model whose epochs are one step each.
ModelWork with_epoch_s(ModelWork model, double seconds, double validation_s) {
    model.rows = model.batch = 1;
    model.fixed_s = seconds;
    model.row_s = 0;
    model.validation_s = validation_s;
    return model;
}

}  // namespace

std::int64_t bucket_bytes_of(StrategyConfig const& strategy) {
    return static_cast<std::int64_t>(std::max(1.0, strategy.reduce.bucket_mb * (1 << 20)));
}

GroupUse group_use(StrategyConfig const& strategy, int bundles) {
    return {strategy.group_size, bundles, {Collective::direct, bucket_bytes_of(strategy), strategy.batch}};
}

double group_epoch_s(ModelWork const& model, Link const& link, GroupUse const& use) {
    auto const run = together(model, use.size, use.reduce.batch);
    auto const steps = static_cast<double>(run.steps) / static_cast<double>(model.epochs);
    return steps * (run.step_s + exposed_s(model, {use.size, link}, use.reduce, run.step_s)) +
           use.bundles * broadcast_s(model, link, use.size);
}

double group_validation_s(ModelWork const& model, Link const& link, int size) {
    return model.validation_s == 0 ? 0 : model.validation_s / size + broadcast_s(model, link, size);
}

Estimate estimate_mop_in_groups(Workload const& work, Cluster const& groups, double hops_per_lap, GroupUse const& use) {
    Workload of_groups, of_compute;
    double compute_s = 0;
    std::int64_t bytes = 0;
    of_groups.dataset_bytes = work.dataset_bytes;
    for (auto const& model : work.models) {
        auto const run = together(model, use.size, use.reduce.batch);
        auto const steps_s = static_cast<double>(run.steps) * run.step_s;
        of_groups.models.push_back(
            with_epoch_s(model, group_epoch_s(model, groups.link, use), group_validation_s(model, groups.link, use.size)));
        of_compute.models.push_back(
            with_epoch_s(model, steps_s / static_cast<double>(model.epochs), model.validation_s / use.size));
        auto const broadcasts = model.epochs * (use.bundles + (model.validation_s == 0 ? 0 : 1));
        compute_s += use.size * steps_s + static_cast<double>(model.epochs) * model.validation_s;
        bytes +=
            run.steps * all_reduce_bytes(use.size, model.weight_bytes) + broadcasts * (use.size - 1) * model.state_bytes();
    }
    auto out = estimate_mop(of_groups, groups, hops_per_lap);
    out.network_bytes += bytes;
    out.compute_s = compute_s;
    out.communication_s = out.makespan_s - makespan_bounds(alone_s(of_compute), groups.trainers).lower;
    return out;
}

Estimate estimate_parameter_server(Workload const& work, Cluster const& cluster, Servers const& servers, GroupBatch batch) {
    Estimate out;
    for (auto const& model : work.models) {
        auto const run = together(model, cluster.trainers, batch);
        add_together(out, model, run, cluster.trainers);
        double const weights = static_cast<double>(model.weight_bytes);
        add_exposed(out, static_cast<double>(run.steps) *
                             parameter_server_seconds(cluster.trainers, servers, weights, cluster.link));
        out.network_bytes += run.steps * server_bytes(cluster.trainers, servers, model.weight_bytes);
    }
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = server_memory(work, cluster.trainers, servers);
    return out;
}

Estimate estimate_async_server(Workload const& work, Cluster const& cluster, Servers const& servers, GroupBatch batch) {
    Estimate out;
    for (auto const& model : work.models) {
        auto const run = together(model, cluster.trainers, batch);
        add_together(out, model, run, cluster.trainers);
        double const every = async_update_seconds(cluster.trainers, servers.count, run.step_s,
                                                  static_cast<double>(model.weight_bytes), cluster.link);
        add_exposed(out, static_cast<double>(run.steps) * (every - run.step_s));
        // At the beginning of a lap all workers are in step: the first gradients come in before anything can go out.
        int const remote = cluster.trainers - (servers.placement == ServerPlacement::colocated ? 1 : 0);
        add_exposed(out, static_cast<double>(model.epochs * remote) * static_cast<double>(model.weight_bytes) /
                             servers.count / cluster.link.bytes_per_s);
        // A synchronous step is one push and pull of every worker.
        out.network_bytes += run.steps * server_bytes(cluster.trainers, servers, model.weight_bytes);
    }
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = server_memory(work, cluster.trainers, servers);
    return out;
}

Estimate estimate_averaging(Workload const& work, Cluster const& cluster, AveragingUse const& use) {
    Estimate out;
    for (auto const& model : work.models) {
        auto const run = together(model, cluster.trainers, use.batch);
        add_together(out, model, run, cluster.trainers);
        auto const per_epoch = run.steps / std::max<std::int64_t>(model.epochs, 1);
        auto const rounds = model.epochs * (use.every_steps == 0 ? 1 : ceil_div(per_epoch, use.every_steps));
        add_exposed(out,
                    static_cast<double>(rounds) * all_reduce_seconds(use.collective, cluster.trainers,
                                                                     static_cast<double>(model.weight_bytes), cluster.link));
        out.network_bytes += rounds * all_reduce_bytes(cluster.trainers, model.weight_bytes);
    }
    out.storage_bytes = work.dataset_bytes;
    out.memory_bytes = largest(work, [](auto const& model) { return training_memory(model) + model.weight_bytes; });
    return out;
}

}  // namespace hopscotch
