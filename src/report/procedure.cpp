// SPDX-License-Identifier: Apache-2.0
// The work of the search procedure: the Pareto front, rungs and brackets, the family tree of a population.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr PlotBox k_procedure_box{70, 34, 840, 320};
constexpr std::size_t k_most_family = 100, k_most_pareto_dots = 1000;

// The points of summary.json: {"metrics": [a, b], "trials": [...], "values": [[...]]}.
struct FrontPoints {
    std::array<std::string, 2> names;
    std::vector<int> trials;
    std::vector<std::array<double, 2>> values;
};

std::optional<FrontPoints> front_of(Json const& summary) {
    auto const* pareto = summary.find("pareto");
    if (pareto == nullptr) return std::nullopt;
    FrontPoints out;
    auto const& names = pareto->at("metrics").array();
    auto const &trials = pareto->at("trials").array(), &values = pareto->at("values").array();
    if (names.size() != 2 || trials.size() != values.size()) return std::nullopt;
    out.names = {names[0].string(), names[1].string()};
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (values[i].array().size() != 2) return std::nullopt;
        out.trials.push_back(static_cast<int>(trials[i].integer()));
        out.values.push_back({values[i].array()[0].number(), values[i].array()[1].number()});
    }
    return out;
}

// The epoch with the best search.metric, even if the report compares by another metric.
LapPoint const* best_of_search(RunResults const& data, TrialResults const& trial) {
    auto const& search = data.run.experiment.search;
    auto const value = [&](LapPoint const& point) { return metric_value(point.metrics, search.metric); };
    LapPoint const* best = nullptr;
    for (auto const& point : trial.curve)
        if (std::isfinite(value(point)) && (best == nullptr || better(value(point), value(*best), search.mode)))
            best = &point;
    return best;
}

// Values of the other trials, as far as the journal has them: metrics, seconds and bytes.
std::optional<double> measure_of(RunResults const& data, TrialResults const& trial, std::string const& name) {
    if (name == "train_s") return trial.train_s;
    if (name == "state_mb") return static_cast<double>(trial.state_bytes) / 1e6;
    auto const* best = is_metric(name) || may_be_own_metric(name) ? best_of_search(data, trial) : nullptr;
    auto const value = best == nullptr ? k_no_score : metric_value(best->metrics, name);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// A decision's place in the procedure: "bracket 1" of "bracket 1, rung 0 (3 epochs): rank 2 of 2 so far".
std::string bracket_in(std::string const& why) {
    auto const rung = why.find("rung ");
    return rung == why.npos || rung < 2 ? "" : cut_text(why.substr(0, rung - 2), 60);
}

struct RungCounts {
    int decided = 0, went_on = 0, ended = 0, paused = 0;
};

using Rungs = std::map<std::pair<std::string, int>, RungCounts>;  // by bracket and epochs

Rungs rungs_of(Journal const& journal) {
    Rungs out;
    std::map<TrialId, std::pair<std::string, int>> waiting;  // paused at this rung
    std::map<TrialId, std::string> bracket;                  // the end of a trial does not name it
    for (auto const& decision : journal.decisions) {
        using Kind = Decision::Kind;
        if (decision.kind == Kind::start || decision.kind == Kind::clone) continue;
        if (auto const named = bracket_in(decision.why); !named.empty()) bracket[decision.trial] = named;
        auto const key = std::pair(bracket[decision.trial], decision.epoch + 1);
        if (decision.kind == Kind::resume) {
            if (auto const at = waiting.find(decision.trial); at != waiting.end()) {
                --out[at->second].paused;
                ++out[at->second].went_on;
                waiting.erase(at);
            }
            continue;
        }
        auto const known = waiting.find(decision.trial);
        if (decision.kind == Kind::stop && known != waiting.end()) {
            --out[known->second].paused;
            ++out[known->second].ended;
            waiting.erase(known);
            continue;
        }
        auto& counts = out[key];
        ++counts.decided;
        counts.went_on += decision.kind == Kind::go_on ? 1 : 0;
        counts.ended += decision.kind == Kind::stop || decision.kind == Kind::finish ? 1 : 0;
        if (decision.kind != Kind::pause) continue;
        ++counts.paused;
        waiting[decision.trial] = key;
    }
    return out;
}

std::string rung_table(Rungs const& rungs) {
    bool const brackets = std::ranges::any_of(rungs, [](auto const& each) { return !each.first.first.empty(); });
    std::string out = "<div class=\"scroll\"><table><thead><tr>";
    if (brackets) out += "<th scope=\"col\">bracket</th>";
    for (auto const* name : {"after epochs", "trials", "went on", "waiting", "ended"})
        out += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", name);
    out += "</tr></thead><tbody>";
    std::size_t rows = 0;
    for (auto const& [key, counts] : rungs) {
        if (++rows > 200) break;
        out += "<tr>";
        if (brackets) out += fmt::format("<td>{}</td>", key.first.empty() ? "without rungs" : escaped(key.first));
        for (int const count : {key.second, counts.decided, counts.went_on, counts.paused, counts.ended})
            out += fmt::format("<td class=\"n\">{}</td>", count);
        out += "</tr>";
    }
    return out + "</tbody></table></div>";
}

// The number of trials that trained at least this many epochs.
std::string survival(RunResults const& data) {
    std::vector<double> epochs;
    for (auto const& trial : data.trials) epochs.push_back(trial.epochs);
    std::ranges::sort(epochs);
    double const last = epochs.empty() ? 1 : std::max(1.0, epochs.back()), count = static_cast<double>(epochs.size());
    auto axes = make_axes(k_procedure_box, AxisScale(ScaleKind::linear, 0, last), AxisScale(ScaleKind::linear, 0, count));
    axes.x_name = "epochs";
    axes.y_name = "trials that trained at least so long";
    axes.x_ticks_at = axes.y_ticks_at = TicksAt::whole_numbers;
    Svg svg(860, 362, "trials by the epochs that they trained");
    draw_axes(svg, axes);
    std::vector<Spot> line{axes.at(0, count)};
    double left = count;
    for (std::size_t i = 0; i < epochs.size(); ++i) {
        left -= 1;
        if (i + 1 < epochs.size() && epochs[i + 1] == epochs[i]) continue;
        line.push_back({axes.x.at(epochs[i]), line.back().y});
        line.push_back(axes.at(epochs[i], left));
    }
    svg.path(line, "best-line");
    return figure(std::move(svg).take(), "");
}

struct FamilyTree {
    std::map<int, double> lane;              // by trial
    std::set<std::pair<int, int>> ancestry;  // (trial, epoch): laps on the way to the best model
};

// Back from the best model: each lap, then the lap before it or the source of its clone.
std::set<std::pair<int, int>> ancestry_of(RunResults const& data, std::map<LapId, LapId> const& clones) {
    std::set<std::pair<int, int>> out;
    if (data.best_trial() == nullptr) return out;
    LapId at{data.best_trial()->id, data.best_trial()->best->epoch};
    while (at.epoch >= 0 && out.insert({at.trial.value, at.epoch}).second) {
        auto const clone = clones.find(at);
        at = clone == clones.end() ? LapId{at.trial, at.epoch - 1} : clone->second;
    }
    return out;
}

// Laps that begin with the state after another lap, and that lap.
std::map<LapId, LapId> clones_in(Journal const& journal) {
    std::map<LapId, LapId> out;
    for (auto const& lap : journal.released)
        if (lap.clone_of) out[lap.id()] = *lap.clone_of;
    return out;
}

void draw_family(Svg& svg, RunResults const& data, Axes const& axes, FamilyTree const& tree) {
    for (auto const& [trial, lane] : tree.lane) {
        auto const& found = *std::ranges::find(data.trials, TrialId(trial), &TrialResults::id);
        for (auto const& point : found.curve) {
            bool const best = tree.ancestry.contains({trial, point.epoch});
            svg.path({axes.at(point.epoch, lane), axes.at(point.epoch + 1, lane)}, best ? "kin first" : "kin",
                     fmt::format("trial {}, epoch {}: {} {}", trial, point.epoch, data.metric, short_number(point.value)),
                     trial_mark(trial));
        }
    }
}

}  // namespace

std::string pareto_section(RunResults const& data) {
    auto const front = front_of(data.summary);
    if (!front || front->values.empty()) return "";
    std::vector<double> xs, ys;
    std::vector<std::pair<Spot, TrialResults const*>> others;
    for (auto const& value : front->values) xs.push_back(value[0]), ys.push_back(value[1]);
    for (auto const i : thinned(data.trials.size(), k_most_pareto_dots, 0)) {
        auto const x = measure_of(data, data.trials[i], front->names[0]),
                   y = measure_of(data, data.trials[i], front->names[1]);
        if (!x || !y) continue;
        others.push_back({{*x, *y}, &data.trials[i]});
        xs.push_back(*x), ys.push_back(*y);
    }
    auto axes = make_axes(k_procedure_box, scale_over(xs), scale_over(ys));
    axes.x_name = front->names[0];
    axes.y_name = front->names[1];
    Svg svg(860, 362, fmt::format("Pareto front of {} and {}", front->names[0], front->names[1]));
    draw_axes(svg, axes);
    for (auto const& [place, trial] : others)
        svg.circle(axes.at(place.x, place.y), 3.5, "dot hollow", trial_name(*trial), trial_mark(trial->id.value));
    std::vector<Spot> line;
    for (auto const& value : front->values) line.push_back(axes.at(value[0], value[1]));
    svg.path(line, "front s2 thin");
    for (std::size_t i = 0; i < line.size(); ++i)
        svg.circle(line[i], 5, "dot f2",
                   fmt::format("trial {}: {} {}, {} {}", front->trials[i], front->names[0],
                               short_number(front->values[i][0]), front->names[1], short_number(front->values[i][1])),
                   trial_mark(front->trials[i]));
    auto out =
        figure(std::move(svg).take(), "Orange: trials that no other trial beats in one value without losing in the other.");
    if (others.empty()) out += note("The values of the other trials are not in the run directory.");
    return out;
}

std::string rungs_section(RunResults const& data) {
    auto const& procedure = procedure_traits(data.run.experiment.search.procedure);
    if (!procedure.has_rule || procedure.clones || data.run.journal.decisions.empty()) return "";
    return survival(data) + rung_table(rungs_of(data.run.journal));
}

std::string family_section(RunResults const& data) {
    auto const clones = clones_in(data.run.journal);
    if (clones.empty()) return "";
    FamilyTree tree;
    for (auto const& trial : data.trials)
        if (tree.lane.size() < k_most_family) tree.lane[trial.id.value] = static_cast<double>(tree.lane.size());
    tree.ancestry = ancestry_of(data, clones);
    double last = 1;
    for (auto const& trial : data.trials) last = std::max(last, static_cast<double>(trial.epochs));
    double const rows = static_cast<double>(tree.lane.size()), height = std::clamp(26 * rows, 80.0, 900.0);
    auto axes = make_axes({70, 34, 840, 34 + height}, AxisScale(ScaleKind::linear, 0, last),
                          AxisScale(ScaleKind::linear, -0.7, rows - 0.3));
    axes.y = axes.y.between(34, 34 + height);  // trial 0 on top
    axes.x_name = "epochs";
    axes.y_name = "trial";
    axes.y_ticks = static_cast<int>(std::min(rows, 10.0));
    axes.x_ticks_at = axes.y_ticks_at = TicksAt::whole_numbers;
    Svg svg(860, height + 76, "family tree of the population");
    draw_axes(svg, axes);
    for (auto const& [lap, source] : clones) {
        auto const from = tree.lane.find(source.trial.value), to = tree.lane.find(lap.trial.value);
        if (from == tree.lane.end() || to == tree.lane.end()) continue;
        bool const best = tree.ancestry.contains({lap.trial.value, lap.epoch});
        svg.path({axes.at(source.epoch + 1, from->second), axes.at(lap.epoch, to->second)}, best ? "clone first" : "clone",
                 fmt::format("trial {} takes over the state of trial {} after epoch {}", lap.trial.value, source.trial.value,
                             source.epoch));
    }
    draw_family(svg, data, axes, tree);
    auto caption = legend({{"f2", "ancestors of the best model"}, {"f1", "other laps"}, {"fgrey", "a state is taken over"}});
    if (data.trials.size() > tree.lane.size())
        caption += fmt::format("{} of {} trials are drawn.", tree.lane.size(), data.trials.size());
    return figure(std::move(svg).take(), caption);
}

}  // namespace hopscotch
