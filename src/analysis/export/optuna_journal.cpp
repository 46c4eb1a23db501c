// SPDX-License-Identifier: Apache-2.0
#include "analysis/export/optuna_journal.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "direct/trial_view.hpp"
#include "experiment/objectives.hpp"
#include "experiment/steps.hpp"

namespace hopscotch {
namespace {

// op_code of Optuna's journal.
enum class Op { create_study = 0, create_trial = 4, end_trial = 6, epoch = 7 };
enum class State { running = 0, complete = 1, pruned = 2, failed = 3 };

Json line_of(Op op, Json rest) {
    auto out = Json::object({{"op_code", static_cast<int>(op)}, {"worker_id", "hopscotch"}});
    for (auto& [key, value, at] : rest.object()) out[key] = value;
    return out;
}

// UTC, as in Optuna's own journal: without a zone.
std::string iso_time(double unix_s) {
    auto const seconds = std::floor(unix_s);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06d}", fmt::gmtime(static_cast<std::time_t>(seconds)),
                       static_cast<int>((unix_s - seconds) * 1e6));
}

// Optuna's categories are null, truth values, numbers and texts.
Json category(Json const& value) { return value.is_array() || value.is_object() ? Json(value.dump()) : value; }

Json distribution(Parameter const& parameter) {
    bool const integer = parameter.type == Parameter::Type::integer;
    if (!integer && parameter.type != Parameter::Type::real) {
        Json::Array choices;
        for (auto const& value : parameter.values) choices.push_back(category(value));
        return Json::object(
            {{"name", "CategoricalDistribution"}, {"attributes", Json::object({{"choices", std::move(choices)}})}});
    }
    auto const number = [&](double value) {
        return integer ? Json(static_cast<std::int64_t>(std::llround(value))) : Json(value);
    };
    Json step = integer ? Json(1) : Json();
    if (parameter.step && !parameter.log) step = number(*parameter.step);
    return Json::object({{"name", integer ? "IntDistribution" : "FloatDistribution"},
                         {"attributes", Json::object({{"log", parameter.log},
                                                      {"step", std::move(step)},
                                                      {"low", number(parameter.low)},
                                                      {"high", number(highest(parameter))}})}});
}

// Optuna's internal number of a value: of a category its index. None: the value is not in the range.
std::optional<double> internal(Parameter const& parameter, Json const& value) {
    if (is_range(parameter)) {
        if (!value.is_number()) return std::nullopt;
        auto const number = value.number();
        return number >= parameter.low && number <= parameter.high ? std::optional(number) : std::nullopt;
    }
    auto const found = std::ranges::find_if(parameter.values, [&](Json const& each) { return each.dump() == value.dump(); });
    if (found == parameter.values.end()) return std::nullopt;
    return static_cast<double>(found - parameter.values.begin());
}

State state_of(TrialResults const& trial) {
    if (trial.status == name_of(TrialStatus::finished)) return trial.best ? State::complete : State::failed;
    if (trial.status == name_of(TrialStatus::stopped)) return State::pruned;
    if (trial.status == name_of(TrialStatus::failed) || trial.status == name_of(TrialStatus::diverged)) return State::failed;
    return State::running;
}

Json begin_of(TrialResults const& trial, Space const& space, double start_unix_s) {
    auto distributions = Json::object({}), params = Json::object({}), attributes = Json::object({});
    for (auto const& [path, value] : trial.assignment) {
        auto const parameter = std::ranges::find(space.parameters, path, &Parameter::path);
        auto const number = parameter == space.parameters.end() ? std::nullopt : internal(*parameter, value);
        if (!number) {
            attributes[path] = value;
            continue;
        }
        distributions[path] = distribution(*parameter).dump();
        params[path] = *number;
    }
    return line_of(Op::create_trial, Json::object({{"study_id", 0},
                                                   {"datetime_start", iso_time(start_unix_s)},
                                                   {"state", static_cast<int>(State::running)},
                                                   {"value", nullptr},
                                                   {"values", nullptr},
                                                   {"distributions", std::move(distributions)},
                                                   {"params", std::move(params)},
                                                   {"user_attrs", std::move(attributes)},
                                                   {"system_attrs", Json::object({})},
                                                   {"intermediate_values", Json::object({})}}));
}

Json direction_of(Mode mode) { return Json(mode == Mode::min ? 1 : 2); }

// Of the best epoch. Null: one is not known.
Json values_of(TrialResults const& trial, std::vector<ObjectiveMeasure> const& objectives) {
    if (objectives.empty()) return Json(Json::Array{Json(trial.best->value)});
    Json::Array out;
    for (auto const& each : objectives) {
        auto const known = trial.sizes.measures.find(each.name);
        double const value = each.is_metric                        ? metric_value(trial.best->metrics, each.name)
                             : known == trial.sizes.measures.end() ? k_no_score
                                                                   : known->second;
        if (!std::isfinite(value)) return {};
        out.emplace_back(value);
    }
    return Json(std::move(out));
}

}  // namespace

std::string optuna_journal(RunResults const& data) {
    Problems none("");
    auto const space = read_space(data.run.experiment, none);
    auto const start = data.run.facts.start_unix_s;
    auto const objectives = objectives_of(data.run.experiment.search);
    Json::Array directions;
    for (auto const& each : objectives) directions.push_back(direction_of(each.mode));
    if (objectives.empty()) directions.push_back(direction_of(data.mode));
    auto out =
        line_of(Op::create_study, Json::object({{"study_name", data.run.facts.name}, {"directions", std::move(directions)}}))
            .dump() +
        "\n";
    for (std::size_t t = 0; t < data.trials.size(); ++t) {
        auto const& trial = data.trials[t];
        auto const id = static_cast<std::int64_t>(t);
        out += begin_of(trial, space, start).dump() + "\n";
        for (auto const& point : trial.curve)
            if (std::isfinite(point.value))
                out += line_of(Op::epoch,
                               Json::object({{"trial_id", id}, {"step", point.epoch}, {"intermediate_value", point.value}}))
                           .dump() +
                       "\n";
        auto state = state_of(trial);
        if (state == State::running) continue;
        Json values;
        if (state == State::complete) values = values_of(trial, objectives);
        if (state == State::complete && values.is_null()) state = State::failed;
        out += line_of(Op::end_trial, Json::object({{"trial_id", id},
                                                    {"state", static_cast<int>(state)},
                                                    {"values", std::move(values)},
                                                    {"datetime_complete", iso_time(start + trial.end_s)}}))
                   .dump() +
               "\n";
    }
    return out;
}

}  // namespace hopscotch
