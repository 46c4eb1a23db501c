// SPDX-License-Identifier: Apache-2.0
#include "rundir/past_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/file.hpp"
#include "direct/trial_end.hpp"
#include "experiment/objectives.hpp"
#include "experiment/reader.hpp"
#include "rundir/recorded_run.hpp"
#include "schedule/lap_metric.hpp"
#include "search/race.hpp"

namespace hopscotch {
namespace {

constexpr double k_failed = std::numeric_limits<double>::infinity();

// Trials that ended by themselves. Trials that ended with the run are cut off: --resume takes them up again.
std::map<TrialId, PastTrial::Progress> progress_of(Journal const& journal) {
    std::map<TrialId, PastTrial::Progress> out;
    for (auto const& end : journal.ended)
        out[end.trial] =
            end.status == name_of(TrialStatus::interrupted) ? PastTrial::Progress::cut_off : PastTrial::Progress::ended;
    return out;
}

// Of `count` values and one more. One failed value makes the mean a failure.
double mean_with(double mean, double value, std::size_t count) {
    return mean == k_failed || value == k_failed ? k_failed : mean + (value - mean) / static_cast<double>(count + 1);
}

bool has_failed(PastTrial const& trial) { return trial.losses.back() == k_failed; }

// Of a race: further copies count once they have trained as long as the first. A failure counts, too.
void leave_out_unfinished(std::vector<PastTrial>& group) {
    auto const epochs = group.front().losses.size();
    auto const is_short = [&](PastTrial const& each) {
        return !has_failed(each) && (each.losses.size() < epochs || each.progress == PastTrial::Progress::cut_off);
    };
    group.erase(std::remove_if(group.begin() + 1, group.end(), is_short), group.end());
}

// Of groups without a failure: of each lap what the mean of all copies would be (search/race.hpp).
std::vector<std::vector<double>> means_by_lap(std::vector<std::vector<PastTrial>> const& groups) {
    std::vector<std::vector<double>> out(groups.size());
    for (std::size_t lap = 0, left = 1; left > 0; ++lap) {
        std::vector<std::size_t> numbers;
        std::vector<CopyLosses> losses;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (std::ranges::any_of(groups[i], has_failed) || groups[i].front().losses.size() <= lap) continue;
            numbers.push_back(i);
            auto& copies = losses.emplace_back();
            for (auto const& copy : groups[i]) copies.push_back(copy.losses[lap]);
        }
        auto const means = race_means(losses);
        for (std::size_t i = 0; i < means.size(); ++i) out[numbers[i]].push_back(means[i]);
        left = numbers.size();
    }
    return out;
}

// Copies of a configuration (search.repeats, search.folds) become one trial, with the mean of each epoch that all copies
// have trained.
std::vector<PastTrial> without_copies(std::map<TrialId, PastTrial> trials, Copies const& copies) {
    std::vector<std::vector<PastTrial>> groups;
    std::map<std::string, std::size_t> of_configuration;
    for (auto& [id, trial] : trials) {
        auto const copy = std::erase_if(trial.assignment, [](auto const& entry) {
            return entry.first == k_repeat_entry || entry.first == k_fold_entry;
        });
        auto const number =
            copy == 0 ? groups.size()
                      : of_configuration.try_emplace(to_json(trial.assignment).dump(), groups.size()).first->second;
        groups.resize(std::max(groups.size(), number + 1));
        groups[number].push_back(std::move(trial));
    }
    if (copies.race) std::ranges::for_each(groups, leave_out_unfinished);
    auto const means = copies.race ? means_by_lap(groups) : std::vector<std::vector<double>>(groups.size());
    std::vector<PastTrial> out;
    for (auto& group : groups) {
        bool const failed = std::ranges::any_of(group, has_failed);
        auto& first = out.emplace_back(std::move(group.front()));
        for (std::size_t i = 1; i < group.size(); ++i) {
            first.losses.resize(std::min(first.losses.size(), group[i].losses.size()));
            first.metrics.resize(std::min(first.metrics.size(), first.losses.size()));
            for (std::size_t lap = 0; lap < first.losses.size(); ++lap)
                first.losses[lap] = mean_with(first.losses[lap], group[i].losses[lap], i);
            for (std::size_t lap = 0; lap < first.metrics.size(); ++lap)
                for (std::size_t k = 0; k < std::min(first.metrics[lap].size(), group[i].metrics[lap].size()); ++k)
                    first.metrics[lap][k] = mean_with(first.metrics[lap][k], group[i].metrics[lap][k], i);
            if (group[i].progress == PastTrial::Progress::cut_off) first.progress = PastTrial::Progress::cut_off;
        }
        if (copies.race && !failed) first.losses = means[out.size() - 1];
        if (std::ssize(group) < copies.first()) first.progress = PastTrial::Progress::cut_off;  // others have not begun
        if (!failed) continue;
        first.losses.back() = k_failed;
        first.progress = PastTrial::Progress::ended;
    }
    return out;
}

PastTrial past_trial(Json const& json) {
    PastTrial out;
    out.assignment = assignment_from_json(json.at("config"));
    for (auto const& loss : json.at("losses").array()) out.losses.push_back(loss.is_null() ? k_failed : loss.number());
    if (auto const* metrics = json.find("metrics"))
        for (auto const& lap : metrics->array()) {
            auto& losses = out.metrics.emplace_back();
            for (auto const& loss : lap.array()) losses.push_back(loss.number());
        }
    if (!out.metrics.empty() && out.metrics.size() != out.losses.size())
        throw DataError("\"metrics\" has not as many epochs as \"losses\" (the file was changed)");
    out.progress = json.at("ended").boolean() ? PastTrial::Progress::ended : PastTrial::Progress::cut_off;
    return out;
}

}  // namespace

std::vector<PastTrial> past_trials(RecordedRun const& run, SearchConfig const& search) {
    auto const& journal = run.journal;
    auto objectives = objectives_of(search);
    std::erase_if(objectives, [](ObjectiveMeasure const& each) { return !each.is_metric; });
    auto const progress = progress_of(journal);
    auto const losses = losses_of(run.experiment, journal.assignments);
    std::map<TrialId, PastTrial> trials;
    bool finished = false, measured = false;
    for (auto const& lap : journal.laps) {
        auto const known = trials.find(lap.trial);
        auto const next = known == trials.end() ? std::size_t{0} : known->second.losses.size();
        if (lap.epoch != static_cast<int>(next)) continue;  // trained again, after a loss; or of a clone that a user ordered
        auto& trial = trials[lap.trial];
        trial.assignment = journal.assignments.at(lap.trial);
        bool const good = lap.outcome == Outcome::finished;
        auto loss = good ? search_loss(lap_metric(lap, search.metric, losses.at(lap.trial)), search.mode) : std::nullopt;
        std::vector<double> metrics;
        for (auto const& each : objectives) metrics.push_back(each.loss(lap_metric(lap, each.name, losses.at(lap.trial))));
        if (!std::ranges::all_of(metrics, [](double value) { return std::isfinite(value); })) loss.reset();
        if (!objectives.empty()) trial.metrics.push_back(loss ? metrics : std::vector<double>());
        finished = finished || good;
        measured = measured || loss;
        trial.losses.push_back(loss.value_or(k_failed));
        auto const end = progress.find(lap.trial);
        bool const ended = !loss || (end != progress.end() && end->second == PastTrial::Progress::ended);
        trial.progress = ended ? PastTrial::Progress::ended : PastTrial::Progress::cut_off;
    }
    if (finished && !measured)
        throw DataError(
            fmt::format("{}: has no {} (its search.metric was {})", run.directory.string(),
                        objectives.empty() ? search.metric : fmt::format("{}", fmt::join(search.front.names, ", ")),
                        run.experiment.search.metric));
    return without_copies(std::move(trials), run.experiment.search.copies);
}

Json to_json(std::vector<PastTrial> const& past) {
    Json::Array out;
    for (auto const& each : past) {
        auto json = Json::object({{"config", to_json(each.assignment)},
                                  {"losses", Json(each.losses)},
                                  {"ended", each.progress == PastTrial::Progress::ended}});
        Json::Array metrics;
        for (auto const& lap : each.metrics) metrics.emplace_back(Json(lap));
        if (!metrics.empty()) json["metrics"] = std::move(metrics);
        out.push_back(std::move(json));
    }
    return Json(std::move(out));
}

std::vector<PastTrial> read_past_trials(std::filesystem::path const& file) {
    auto const json = parse_json_or_throw(read_whole(file), file.string());
    try {
        std::vector<PastTrial> out;
        for (auto const& each : json.array()) out.push_back(past_trial(each));
        return out;
    } catch (Error const& error) {  // adds the file, unknown to at()
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
}

}  // namespace hopscotch
