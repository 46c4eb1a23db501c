// SPDX-License-Identifier: Apache-2.0
#include "rundir/journal_codec.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {
namespace {

constexpr std::pair<Outcome, std::string_view> k_outcomes[] = {{Outcome::finished, "finished"},
                                                               {Outcome::diverged, "diverged"},
                                                               {Outcome::failed, "failed"},
                                                               {Outcome::stopped, "stopped"}};

std::string_view outcome_name(Outcome outcome) {
    for (auto const& [value, name] : k_outcomes)
        if (value == outcome) return name;
    throw Error("unknown outcome");
}

Outcome outcome_of(std::string_view word) {
    for (auto const& [value, name] : k_outcomes)
        if (name == word) return value;
    throw Error("'outcome' is '" + std::string(word) + "' (known: finished, diverged, failed, stopped)");
}

double real(Json const& json, std::string_view key) {
    auto const& value = json.at(key);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.number();
}

std::int64_t amount(Json const& json, std::string_view key) { return integer_in(json, key, 0, INT64_MAX); }

Json to_json(UnitRecord const& unit) {
    auto out = Json::object({{"shard", unit.shard.value},
                             {"trainer", unit.trainer.value},
                             {"rows", unit.rows},
                             {"loss_sum", unit.loss_sum},
                             {"start_unix_s", unit.start_unix_s},
                             {"seconds", unit.seconds},
                             {"wait_s", unit.wait_s},
                             {"state_hash", to_hex(unit.state_hash)}});
    if (unit.cpu_s >= 0) out["cpu_s"] = unit.cpu_s;
    if (unit.gpu_use >= 0) out["gpu_use"] = unit.gpu_use;
    return out;
}

UnitRecord unit_from_json(Json const& json) {
    UnitRecord unit;
    unit.shard = ShardId(count_in(json, "shard"));
    unit.trainer = TrainerId(count_in(json, "trainer", k_most_trainers));
    unit.rows = amount(json, "rows");
    unit.loss_sum = real(json, "loss_sum");
    unit.start_unix_s = real(json, "start_unix_s");
    unit.seconds = real(json, "seconds");
    unit.wait_s = real(json, "wait_s");
    unit.state_hash = from_hex(json.at("state_hash").string());
    if (json.find("cpu_s") != nullptr) unit.cpu_s = real(json, "cpu_s");
    if (json.find("gpu_use") != nullptr) unit.gpu_use = real(json, "gpu_use");
    return unit;
}

// The units themselves, or the place where they are, with their sums.
Json units_json(LapRecord const& record, StoredUnits const& stored) {
    if (stored.at.job == 0) {
        Json::Array units;
        units.reserve(record.units.size());
        for (auto const& unit : record.units) units.push_back(to_json(unit));
        return Json(std::move(units));
    }
    auto const& totals = stored.totals;
    auto out = Json::object({{"job", stored.at.job},
                             {"offset", stored.at.offset},
                             {"count", totals.count},
                             {"rows", totals.rows},
                             {"loss_sum", totals.loss_sum},
                             {"seconds", totals.seconds},
                             {"end_unix_s", totals.end_unix_s}});
    if (totals.cpu_of_s > 0) {
        out["cpu_s"] = totals.cpu_s;
        out["cpu_of_s"] = totals.cpu_of_s;
    }
    if (totals.gpu_of_s > 0) {
        out["gpu_s"] = totals.gpu_s;
        out["gpu_of_s"] = totals.gpu_of_s;
    }
    return out;
}

void read_units(Json const& json, LapRecord& record) {
    if (json.is_array()) {  // a checkpoint, or a journal of an older version
        for (auto const& unit : json.array()) record.units.push_back(unit_from_json(unit));
        return;
    }
    record.stored.at.job = static_cast<int>(integer_in(json, "job", 1, k_most));
    record.stored.at.offset = static_cast<std::uint64_t>(amount(json, "offset"));
    record.stored.totals = {integer_in(json, "count", 0, k_most_units), amount(json, "rows"), real(json, "loss_sum"),
                            real(json, "seconds"), real(json, "end_unix_s")};
    if (json.find("cpu_s") != nullptr) {
        record.stored.totals.cpu_s = real(json, "cpu_s");
        record.stored.totals.cpu_of_s = real(json, "cpu_of_s");
    }
    if (json.find("gpu_s") != nullptr) {
        record.stored.totals.gpu_s = real(json, "gpu_s");
        record.stored.totals.gpu_of_s = real(json, "gpu_of_s");
    }
}

Json validation_json(LapRecord const& record) {
    auto out = Json::object({{"rows", record.valid.rows}});
    for (auto const& row : k_scores) out[row.key] = record.valid.*row.score;
    if (!record.valid.own.empty()) {
        auto own = Json::object({});
        for (auto const& score : record.valid.own) own[score.name] = score.value;
        out["own"] = std::move(own);
    }
    out["start_unix_s"] = record.valid.start_unix_s;
    out["seconds"] = record.valid.seconds;
    if (record.valid.trainers.empty()) return out;
    Json::Array trainers;
    for (auto const trainer : record.valid.trainers) trainers.emplace_back(trainer.value);
    out["trainers"] = std::move(trainers);
    return out;
}

void read_validation(Json const& json, LapRecord& record) {
    record.valid.rows = amount(json, "rows");
    for (auto const& row : k_scores)
        if (row.in_every_journal || json.find(row.key) != nullptr) record.valid.*row.score = real(json, row.key);
    if (auto const* own = json.find("own"))
        for (auto const& member : own->object()) record.valid.own.push_back({member.key, real(*own, member.key)});
    record.valid.start_unix_s = real(json, "start_unix_s");
    record.valid.seconds = real(json, "seconds");
    auto const* trainers = json.find("trainers");
    if (trainers == nullptr) return;
    for (auto const& trainer : trainers->array()) {
        auto const value = trainer.integer();
        if (value < 0 || value > k_most_trainers)
            throw Error(fmt::format("'trainers' has {} (from 0 to {} is possible)", value, k_most_trainers));
        record.valid.trainers.emplace_back(static_cast<int>(value));
    }
}

// Written only by strategies whose trainers wait for each other.
void read_exchange(Json const& json, LapRecord& record) {
    if (auto const* exposed = json.find("exposed_s"))
        for (auto const& seconds : exposed->array()) record.sync.exposed_s.push_back(seconds.number());
    if (json.find("sync_rounds") != nullptr) record.sync.rounds = amount(json, "sync_rounds");
    if (auto const* staleness = json.find("staleness"))
        for (auto const& gradients : staleness->array()) record.sync.staleness.push_back(gradients.integer());
}

}  // namespace

Json to_hex_or_null(std::uint64_t hash) { return hash == 0 ? Json() : Json(to_hex(hash)); }

std::uint64_t hash_in(Json const& json, std::string_view key) {
    auto const* value = json.find(key);
    return value == nullptr || value->is_null() ? 0 : from_hex(value->string());
}

std::int64_t integer_in(Json const& json, std::string_view key, std::int64_t low, std::int64_t high) {
    auto const value = json.at(key).integer();
    if (value < low || value > high)
        throw Error(fmt::format("'{}' is {} (from {} to {} is possible)", key, value, low, high));
    return value;
}

int count_in(Json const& json, std::string_view key, int most) { return static_cast<int>(integer_in(json, key, 0, most)); }

namespace {

Json to_json(LapId const& lap) { return Json::object({{"trial", lap.trial.value}, {"epoch", lap.epoch}}); }
LapId lap_id_from_json(Json const& json) { return {TrialId(count_in(json, "trial")), count_in(json, "epoch")}; }

}  // namespace

Json to_json(Lap const& lap) {
    auto out = Json::object({{"trial", lap.trial.value},
                             {"epoch", lap.epoch},
                             {"attempt", lap.attempt},
                             {"release", lap.release},
                             {"remaining_cost", lap.remaining_cost},
                             {"assignment", to_json(lap.assignment)}});
    if (lap.clone_of) out["clone_of"] = to_json(*lap.clone_of);
    if (lap.route.first.value >= 0) out["first_shard"] = lap.route.first.value;
    if (lap.route.direction == Direction::backward) out["backward"] = true;
    return out;
}

Lap lap_from_json(Json const& json) {
    Lap lap;
    lap.trial = TrialId(count_in(json, "trial"));
    lap.epoch = count_in(json, "epoch");
    lap.attempt = count_in(json, "attempt");
    lap.release = json.at("release").integer();
    lap.remaining_cost = real(json, "remaining_cost");
    lap.assignment = assignment_from_json(json.at("assignment"));
    if (auto const* source = json.find("clone_of")) lap.clone_of = lap_id_from_json(*source);
    if (json.find("first_shard") != nullptr) lap.route.first = ShardId(count_in(json, "first_shard"));
    if (auto const* backward = json.find("backward"); backward != nullptr && backward->boolean())
        lap.route.direction = Direction::backward;
    return lap;
}

Json to_json(Decision const& decision) {
    auto out = Json::object({{"kind", name_of(decision.kind)},
                             {"trial", decision.trial.value},
                             {"epoch", decision.epoch},
                             {"until_epoch", decision.until_epoch},
                             {"virtual_time", decision.virtual_time},
                             {"why", decision.why}});
    if (decision.kind == Decision::Kind::clone) out["source"] = to_json(decision.source);
    return out;
}

Decision decision_from_json(Json const& json) {
    Decision out;
    auto const& name = json.at("kind").string();
    bool known = false;
    for (auto const kind : {Decision::Kind::start, Decision::Kind::resume, Decision::Kind::go_on, Decision::Kind::finish,
                            Decision::Kind::pause, Decision::Kind::clone, Decision::Kind::stop}) {
        known |= name == name_of(kind);
        if (name == name_of(kind)) out.kind = kind;
    }
    if (!known) throw Error("'kind' is '" + name + "', which is not a decision");
    out.trial = TrialId(count_in(json, "trial"));
    out.epoch = static_cast<int>(integer_in(json, "epoch", -1, k_most));
    out.until_epoch = count_in(json, "until_epoch");
    out.virtual_time = real(json, "virtual_time");
    out.why = json.at("why").string();
    if (auto const* source = json.find("source")) out.source = lap_id_from_json(*source);
    return out;
}

Json to_json(Order const& order) {
    auto out = Json::object({{"kind", name_of(order.kind)}});
    if (order.kind != Order::Kind::finish) out["trial"] = order.trial.value;
    if (order.kind == Order::Kind::clone) out["epoch"] = order.epoch;
    if (order.kind == Order::Kind::clone) out["assignment"] = to_json(order.assignment);
    out["why"] = order.why;
    return out;
}

Order order_from_json(Json const& json) {
    Order out;
    auto const& name = json.at("kind").string();
    bool known = false;
    for (auto const kind : {Order::Kind::stop, Order::Kind::resume, Order::Kind::clone, Order::Kind::finish}) {
        known |= name == name_of(kind);
        if (name == name_of(kind)) out.kind = kind;
    }
    if (!known) throw Error("'kind' is '" + name + "' (known: stop, resume, clone, finish)");
    if (out.kind != Order::Kind::finish) out.trial = TrialId(count_in(json, "trial"));
    if (out.kind == Order::Kind::clone) out.epoch = count_in(json, "epoch");
    if (out.kind == Order::Kind::clone) out.assignment = assignment_from_json(json.at("assignment"));
    out.why = json.at("why").string();
    return out;
}

Json to_json(std::vector<Order> const& orders) {
    Json::Array out;
    for (auto const& order : orders) out.push_back(to_json(order));
    return out;
}

Json to_json(LapRecord const& record) { return to_json(record, record.stored); }

Json to_json(LapRecord const& record, StoredUnits const& stored) {
    auto out = Json::object({{"trial", record.trial.value},
                             {"epoch", record.epoch},
                             {"attempt", record.attempt},
                             {"outcome", outcome_name(record.outcome)},
                             {"reason", record.reason},
                             {"home", record.home.value},
                             {"hops", record.hops.count},
                             {"hop_bytes", record.hops.bytes},
                             {"lr", record.state.lr},
                             {"state_hash", to_hex(record.state.hash)},
                             {"begin_hash", to_hex_or_null(record.state.begin_hash)},
                             {"end_hash", to_hex_or_null(record.state.end_hash)},
                             {"state_bytes", record.state.bytes},
                             {"validation", validation_json(record)},
                             {"units", units_json(record, stored)}});
    if (record.cause != Cause::trial) out["cause"] = "surroundings";
    if (!record.orders.empty()) out["orders"] = to_json(record.orders);
    if (!record.sync.exposed_s.empty()) out["exposed_s"] = record.sync.exposed_s;
    if (record.sync.rounds > 0) out["sync_rounds"] = record.sync.rounds;
    if (!record.sync.staleness.empty()) out["staleness"] = record.sync.staleness;
    return out;
}

LapRecord lap_record_from_json(Json const& json) {
    LapRecord record;
    record.trial = TrialId(count_in(json, "trial"));
    record.epoch = count_in(json, "epoch");
    record.attempt = count_in(json, "attempt");
    record.outcome = outcome_of(json.at("outcome").string());
    record.reason = json.at("reason").string();
    record.home = TrainerId(integer_in(json, "home", -1, k_most_trainers));  // -1: between laps
    record.hops.count = amount(json, "hops");
    record.hops.bytes = amount(json, "hop_bytes");
    record.state.lr = real(json, "lr");
    record.state.hash = from_hex(json.at("state_hash").string());
    record.state.begin_hash = hash_in(json, "begin_hash");
    record.state.end_hash = hash_in(json, "end_hash");
    record.state.bytes = static_cast<std::uint64_t>(amount(json, "state_bytes"));
    read_validation(json.at("validation"), record);
    read_exchange(json, record);
    if (json.find("cause") != nullptr) record.cause = Cause::surroundings;
    if (auto const* orders = json.find("orders"))
        for (auto const& order : orders->array()) record.orders.push_back(order_from_json(order));
    read_units(json.at("units"), record);
    return record;
}

}  // namespace hopscotch
