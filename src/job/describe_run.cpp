// SPDX-License-Identifier: Apache-2.0
#include "job/describe_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <span>

#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/hash.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/build_info.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepared_run.hpp"
#include "rundir/past_run.hpp"
#include "schedule/policy.hpp"
#include "strategy/build_info.hpp"

namespace hopscotch {

std::string new_run_id() {
    auto const seed = fmt::format("{} {} {:.6f}", host_name(), getpid(), unix_s());
    return to_hex(xxh3(std::as_bytes(std::span(seed))));
}

RunFacts facts_of(PreparedRun const& prepared) {
    RunFacts facts;
    facts.experiment = prepared.inputs.experiment.document;
    facts.name = prepared.inputs.experiment.name;
    facts.seed = prepared.inputs.experiment.seed;
    facts.build.version = build_info().version;
    facts.build.git_hash = build_info().git;
    facts.build.libraries = Json::object({{"torch", build_info().torch}});
    facts.dataset_hash = to_hex(dataset_hash(prepared.inputs.manifest));
    facts.files = prepared.inputs.files;
    facts.strategy = prepared.inputs.experiment.strategy.name;
    facts.fleet.hosts = prepared.fleet.hosts;
    facts.fleet.owners = prepared.owners_of_files();
    facts.fleet.owners.trainers = prepared.fleet.trainers;
    facts.bits.any_trainers = strategy_traits(facts.strategy).bits == Bits::any_trainers &&
                              !policy_named(prepared.inputs.experiment.strategy.policy).dispatched();
    facts.bits.approximate = (prepared.fleet.on_gpu && !prepared.inputs.experiment.run.gpu.deterministic) ||
                             (prepared.inputs.earlier && prepared.inputs.earlier->facts.bits.approximate);
    facts.bits.same_again = !facts.bits.approximate && !has_server_log(prepared.inputs.experiment.strategy);
    facts.plan.in_flight = prepared.plan.admits;
    facts.plan.routes = prepared.plan.routes;
    facts.fleet.collectives = prepared.fleet.collectives;
    if (prepared.inputs.earlier) facts.plan.extended = prepared.inputs.earlier->facts.plan.extended;
    if (prepared.inputs.earlier) facts.test = prepared.inputs.earlier->facts.test;
    facts.start_unix_s = prepared.inputs.earlier ? prepared.inputs.earlier->facts.start_unix_s : unix_s();
    facts.run_id = prepared.inputs.run_id;
    if (!prepared.inputs.experiment.search.proposals.start_from.empty() && !prepared.inputs.earlier)
        facts.past = to_json(prepared.inputs.context.past);
    return facts;
}

}  // namespace hopscotch
