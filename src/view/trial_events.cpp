// SPDX-License-Identifier: Apache-2.0
#include "view/trial_events.hpp"

#include <cmath>
#include <utility>

#include "core/clock.hpp"
#include "experiment/config.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "view/event_files.hpp"
#include "view/event_record.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

using Kind = TrialEvents::Kind;

Kind kind_of(Json const& value) {
    if (value.is_number()) return Kind::number;
    return value.is_bool() ? Kind::truth : Kind::text;
}

// Ranges have numbers. Of a list the common kind of all values, or texts.
std::map<std::string, Kind> kinds_of(Experiment const& experiment) {
    Problems told("");  // errors of the space: reported when the experiment was read
    std::map<std::string, Kind> out;
    for (auto const& parameter : read_space(experiment, told).parameters)
        for (auto const& value : parameter.values)
            if (auto const [kind, first] = out.try_emplace(parameter.path, kind_of(value)); kind->second != kind_of(value))
                kind->second = Kind::text;
    return out;
}

bool is_failure(TrialStatus status) { return status == TrialStatus::failed || status == TrialStatus::diverged; }

}  // namespace

TrialEvents::TrialEvents(std::filesystem::path folder, Experiment const& experiment, FileIdentity journal)
    : files_(std::make_unique<EventFiles>(std::move(folder), unix_s(), std::move(journal))),
      kinds_(kinds_of(experiment)),
      search_clones_(procedure_traits(experiment.search.procedure).clones),
      groups_(experiment.search.copies.count() > 1),
      start_unix_s_(unix_s()) {}

TrialEvents::~TrialEvents() = default;

void TrialEvents::write_soon() { files_->write_soon(); }

// TensorBoard's filter of a key is of one type, and hides trials that have another.
Assignment TrialEvents::in_kinds(Assignment const& assignment) {
    Assignment out;
    for (auto const& [path, value] : assignment) {
        auto const kind = kinds_.try_emplace(path, kind_of(value)).first->second;
        bool const fits = kind_of(value) == kind;
        if (fits)
            out.emplace_back(path, value);
        else if (kind == Kind::text)
            out.emplace_back(path, Json(value.dump()));
        // Otherwise a user's clone has a value of a kind that the space does not know: the key is left out.
    }
    return out;
}

void TrialEvents::start(TrialId trial, Assignment const& assignment, double unix_s) {
    if (std::exchange(told_[trial].start, true)) return;
    auto const configuration = configuration_of(assignment);
    files_->add(trial, trial_start_event(unix_s, in_kinds(assignment), groups_ ? short_config(configuration) : ""));
}

void TrialEvents::lap_done(LapRecord const& record, Metrics const& metrics, Assignment const& assignment) {
    auto const at = end_unix_s(record);
    // A search that clones gives a trial new values on the way: trials.csv has the last ones.
    if (!search_clones_) start(record.trial, assignment, record.units.empty() ? at : record.units.front().start_unix_s);
    std::vector<EventScalar> scalars;
    auto const add = [&](std::string_view tag, double value) {
        if (std::isfinite(value)) scalars.push_back({tag, value});
    };
    for (auto const& metric : metric_traits()) add(metric.name, metric_value(metrics, metric.name));
    for (auto const& score : metrics.own) add(score.name, score.value);
    add("lr", metrics.lr);
    if (!scalars.empty()) files_->add(record.trial, scalars_event(at, metrics.epoch, scalars));
    told_[record.trial].last_unix_s = at;
}

void TrialEvents::trial_ended(TrialView const& trial) {
    bool const may_go_on = trial.status == TrialStatus::stopped || trial.status == TrialStatus::interrupted;
    if (!may_go_on) end(trial);
}

void TrialEvents::end(TrialView const& trial) {
    auto const last_unix_s = told_[trial.id].last_unix_s;
    auto const at = last_unix_s > 0 ? last_unix_s : start_unix_s_;
    start(trial.id, trial.assignment, at);
    if (std::exchange(told_[trial.id].end, true)) return;
    files_->add(trial.id, trial_end_event(at, is_failure(trial.status) ? EventStatus::failure : EventStatus::success));
}

void TrialEvents::finish(std::vector<TrialView> const& trials) {
    if (std::exchange(finished_, true)) return;
    for (auto const& trial : trials) {
        bool const goes_on = !has_ended(trial.status) && trial.status != TrialStatus::paused;
        if (trial.status != TrialStatus::interrupted && !goes_on)
            end(trial);
        else if (told_.contains(trial.id))
            start(trial.id, trial.assignment, told_[trial.id].last_unix_s);
    }
    files_->finish();
}

}  // namespace hopscotch
