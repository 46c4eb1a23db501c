// SPDX-License-Identifier: Apache-2.0
#include "analysis/what_if/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/what_if/spread.hpp"

namespace hopscotch {
namespace {

template <class Field>
std::vector<double> all(WhatIfRow const& row, Field const& field) {
    std::vector<double> out;
    for (auto const& played : row.played)
        if (played.best) out.push_back(static_cast<double>(field(played)));
    return out;
}

std::vector<double> bests(WhatIfRow const& row) {
    return all(row, [](PlayedSearch const& each) { return *each.best; });
}

double mean_epochs(WhatIfRow const& row) {
    return mean(all(row, [](PlayedSearch const& each) { return each.epochs; }));
}

std::string head(WhatIf const& what_if) {
    auto const& known = what_if.known;
    auto out = fmt::format("{}: {} trials, {} epochs", known.source, known.trials.size(), known.epochs());
    if (auto const best = best_known(known)) out += fmt::format("; best {} {:.6g}", known.metric, *best);
    auto const orders = what_if.rows.front().played.size();
    return out + fmt::format("\neach search may train {} epochs; {} order{} of the configurations\n\n", what_if.epochs,
                             orders, orders == 1 ? "" : "s");
}

std::string notes(WhatIf const& what_if) {
    std::string out;
    for (auto const& row : what_if.rows) {
        std::int64_t not_known = 0, epochs = 0;
        for (auto const& played : row.played) not_known += played.not_known, epochs += played.epochs;
        if (not_known > 0)
            out += fmt::format(
                "{}: {:.1f} % of its epochs were never trained (its trials keep their last known values there)\n", row.label,
                100 * static_cast<double>(not_known) / static_cast<double>(epochs));
    }
    return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::optional<double> best_known(KnownTrials const& known) {
    std::optional<double> out;
    for (auto const& trial : known.trials)
        for (auto const& lap : trial.laps)
            if (auto const value = known.value_of(lap, trial);
                std::isfinite(value) && (!out || known.is_better(value, *out)))
                out = value;
    return out;
}

std::string what_if_text(WhatIf const& what_if) {
    auto const& known = what_if.known;
    std::size_t width = std::string("search").size();
    for (auto const& row : what_if.rows) width = std::max(width, row.label.size());
    auto const best = best_known(known).value_or(NAN);
    bool const has_seconds = std::ranges::any_of(what_if.rows, [](WhatIfRow const& row) {
        return std::ranges::any_of(row.played, [](PlayedSearch const& each) { return each.seconds > 0; });
    });
    auto out = head(what_if);
    out += fmt::format("{:<{}}  {:>10}  {:>21}  {:>10}  {:>8}  {:>7}", "search", width, "mean best", "5 % to 95 %",
                       "missed by", "epochs", "trials");
    bool const has_front = std::ranges::any_of(what_if.rows.front().played, &PlayedSearch::hypervolume_is_known);
    out += (has_front ? fmt::format("  {:>11}", "hypervolume") : "") +
           (has_seconds ? fmt::format("  {:>10}\n", "trainer s") : "\n");
    for (auto const& row : what_if.rows) {
        auto const found = bests(row);
        auto const band =
            found.size() < 2 ? "" : fmt::format("{:.5g} to {:.5g}", quantile(found, k_band), quantile(found, 1 - k_band));
        double const missed = std::abs(best - mean(found)), rounding = 1e-12 * std::abs(best);
        out += fmt::format("{:<{}}  {:>10.6g}  {:>21}  {:>10.3g}  {:>8.6g}  {:>7.5g}", row.label, width, mean(found), band,
                           missed < rounding ? 0 : missed, mean_epochs(row),
                           mean(all(row, [](PlayedSearch const& each) { return each.trials; })));
        if (has_front)
            out += fmt::format("  {:>11.4g}",
                               mean(all(row, [](PlayedSearch const& each) { return each.hypervolume.value_or(0); })));
        auto const seconds = mean(all(row, [](PlayedSearch const& each) { return each.seconds; }));
        out += has_seconds ? fmt::format("  {:>10.4g}\n", seconds) : "\n";
    }
    return out + notes(what_if);
}

Json what_if_json(WhatIf const& what_if) {
    Json::Array rows;
    for (auto const& row : what_if.rows) {
        Json::Array played;
        for (auto const& each : row.played) {
            auto& json = played.emplace_back();
            json["best"] = Json();
            if (each.best) json["best"] = *each.best;
            json["config"] = what_if.known.trials[each.best_trial].text;
            if (each.hypervolume) json["hypervolume"] = *each.hypervolume;
            json["trials"] = each.trials;
            json["epochs"] = each.epochs;
            json["not_known"] = each.not_known;
            json["seconds"] = each.seconds;
        }
        rows.push_back(Json::object({{"search", row.label}, {"played", std::move(played)}}));
    }
    auto out = Json::object({{"source", what_if.known.source}, {"metric", what_if.known.metric}});
    out["best_known"] = Json();
    if (auto const best = best_known(what_if.known)) out["best_known"] = *best;
    out["trials"] = std::ssize(what_if.known.trials);
    out["epochs"] = what_if.epochs;
    out["searches"] = std::move(rows);
    return out;
}

}  // namespace hopscotch
