// SPDX-License-Identifier: Apache-2.0
#include "rundir/summary.hpp"

#include <algorithm>

#include "core/durable_file.hpp"
#include "core/hash.hpp"
#include "experiment/metric.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {
namespace {

Json metrics_or_null(std::optional<Metrics> const& metrics) { return metrics ? to_json(*metrics) : Json(); }

Json milliseconds(std::optional<Percentiles> const& seconds) {
    if (!seconds) return {};
    return Json::object({{"p50", seconds->p50 * 1e3}, {"p99", seconds->p99 * 1e3}});
}

Json to_json(TrialSummary const& trial) {
    auto out = Json::object({{"id", trial.id.value},
                             {"status", trial.status},
                             {"reason", trial.reason},
                             {"config", to_json(trial.assignment)},
                             {"epochs", trial.tally.epochs},
                             {"best", metrics_or_null(trial.tally.best)},
                             {"last", metrics_or_null(trial.tally.last)},
                             {"state_hash", trial.tally.last ? Json(to_hex(trial.tally.state_hash)) : Json()},
                             {"train_s", trial.tally.train_s},
                             {"cpu_s", trial.tally.cpu_s()},
                             {"cpu_use", trial.tally.cpu.share()}});
    for (auto const& [name, value] : trial.measures) out["measures"][name] = value;
    return out;
}

Json to_json(ByteCounts const& bytes) {
    return Json::object(
        {{"state", bytes.state}, {"gradient", bytes.gradient}, {"data", bytes.data}, {"control", bytes.control}});
}

Json to_json(std::vector<ByteCounts> const& by_rank) {
    Json::Array out;
    for (auto const& bytes : by_rank) out.push_back(to_json(bytes));
    return out;
}

// Keys that not every run has.
Json to_json(CheckpointFacts const& made) {
    Json::Array at_risk;
    for (auto const trial : made.at_risk) at_risk.emplace_back(static_cast<std::int64_t>(trial.value));
    return Json::object({{"written", made.written}, {"longest_gap_s", made.longest_gap_s}, {"at_risk", std::move(at_risk)}});
}

Json to_json(std::vector<TrainerLoss> const& losses) {
    Json::Array out;
    for (auto const& loss : losses)
        out.push_back(Json::object(
            {{"trainer", loss.trainer.value}, {"host", loss.host}, {"unix_s", loss.unix_s}, {"reason", loss.reason}}));
    return out;
}

Json to_json(std::vector<OwnersMoved> const& moves) {
    Json::Array out;
    for (auto const& move : moves)
        out.push_back(Json::object({{"unix_s", move.unix_s}, {"speed", move.speed}, {"reason", move.reason}}));
    return out;
}

void add_what_applies(Summary const& summary, Json& out) {
    if (!summary.sync.exposed_s.empty()) out["exposed_s"] = summary.sync.exposed_s;
    if (!summary.sync.staleness.empty()) out["staleness"] = summary.sync.staleness;
    if (!summary.setting.batch_norm.empty()) out["batch_norm"] = summary.setting.batch_norm;
    if (!summary.setting.collectives.empty()) out["collectives"] = summary.setting.collectives;
    if (!summary.setting.injected.empty()) out["injected"] = summary.setting.injected;
    if (summary.history.jobs > 1) out["jobs"] = summary.history.jobs;
    if (!summary.history.lost.empty()) out["lost"] = to_json(summary.history.lost);
    if (!summary.history.moved.empty()) out["owners_moved"] = to_json(summary.history.moved);
    if (summary.times.hop_s) out["hop_ms"] = milliseconds(summary.times.hop_s);
    if (summary.setting.synthetic) out["synthetic"] = true;
    if (summary.history.retries > 0) out["retries"] = summary.history.retries;
    if (summary.status != RunStatus::finished || !summary.reason.empty()) out["reason"] = summary.reason;
}

Json to_json(Summary const& summary, GroupTally const& group) {
    Json::Array ids;
    for (auto const trial : group.trials) ids.emplace_back(trial.value);
    return Json::object({{"trials", std::move(ids)},
                         {"config", to_json(configuration_of(summary.trials.at(group.trials.front().index()).assignment))},
                         {"mean", group.mean ? Json(*group.mean) : Json()},
                         {"spread", group.mean ? Json(group.spread) : Json()},
                         {"values", group.values}});
}

Json to_json(ParetoFront const& front) {
    Json::Array trials, values;
    for (auto const& point : front.points) {
        trials.emplace_back(point.trial.value);
        values.emplace_back(Json(point.values));
    }
    auto out = Json::object({{"metrics", Json(front.names)}, {"trials", std::move(trials)}, {"values", std::move(values)}});
    out["knee"] = Json();
    if (front.knee) out["knee"] = front.knee->value;
    out["hypervolume"] = front.hypervolume;
    if (front.misses_bounds) out["misses_bounds"] = true;
    return out;
}

Json to_json(AblationRow const& row) {
    return Json::object({{"key", row.key},
                         {"value", row.value},
                         {"trial", row.trial.value},
                         {"difference", row.difference ? Json(*row.difference) : Json()}});
}

// Keys that only some searches have.
void add_comparisons(Summary const& summary, Json& out) {
    if (summary.result.objective == Objective::best) out["objective"] = "best";
    if (!summary.groups.empty()) {
        Json::Array groups;
        for (auto const& group : summary.groups) groups.push_back(to_json(summary, group));
        out["groups"] = std::move(groups);
    }
    if (summary.pareto) out["pareto"] = to_json(*summary.pareto);
    if (summary.ablation.empty()) return;
    Json::Array rows;
    for (auto const& row : summary.ablation) rows.push_back(to_json(row));
    out["ablation"] = std::move(rows);
}

}  // namespace

std::optional<Metrics> test_from_json(Json const& test) {
    if (!test.is_object()) return std::nullopt;
    Metrics out;
    out.epoch = static_cast<int>(test.at("epoch").integer());
    out.rows = test.at("rows").integer();
    for (auto const& metric : metric_traits())
        if (auto const* value = test.find(metric.short_name()); value != nullptr && value->is_number())
            metric_place(out, metric.name) = value->number();
    for (auto const& [key, value, _] : test.object())
        if (auto const name = "val_" + key; value.is_number() && may_be_own_metric(name) && key != "epoch" && key != "rows")
            out.own.push_back({name, value.number()});
    return out;
}

std::optional<ParetoFront> pareto_from_json(Json const& summary) {
    auto const* pareto = summary.find("pareto");
    if (pareto == nullptr) return std::nullopt;
    ParetoFront out;
    for (auto const& name : pareto->at("metrics").array()) out.names.push_back(name.string());
    auto const &trials = pareto->at("trials").array(), &values = pareto->at("values").array();
    if (out.names.size() < 2 || out.names.size() > k_most_objectives || trials.size() != values.size()) return std::nullopt;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        auto& point = out.points.emplace_back();
        point.trial = TrialId(trials[i].integer());
        for (auto const& value : values[i].array()) point.values.push_back(value.number());
        if (point.values.size() != out.names.size()) return std::nullopt;
    }
    // A run of an earlier version has neither.
    if (auto const* knee = pareto->find("knee"); knee != nullptr && !knee->is_null()) out.knee = TrialId(knee->integer());
    if (auto const* volume = pareto->find("hypervolume")) out.hypervolume = volume->number();
    out.misses_bounds = pareto->find("misses_bounds") != nullptr;
    return out;
}

std::string_view name_of(RunStatus status) {
    switch (status) {
        case RunStatus::finished: return "finished";
        case RunStatus::interrupted: return "interrupted";
        case RunStatus::failed: break;
    }
    return "failed";
}

bool has_gpu_use(Summary const& summary) {
    return std::ranges::any_of(summary.trials, [](TrialSummary const& trial) { return trial.tally.gpu.is_known(); });
}

namespace {

Json::Array trials_json(Summary const& summary) {
    Json::Array out;
    bool const gpu = has_gpu_use(summary);
    for (auto const& trial : summary.trials) {
        out.push_back(to_json(trial));
        if (!gpu) continue;
        out.back()["gpu_s"] = trial.tally.gpu_s();
        out.back()["gpu_use"] = trial.tally.gpu.share();
    }
    return out;
}

}  // namespace

Json to_json(Summary const& summary) {
    Json out = Json::object({{"format", k_summary_format},
                             {"version", summary.setting.version},
                             {"status", name_of(summary.status)},
                             {"strategy", summary.setting.strategy},
                             {"trainers", summary.setting.trainers},
                             {"shards", summary.setting.shards},
                             {"exact", summary.setting.exact},
                             {"wall_s", summary.times.wall_s},
                             {"setup_s", summary.times.setup_s},
                             {"makespan_s", summary.times.makespan_s},
                             {"lower_bound_s", summary.times.lower_bound_s},
                             {"utilisation", summary.times.utilisation},
                             {"units", summary.times.units},
                             {"hops", summary.times.hops},
                             {"bytes", to_json(summary.bytes.sent)},
                             {"bytes_by_rank", to_json(summary.bytes.sent_by_rank)},
                             {"storage_bytes", summary.bytes.storage},
                             {"staged_bytes", summary.bytes.staged},
                             {"weight_bytes", summary.bytes.weights},
                             {"peak_rss_bytes", summary.bytes.peak_rss},
                             {"unit_gap_ms", milliseconds(summary.times.unit_gap_s)},
                             {"sync_rounds", summary.sync.rounds}});
    add_what_applies(summary, out);
    auto const& made = summary.checkpoints;
    if (made.written > 0 || !made.at_risk.empty()) out["checkpoints"] = to_json(made);
    if (summary.bytes.spilled > 0) out["spilled_bytes"] = summary.bytes.spilled;
    out["metric"] = summary.result.metric;
    out["mode"] = summary.result.mode == Mode::max ? "max" : "min";
    out["best_trial"] = summary.result.best_trial ? Json(summary.result.best_trial->value) : Json();
    if (summary.result.test) out["test"] = test_to_json(*summary.result.test);
    if (summary.result.standard_error) out["standard_error"] = *summary.result.standard_error;
    add_comparisons(summary, out);
    out["trials"] = trials_json(summary);
    return out;
}

void write_summary(std::filesystem::path const& path, Summary const& summary) {
    write_atomically(path, to_json(summary).dump(2) + "\n");
}

}  // namespace hopscotch
