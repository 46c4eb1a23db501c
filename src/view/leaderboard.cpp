// SPDX-License-Identifier: Apache-2.0
#include "view/leaderboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "experiment/reader.hpp"
#include "view/second_place.hpp"

namespace hopscotch {
namespace {

std::string_view last_word(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string short_text(Json const& value) {
    if (value.is_string()) return value.string();
    if (value.is_number() && !value.is_integer()) return fmt::format("{:.4g}", value.number());
    return value.dump();
}

std::string cut(std::string text, std::size_t width) {
    if (text.size() <= width) return text;
    return width < 3 ? std::string() : text.substr(0, width - 2) + "..";
}

std::vector<TrialSummary const*> ranked(Summary const& summary) {
    std::vector<TrialSummary const*> out;
    for (auto const& trial : summary.trials)
        if (trial.tally.best) out.push_back(&trial);
    std::stable_sort(out.begin(), out.end(), [&](auto const* a, auto const* b) {  // stable: the lowest id of equals first
        return better(metric_value(*a->tally.best, summary.result.metric),
                      metric_value(*b->tally.best, summary.result.metric), summary.result.mode);
    });
    return out;
}

// The second metric, beside that of the search; for a regression the best-known one. "": none, since a narrow window should
// rather show the configuration.
std::string_view second_metric(Summary const& summary, std::vector<TrialSummary const*> const& trials, std::size_t width) {
    constexpr std::size_t k_narrow = 60;
    if (width < k_narrow || trials.empty()) return "";
    if (std::isfinite(metric_value(*trials.front()->tally.best, k_val_r2)))
        return summary.result.metric == k_val_r2 ? k_val_mae : k_val_r2;
    return summary.result.metric == k_val_loss ? "" : k_val_loss;
}

// Errors of targets may be of any size.
std::string metric_text(double value) {
    constexpr double k_long = 1e5;
    return std::abs(value) < k_long ? fmt::format("{:.4f}", value) : fmt::format("{:.6g}", value);
}

std::string row(std::size_t rank, TrialSummary const& trial, Summary const& summary, std::string_view second) {
    auto const& best = *trial.tally.best;
    auto out = fmt::format("{:>4} {:>5}  {:>12} {:>5}", rank, trial.id.value,
                           metric_text(metric_value(best, summary.result.metric)), best.epoch);
    return second.empty() ? out : out + fmt::format(" {:>9}", metric_text(metric_value(best, second)));
}

// R2 is 0 for the mean of the targets, for any row.
std::string worse_than_the_mean(std::vector<TrialSummary const*> const& trials) {
    auto const count =
        std::ranges::count_if(trials, [](auto const* trial) { return metric_value(*trial->tally.best, k_val_r2) < 0; });
    if (count == 0) return "";
    return fmt::format("     {} of {} trials predict worse than the mean of the targets (val_r2 below 0)\n", count,
                       trials.size());
}

std::string numbers_of(GroupTally const& group) {
    return numbers_text(group.trials.front().value, group.trials.back().value, std::ssize(group.trials));
}

// "3-5  0.9720 0.0031  lr=0.1": the trials of a group, mean, standard deviation.
std::string row(std::size_t rank, GroupTally const& group) {
    auto const trials = numbers_of(group);
    return fmt::format("{:>4} {:>9}  {:>12.4f} {:>8.4f}", rank, trials, *group.mean, group.spread);
}

std::vector<GroupTally const*> ranked_groups(Summary const& summary) {
    std::vector<GroupTally const*> out;
    for (auto const& group : summary.groups)
        if (group.mean) out.push_back(&group);
    std::stable_sort(out.begin(), out.end(),
                     [&](auto const* a, auto const* b) { return better(*a->mean, *b->mean, summary.result.mode); });
    return out;
}

// The line, then as much of the configuration as there is room for.
std::string with_config(std::string const& line, Assignment const& assignment, std::size_t width) {
    auto const room = width > line.size() + 2 ? width - line.size() - 2 : 0;
    auto const config = cut(short_config(assignment), room);
    return cut(config.empty() ? line : line + "  " + config, width) + "\n";
}

std::string second_place(Summary const& summary, std::vector<TrialSummary const*> const& trials, std::size_t width) {
    if (trials.size() < 2) return "";
    auto const placed = [&](TrialSummary const& trial) {
        return Placed{fmt::format("trial {}", trial.id.value), metric_value(*trial.tally.best, summary.result.metric),
                      trial.tally.epochs};
    };
    return as_lines(second_place_text(placed(*trials[0]), placed(*trials[1]), summary.result.standard_error), width);
}

std::string second_place(Summary const& summary, std::vector<GroupTally const*> const& groups, std::size_t width) {
    if (groups.size() < 2) return "";
    auto const placed = [&](GroupTally const& group) {
        return Placed{fmt::format("{} {}", group.trials.size() > 1 ? "trials" : "trial", numbers_of(group)), *group.mean,
                      summary.trials.at(group.trials.front().index()).tally.epochs};
    };
    auto const& [first, second] = std::pair(*groups[0], *groups[1]);
    auto const error = error_of_difference({first.spread, first.trials.size()}, {second.spread, second.trials.size()});
    return as_lines(second_place_text(placed(first), placed(second), error), width);
}

std::string rest_of(std::size_t ranked, std::size_t without, std::string const& what) {
    auto out = ranked > k_leaderboard_rows ? fmt::format("     ... {} more\n", ranked - k_leaderboard_rows) : "";
    return without > 0 ? out + fmt::format("     {} without {}\n", without, what) : out;
}

std::string group_table(Summary const& summary, std::size_t width) {
    auto const groups = ranked_groups(summary);
    auto out =
        cut(fmt::format("{:>4} {:>9}  {:>12} {:>8}  config", "rank", "trials", summary.result.metric, "spread"), width) +
        "\n";
    for (std::size_t i = 0; i < std::min(groups.size(), k_leaderboard_rows); ++i) {
        auto const& first = summary.trials.at(groups[i]->trials.front().index());
        out += with_config(row(i + 1, *groups[i]), configuration_of(first.assignment), width);
    }
    out += rest_of(groups.size(), summary.groups.size() - groups.size(),
                   fmt::format("a finite {} of every trial", summary.result.metric));
    out += second_place(summary, groups, width);
    if (!summary.result.best_trial) return out;
    return out + fmt::format("     best model: trial {}, epoch {}\n", summary.result.best_trial->value,
                             summary.trials.at(summary.result.best_trial->index()).tally.best->epoch);
}

}  // namespace

std::string short_config(Assignment const& assignment) {
    std::string out;
    for (auto const& [path, value] : assignment) {
        auto const name = last_word(path);
        auto const alike =
            std::count_if(assignment.begin(), assignment.end(), [&](auto const& e) { return last_word(e.first) == name; });
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", alike > 1 ? std::string_view(path) : name, short_text(value));
    }
    return out;
}

std::string leaderboard(Summary const& summary, int columns) {
    auto const width = static_cast<std::size_t>(std::max(columns, 40));
    if (!summary.groups.empty()) return group_table(summary, width);
    auto const trials = ranked(summary);
    auto const second = second_metric(summary, trials, width);
    auto const column = second.empty() ? "" : fmt::format(" {:>9}", second);
    auto out =
        cut(fmt::format("{:>4} {:>5}  {:>12} {:>5}{}  config", "rank", "trial", summary.result.metric, "epoch", column),
            width) +
        "\n";
    for (std::size_t i = 0; i < std::min(trials.size(), k_leaderboard_rows); ++i)
        out += with_config(row(i + 1, *trials[i], summary, second), trials[i]->assignment, width);
    auto const no_epoch = static_cast<std::size_t>(std::ranges::count_if(summary.trials, [](TrialSummary const& trial) {
        return !trial.tally.best && trial.tally.epochs == 0 && !trial.tally.failed;
    }));
    out += rest_of(trials.size(), summary.trials.size() - trials.size() - no_epoch,
                   fmt::format("a finite {}", summary.result.metric));
    if (no_epoch > 0) out += fmt::format("     {} without an epoch that has ended\n", no_epoch);
    return out + second_place(summary, trials, width) + worse_than_the_mean(trials);
}

std::string best_configuration(Summary const& summary, int columns) {
    if (!summary.result.best_trial) return "";
    auto const configuration = configuration_of(summary.trials.at(summary.result.best_trial->index()).assignment);
    auto const width = static_cast<std::size_t>(std::max(columns, 40));
    auto line = fmt::format("best: trial {} with", summary.result.best_trial->value);
    std::string out;
    for (auto const& [path, value] : configuration) {
        auto const setting = fmt::format("{}={}", path, value.is_string() ? value.string() : value.dump());
        if (line.size() + 1 + setting.size() > width) {
            out += line + "\n";
            line = "     ";
        }
        line += " " + setting;
    }
    return configuration.empty() ? "" : out + line + "\n";
}

}  // namespace hopscotch
