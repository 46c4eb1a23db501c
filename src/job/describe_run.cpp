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
#include "job/prepare.hpp"
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
    facts.experiment = prepared.experiment.document;
    facts.name = prepared.experiment.name;
    facts.seed = prepared.experiment.seed;
    facts.version = build_info().version;
    facts.git_hash = build_info().git;
    facts.versions = Json::object({{"torch", build_info().torch}});
    facts.dataset_hash = to_hex(dataset_hash(prepared.manifest));
    facts.files = prepared.files;
    facts.strategy = prepared.experiment.strategy.name;
    facts.hosts = prepared.hosts;
    facts.owners = prepared.owners_of_files();
    facts.owners.trainers = prepared.trainers;
    facts.any_trainers = strategy_traits(facts.strategy).bits == Bits::any_trainers &&
                         !policy_named(prepared.experiment.strategy.policy).dispatched();
    facts.approximate = (prepared.on_gpu && !prepared.experiment.run.deterministic) ||
                        (prepared.earlier && prepared.earlier->facts.approximate);
    facts.same_bits_again = !facts.approximate && !has_server_log(prepared.experiment.strategy);
    facts.in_flight = prepared.admits;
    facts.routes = prepared.routes;
    facts.collectives = prepared.collectives;
    if (prepared.earlier) facts.extended = prepared.earlier->facts.extended;
    if (prepared.earlier) facts.test = prepared.earlier->facts.test;
    facts.start_unix_s = prepared.earlier ? prepared.earlier->facts.start_unix_s : unix_s();
    facts.run_id = prepared.run_id;
    if (!prepared.experiment.search.start_from.empty() && !prepared.earlier) facts.past = to_json(prepared.context.past);
    return facts;
}

}  // namespace hopscotch
