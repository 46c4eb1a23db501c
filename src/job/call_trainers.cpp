// SPDX-License-Identifier: Apache-2.0
#include "job/call_trainers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "comm/peers.hpp"
#include "comm/world.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/build_info.hpp"
#include "job/run_owners.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/together/collectives.hpp"

namespace hopscotch {
namespace {

RollCall hear(PreparedRun const& prepared, Courier& courier, int incarnation) {
    auto const& run = prepared.inputs.experiment.run;
    CheckpointTarget const target{std::filesystem::absolute(run.dir), prepared.inputs.run_id, incarnation,
                                  run.checkpoints.every_s, run.checkpoints.mbps};
    Welcome welcome{prepared.inputs.experiment.document.dump(), prepared.inputs.experiment.strategy.name,
                    prepared.owners_of_files(), prepared.plan.state_bytes, target};
    for (auto const& [path, hash] : prepared.inputs.files) welcome.files.push_back({path, hash});
    return call_roll(courier, welcome, build_info(), run);
}

// Every trainer the same number of whole shards, as before speeds and replicas.
void deal_equally(PreparedRun& prepared, Courier& courier) {
    auto const lost = prepared.fleet.owners.lost;
    prepared.fleet.equal_owners = true;
    prepared.fleet.owners = owners_of_run(prepared, {});
    std::vector<TrainerId> heirs;
    for (auto const rank : courier.peers().living()) heirs.push_back(trainer_of(rank));
    for (auto const trainer : lost) prepared.fleet.owners = without(prepared.fleet.owners, trainer, heirs);
}

RollCall hear_or_deal_equally(PreparedRun& prepared, Courier& courier, int incarnation) {
    try {
        return hear(prepared, courier, incarnation);
    } catch (ConfigError const& error) {
        if (prepared.fleet.owners.replicas() == 0 && prepared.fleet.owners.speed.empty()) throw;
        deal_equally(prepared, courier);
        log_warning(fmt::format("shards are dealt out equally, without replicas, because of this error: {}", error.what()));
    }
    return hear(prepared, courier, incarnation);
}

// Torch has one thread for the backward passes of all threads on a GPU. If batch norm waited in this thread for another
// trainer, the backward pass of the other trainer could not start.
void refuse_waiting_backward_passes(StrategyConfig const& strategy, Courier& courier,
                                    std::map<Rank, HostDevice> const& devices) {
    if (strategy.batch_norm != NormStatistics::sync || courier.world().name() != "threads") return;
    auto const ranks = ranks_of_a_shared_gpu(devices);
    if (!ranks.empty())
        throw ConfigError(fmt::format(
            "strategy.batch_norm \"sync\" does not work for trainers that are threads of one process and share a GPU "
            "(ranks {}; their backward passes wait for each other); start them with mpirun, or use \"local\"",
            fmt::join(ranks, ", ")));
}

// Makes the same choice as the trainers, before anything is trained.
void choose_collectives_of(PreparedRun& prepared, std::map<Rank, HostDevice> const& devices) {
    auto const choice = choose_collectives(prepared.inputs.experiment, prepared.fleet.owners, devices);
    if (has_collectives(prepared.inputs.experiment.strategy))
        prepared.fleet.collectives = choice.used == Collectives::nccl ? "nccl" : "mpi";
    if (!choice.why.empty()) log_info(fmt::format("sums of the trainers go through host memory, not NCCL: {}", choice.why));
}

}  // namespace

RollCall call_living_trainers(PreparedRun& prepared, Courier& courier, int incarnation) {
    auto roll = hear_or_deal_equally(prepared, courier, incarnation);
    if (std::holds_alternative<Setback>(roll)) return roll;
    prepared.fleet.hosts.resize(static_cast<std::size_t>(prepared.fleet.trainers));
    std::map<Rank, HostDevice> devices;
    auto const& hellos = std::get<std::map<Rank, Hello>>(roll);
    refuse_several_gpus(courier.world(), hellos);
    for (auto const& [rank, hello] : hellos) {
        prepared.fleet.hosts[trainer_of(rank).index()] = hello.host;
        if (hello.device.is_gpu()) prepared.fleet.on_gpu = true;
        devices[rank] = {hello.host, hello.device};
    }
    refuse_waiting_backward_passes(prepared.inputs.experiment.strategy, courier, devices);
    choose_collectives_of(prepared, devices);
    return roll;
}

}  // namespace hopscotch
