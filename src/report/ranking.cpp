// SPDX-License-Identifier: Apache-2.0
// The leaderboard: a column is a name and what it writes into the row of a configuration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/counted.hpp"
#include "report/html_table.hpp"
#include "report/key_columns.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_open_rows = 25, k_most_key_columns = 24;

// A configuration, and its place in the ranking; none: it has no value.
struct RankedGroup {
    GroupResults const& group;
    TrialResults const& first;
    std::size_t index = 0;
    std::optional<std::size_t> rank;
};

struct RankingColumn {
    std::string name;
    HtmlTable::Kind kind = HtmlTable::Kind::numbers;
    std::function<void(HtmlTable&, RankedGroup const&)> write;
};
using RankingColumns = std::vector<RankingColumn>;

void add_identity(RankingColumns& out, RunResults const& data) {
    using enum HtmlTable::Kind;
    bool const copies = data.has_copies();
    out.push_back({"rank", numbers, [](HtmlTable& table, RankedGroup const& row) {
                       row.rank ? table.count(static_cast<std::int64_t>(*row.rank) + 1) : table.number(NAN, "");
                   }});
    out.push_back({copies ? "trials" : "trial", numbers, [&data, copies](HtmlTable& table, RankedGroup const& row) {
                       auto const id = row.first.id.value;
                       auto const last = data.trials[row.group.trials.back()].id.value;
                       table.number(id, numbers_text(id, last, copies ? std::ssize(row.group.trials) : 1));
                   }});
    out.push_back({copies ? "mean " + data.metric : data.metric, numbers, [](HtmlTable& table, RankedGroup const& row) {
                       table.number(row.group.value, short_number(row.group.value));
                   }});
    if (!copies) return;
    out.push_back({"spread", numbers, [](HtmlTable& table, RankedGroup const& row) {
                       auto const spread = std::isfinite(row.group.value) ? row.group.spread : NAN;
                       table.number(spread, short_number(spread));
                   }});
    out.push_back({"copies", words, [](HtmlTable& table, RankedGroup const&) {
                       table.html("<td class=\"copies\"></td>");  // the script draws their values
                   }});
}

void add_keys(RankingColumns& out, std::vector<KeyColumn> const& keys) {
    using enum HtmlTable::Kind;
    for (auto const& key : keys)
        out.push_back({key.name, key.numeric ? numbers : words, [&key](HtmlTable& table, RankedGroup const& row) {
                           auto const& text = key.texts[row.index];
                           key.numeric ? table.number(key.values[row.index].value_or(NAN), text) : table.words(text);
                       }});
}

// A mean over copies has no best epoch, and no other metrics there.
void add_results(RankingColumns& out, RunResults const& data) {
    using enum HtmlTable::Kind;
    if (!data.has_copies())
        out.push_back({"best epoch", numbers, [](HtmlTable& table, RankedGroup const& row) {
                           row.first.best ? table.count(row.first.best->epoch) : table.number(NAN, "-");
                       }});
    out.push_back({"epochs", numbers, [](HtmlTable& table, RankedGroup const& row) { table.count(row.group.epochs); }});
    if (data.has_copies()) return;
    for (auto const& metric : data.others)
        out.push_back({metric, numbers, [&metric](HtmlTable& table, RankedGroup const& row) {
                           auto const value = row.first.best ? metric_value(row.first.best->metrics, metric) : NAN;
                           table.number(value, short_number(value));
                       }});
}

double trained_s(RunResults const& data, GroupResults const& group) {
    double out = 0;
    for (auto const i : group.trials) out += data.trials[i].train_s;
    return out;
}

// Busy seconds of a device and their share, where they are known of some trial.
void add_use(RankingColumns& out, RunResults const& data, std::string_view device, DeviceUse TrialResults::* use) {
    using enum HtmlTable::Kind;
    if (std::ranges::none_of(data.trials, [&](auto const& trial) { return (trial.*use).is_known(); })) return;
    auto const of_group = [&data, use](GroupResults const& group) {
        DeviceUse sum;
        for (auto const i : group.trials) sum.add(data.trials[i].*use);
        return sum;
    };
    out.push_back({fmt::format("{} (s)", device), numbers, [&data, of_group](HtmlTable& table, RankedGroup const& row) {
                       auto const found = of_group(row.group);
                       auto const seconds = found.is_known() ? found.of(trained_s(data, row.group)) : NAN;
                       table.number(seconds, found.is_known() ? fmt::format("{:.3g}", seconds) : "-");
                   }});
    out.push_back({fmt::format("{} use", device), numbers, [of_group](HtmlTable& table, RankedGroup const& row) {
                       auto const found = of_group(row.group);
                       auto const share = found.is_known() ? found.share() : NAN;
                       table.number(share, found.is_known() ? fmt::format("{:.0f} %", 100 * share) : "-");
                   }});
}

RankingColumns columns_of(RunResults const& data, std::vector<KeyColumn> const& keys) {
    using enum HtmlTable::Kind;
    RankingColumns out;
    add_identity(out, data);
    add_keys(out, keys);
    add_results(out, data);
    out.push_back({"trained (s)", numbers, [&data](HtmlTable& table, RankedGroup const& row) {
                       table.number(trained_s(data, row.group), fmt::format("{:.3g}", trained_s(data, row.group)));
                   }});
    add_use(out, data, "CPU", &TrialResults::cpu);
    add_use(out, data, "GPU", &TrialResults::gpu);
    out.push_back({"status", words,
                   [](HtmlTable& table, RankedGroup const& row) { table.status(row.first.status, row.first.reason); }});
    return out;
}

}  // namespace

std::vector<std::size_t> groups_by_place(RunResults const& data) {
    auto out = data.ranking;
    for (std::size_t g = 0; g < data.groups.size(); ++g)
        if (!std::isfinite(data.groups[g].value)) out.push_back(g);
    return out;
}

std::string ranking_section(RunResults const& data) {
    if (data.groups.empty()) return "";
    auto keys = key_columns(data, KeyColumns::all);
    auto const all_keys = keys.size();
    keys.resize(std::min(keys.size(), k_most_key_columns));
    auto const order = groups_by_place(data);
    auto const shown = std::min(order.size(), k_most_listed);
    auto const columns = columns_of(data, keys);
    std::vector<HtmlTable::Column> heads;
    for (auto const& column : columns) heads.push_back({column.name, column.kind});
    HtmlTable table(heads);
    for (std::size_t r = 0; r < shown; ++r) {
        auto const& group = data.groups[order[r]];
        RankedGroup const row{group, data.trials[group.trials.front()], order[r],
                              r < data.ranking.size() ? std::optional(r) : std::nullopt};
        table.begin_row_of_group(row.first.id, r >= k_open_rows ? "more" : "");
        for (auto const& column : columns) column.write(table, row);
    }
    auto out = std::move(table).take();
    if (shown > k_open_rows) out += "<p class=\"scripted\"><button type=\"button\" class=\"all\">Show all rows</button></p>";
    if (shown < order.size()) out += note(fmt::format("{} of {} rows are here; trials.csv has all.", shown, order.size()));
    if (keys.size() < all_keys) out += note(fmt::format("{} of {} searched keys are here.", keys.size(), all_keys));
    return out;
}

}  // namespace hopscotch
