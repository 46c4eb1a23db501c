// SPDX-License-Identifier: Apache-2.0
#include "run/leaderboard.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hopscotch {
namespace {

constexpr std::size_t k_rows = 10;

std::string_view last_word(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string value_text(Json const& value) {
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
        return better(metric_value(*a->tally.best, summary.metric), metric_value(*b->tally.best, summary.metric),
                      summary.mode);
    });
    return out;
}

// The loss beside the metric: not twice, and a narrow window rather shows the configuration.
bool shows_loss(Summary const& summary, std::size_t width) { return summary.metric != "val_loss" && width >= 60; }

std::string row(std::size_t rank, TrialSummary const& trial, Summary const& summary, std::size_t width) {
    auto const& best = *trial.tally.best;
    auto out =
        fmt::format("{:>4} {:>5}  {:>12.4f} {:>5}", rank, trial.id.value, metric_value(best, summary.metric), best.epoch);
    return shows_loss(summary, width) ? out + fmt::format(" {:>9.4f}", best.val_loss) : out;
}

}  // namespace

std::string short_config(Assignment const& assignment) {
    std::string out;
    for (auto const& [path, value] : assignment) {
        auto const name = last_word(path);
        auto const alike =
            std::count_if(assignment.begin(), assignment.end(), [&](auto const& e) { return last_word(e.first) == name; });
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", alike > 1 ? std::string_view(path) : name, value_text(value));
    }
    return out;
}

std::string leaderboard(Summary const& summary, int columns) {
    auto const width = static_cast<std::size_t>(std::max(columns, 40));
    auto const trials = ranked(summary);
    auto const* loss = shows_loss(summary, width) ? "  val_loss" : "";
    auto out =
        cut(fmt::format("{:>4} {:>5}  {:>12} {:>5}{}  config", "rank", "trial", summary.metric, "epoch", loss), width) +
        "\n";
    for (std::size_t i = 0; i < std::min(trials.size(), k_rows); ++i) {
        auto const line = row(i + 1, *trials[i], summary, width);
        auto const room = width > line.size() + 2 ? width - line.size() - 2 : 0;
        auto const config = cut(short_config(trials[i]->assignment), room);
        out += cut(config.empty() ? line : line + "  " + config, width) + "\n";
    }
    if (trials.size() > k_rows) out += fmt::format("     ... {} more\n", trials.size() - k_rows);
    if (auto const without = summary.trials.size() - trials.size(); without > 0)
        out += fmt::format("     {} without a finite {}\n", without, summary.metric);
    return out;
}

}  // namespace hopscotch
