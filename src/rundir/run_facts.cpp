// SPDX-License-Identifier: Apache-2.0
// experiment.json of a run directory.
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "experiment/procedures.hpp"
#include "rundir/journal_codec.hpp"
#include "rundir/run_directory.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> strings(Json const& array) {
    std::vector<std::string> out;
    for (auto const& value : array.array()) out.push_back(value.string());
    return out;
}

// [{"shard": 1, "trainers": [0, 1], "until": [0.33, 1]}, ...]
Json replicas_json(OwnerTable const& owners) {
    Json::Array out;
    for (std::size_t s = 0; s < owners.shares.size(); ++s) {
        Json::Array trainers, until;
        for (auto const& share : owners.shares[s]) {
            trainers.push_back(share.trainer.value);
            until.emplace_back(share.until);
        }
        if (trainers.empty()) continue;
        auto const shard = static_cast<std::int64_t>(s);
        out.push_back(Json::object({{"shard", shard}, {"trainers", std::move(trainers)}, {"until", std::move(until)}}));
    }
    return Json(std::move(out));
}

// Runs of older versions have neither replicas nor speeds.
void add_replicas(Json const& json, OwnerTable& owners) {
    if (auto const* speed = json.find("speed"))
        for (auto const& each : speed->array()) owners.speed.push_back(each.number());
    auto const* replicas = json.find("replicas");
    if (replicas == nullptr) return;
    owners.shares.resize(owners.owner.size());
    for (auto const& of_shard : replicas->array()) {
        auto const shard = integer_in(of_shard, "shard", 0, std::ssize(owners.owner) - 1);
        auto const &trainers = of_shard.at("trainers").array(), &until = of_shard.at("until").array();
        if (trainers.size() != until.size() || trainers.size() < 2)
            throw Error(
                fmt::format("'replicas' has {} trainers and {} numbers for shard {}", trainers.size(), until.size(), shard));
        for (std::size_t i = 0; i < trainers.size(); ++i) {
            if (trainers[i].integer() < 0 || trainers[i].integer() >= owners.trainers)
                throw Error(
                    fmt::format("'replicas' names trainer {} (there are {})", trainers[i].integer(), owners.trainers));
            owners.shares[static_cast<std::size_t>(shard)].push_back({TrainerId(trainers[i].integer()), until[i].number()});
        }
    }
}

OwnerTable owners_from_json(Json const& json) {
    OwnerTable owners;
    owners.trainers = static_cast<int>(integer_in(json, "trainers", 1, k_most_trainers));
    for (auto const& owner : json.at("owners").array()) {
        if (owner.integer() < 0 || owner.integer() >= owners.trainers)
            throw Error(fmt::format("'owners' names trainer {} (there are {})", owner.integer(), owners.trainers));
        owners.owner.emplace_back(owner.integer());
    }
    add_replicas(json, owners);
    return owners;
}

// Runs of versions that had LibTorch's step alone do not name it. Throws if the experiment is not an object.
void add_engine(Json& experiment) {
    experiment.object();
    auto const* train = experiment.find("train");
    if (train == nullptr || train->find("engine") == nullptr) experiment.set("train.engine", "torch");
}

// Runs of versions whose rules decided after the first epoch by default do not say so.
void add_first_decision(Json& experiment) {
    auto const* search = experiment.find("search");
    auto const* procedure = search != nullptr ? search->find("procedure") : nullptr;
    bool const decides = procedure != nullptr && procedure_traits(procedure->string()).first_share > 0;
    if (decides && search->find("min_epochs") == nullptr) experiment.set("search.min_epochs", 1);
}

}  // namespace

Json to_json(RunFacts const& facts) {
    Json::Array owners, hosts;
    for (auto const trainer : facts.fleet.owners.owner) owners.push_back(trainer.value);
    for (auto const& host : facts.fleet.hosts) hosts.push_back(host);
    auto out = Json::object({{"hopscotch", Json::object({{"version", facts.build.version},
                                                         {"git", facts.build.git_hash},
                                                         {"libraries", facts.build.libraries}})},
                             {"name", facts.name},
                             {"seed", facts.seed},
                             {"dataset_hash", facts.dataset_hash},
                             {"strategy", facts.strategy},
                             {"trainers", facts.trainers()},
                             {"hosts", std::move(hosts)},
                             {"owners", std::move(owners)},
                             {"start_unix_s", facts.start_unix_s},
                             {"run_id", facts.run_id},
                             {"approximate", facts.bits.approximate},
                             {"in_flight", facts.plan.in_flight},
                             {"experiment", facts.experiment}});
    Json files = Json::object({});
    for (auto const& [path, hash] : facts.files) files[path] = to_hex(hash);
    out["files"] = std::move(files);
    if (facts.plan.routes != RoutePlan{})
        out["routes"] =
            Json::object({{"permutation", facts.plan.routes.permutation}, {"long_from", facts.plan.routes.long_from}});
    if (facts.fleet.owners.replicas() > 0) out["replicas"] = replicas_json(facts.fleet.owners);
    if (!facts.fleet.owners.speed.empty()) out["speed"] = facts.fleet.owners.speed;
    if (!facts.fleet.collectives.empty()) out["collectives"] = facts.fleet.collectives;
    if (!facts.plan.extended.empty()) out["extended"] = facts.plan.extended;
    if (!facts.test.is_null()) out["test"] = facts.test;
    return out;
}

RunFacts read_run_facts(fs::path const& directory) {
    auto const file = directory / "experiment.json";
    auto const json = parse_json_or_throw(read_whole(file), file.string());
    RunFacts facts;
    try {
        auto const& hopscotch = json.at("hopscotch");
        facts.build.version = hopscotch.at("version").string();
        facts.build.git_hash = hopscotch.at("git").string();
        facts.build.libraries = hopscotch.at("libraries");
        facts.name = json.at("name").string();
        facts.seed = json.at("seed").integer();
        facts.dataset_hash = json.at("dataset_hash").string();
        facts.strategy = json.at("strategy").string();
        facts.fleet.hosts = strings(json.at("hosts"));
        facts.fleet.owners = owners_from_json(json);
        facts.start_unix_s = json.at("start_unix_s").number();
        facts.experiment = json.at("experiment");
        add_engine(facts.experiment);
        add_first_decision(facts.experiment);
        if (auto const* files = json.find("files"))  // runs of older versions do not name any
            for (auto const& [path, hash, position] : files->object()) facts.files[path] = from_hex(hash.string());
        if (auto const* in_flight = json.find("in_flight")) facts.plan.in_flight = in_flight->integer();
        if (auto const* routes = json.find("routes"))
            facts.plan.routes = {static_cast<int>(routes->at("permutation").integer()), routes->at("long_from").number()};
        if (auto const* approximate = json.find("approximate")) facts.bits.approximate = approximate->boolean();
        if (auto const* collectives = json.find("collectives")) facts.fleet.collectives = collectives->string();
        if (auto const* extended = json.find("extended"))
            for (auto const& trials : extended->array()) facts.plan.extended.push_back(trials.integer());
        if (auto const* test = json.find("test")) facts.test = *test;
        if (auto const* id = json.find("run_id")) facts.run_id = id->string();  // runs of older versions have none
    } catch (Error const& error) {                                              // adds the file, unknown to at()
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
    return facts;
}

}  // namespace hopscotch
