// SPDX-License-Identifier: Apache-2.0
#include "app/compare/compared_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "experiment/metric.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

std::string text_of(Json const& value) { return value.is_string() ? value.string() : value.dump(); }

// A crash cuts off a last line at most; what has no line end is not there yet.
std::vector<Json> read_lines(fs::path const& path) {
    std::vector<Json> out;
    if (!fs::exists(path)) return out;
    LineReader lines(path);
    while (auto const line = lines.next())
        out.push_back(parse_json_or_throw(*line, fmt::format("{} (line {})", path.string(), lines.number())));
    return out;
}

void check_facts(Json const& facts, std::string const& file) {
    try {
        facts.at("dataset_hash").string();
        facts.at("strategy").string();
        facts.at("trainers").integer();
        facts.at("owners").array();
        facts.at("experiment").object();
    } catch (Error const& error) {  // adds the file, which at() cannot know
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file, error.what()));
    }
}

}  // namespace

std::string ComparedRun::status() const {
    auto const* status = summary.find("status");
    return status != nullptr && status->is_string() ? status->string() : "not ended";
}

bool ComparedRun::finished() const { return status() == "finished"; }

std::string ComparedRun::metric() const {
    for (auto const* place : {summary.find("metric"), find_path(experiment(), "search.metric")})
        if (place != nullptr && place->is_string()) return place->string();
    return SearchConfig{}.metric;
}

Mode ComparedRun::mode() const {
    for (auto const* place : {summary.find("mode"), find_path(experiment(), "search.mode")})
        if (place != nullptr && place->is_string()) return place->string() == "max" ? Mode::max : Mode::min;
    return natural_mode(metric());
}

ComparedRun read_compared_run(std::string const& dir) {
    ComparedRun run;
    run.dir = dir;
    fs::path const path = dir;
    auto const facts = path / "experiment.json";
    if (!fs::exists(facts)) throw ConfigError(fmt::format("{}: not a run directory (it has no experiment.json)", dir));
    run.facts = parse_json_or_throw(read_whole(facts), facts.string());
    check_facts(run.facts, facts.string());
    auto const summary = path / "summary.json";
    if (fs::exists(summary)) run.summary = parse_json_or_throw(read_whole(summary), summary.string());
    run.metrics = read_lines(path / "metrics.jsonl");
    run.label = strategy_label(run.experiment(), run.strategy());
    return run;
}

Json const* find_path(Json const& json, std::string_view dotted_path) {
    Json const* at = &json;
    while (at != nullptr && !dotted_path.empty()) {
        auto const dot = dotted_path.find('.');
        at = at->find(dotted_path.substr(0, dot));
        dotted_path = dot == dotted_path.npos ? std::string_view() : dotted_path.substr(dot + 1);
    }
    return at;
}

std::optional<double> number_in(Json const& json, std::string_view key) {
    auto const* value = json.find(key);
    return value != nullptr && value->is_number() ? std::optional(value->number()) : std::nullopt;
}

std::string strategy_label(Json const& experiment, std::string const& strategy) {
    using Shown = StrategySetting::Shown;
    auto const& settings = strategy_traits(strategy).settings;
    auto const* section = experiment.find("strategy");
    std::string main = strategy, rest;
    for (auto const& setting : settings) {
        if (setting.shown == Shown::if_given) continue;
        auto const* given = section == nullptr ? nullptr : section->find(setting.key);
        auto const value = given == nullptr ? std::string(setting.fallback) : text_of(*given);
        if (setting.shown == Shown::always_bare)
            main += " " + value;
        else if (setting.shown == Shown::always || value != setting.fallback)
            rest += fmt::format(" {}={}", setting.key, value);
    }
    if (section == nullptr || !section->is_object()) return main + rest;
    for (auto const& [key, value, position] : section->object()) {
        auto const setting = std::ranges::find(settings, key, &StrategySetting::key);
        bool const told = setting != settings.end() && setting->shown != Shown::if_given;
        if (key == "name" || value.is_null() || told) continue;
        bool const has_label = setting != settings.end() && !setting->label.empty();
        rest += fmt::format(" {}={}", has_label ? setting->label : key, text_of(value));
    }
    return main + rest;
}

}  // namespace hopscotch
