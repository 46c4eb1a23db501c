// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace hopscotch {
namespace {

[[noreturn]] void ask(ImportCsvOptions const& options, std::string const& why) {
    throw ConfigError(fmt::format("{}: is line 1 a header or a row? ({}); add --header yes or --header no",
                                  options.sources.front().string(), why));
}

}  // namespace

HeaderSearch::HeaderSearch(std::vector<std::string> first)
    : first_(std::move(first)), numbers_(first_.size(), 0.0), occurs_(first_.size(), 0) {
    for (std::size_t i = 0; i < first_.size(); ++i) kinds_.push_back(read_cell(first_[i], numbers_[i]));
}

bool HeaderSearch::see(Cells const& record) {
    if (std::equal(record.begin(), record.end(), first_.begin())) return true;
    for (std::size_t i = 0; i < record.size(); ++i)
        if (occurs_[i] == 0 && record[i] == first_[i]) occurs_[i] = 1;
    return false;
}

// A name that the options give to a column.
bool HeaderSearch::names_a_column(ImportCsvOptions const& options) const {
    auto const stands_here = [&](std::string const& name) {
        double unused;
        return read_cell(name, unused) == CellKind::text && std::ranges::find(first_, name) != first_.end();
    };
    return std::ranges::any_of(options.label, stands_here) ||
           std::ranges::any_of(options.columns, [&](auto const& choice) { return stands_here(choice.column); });
}

// 0, 1, 2 ... or 1, 2, 3 ... or 2019, 2020, 2021: the columns of a frame without names, or years. An index has no name.
bool HeaderSearch::is_a_sequence() const {
    std::size_t const start = kinds_.front() == CellKind::missing ? 1 : 0;
    if (first_.size() < start + 2) return false;
    for (std::size_t i = start; i < first_.size(); ++i)
        if (kinds_[i] != CellKind::number || numbers_[i] != numbers_[start] + static_cast<double>(i - start)) return false;
    return numbers_[start] == std::floor(numbers_[start]) && numbers_[start] >= 0;
}

HeaderDecision HeaderSearch::decide_numbers(ImportCsvOptions const& options) const {
    if (!is_a_sequence()) return {false, "line 1 has numbers, as the lines below"};
    bool const index = kinds_.front() == CellKind::missing;
    auto const below = std::ranges::count(occurs_, char{1});
    auto const numbers = static_cast<std::ptrdiff_t>(first_.size()) - (index ? 1 : 0);
    constexpr std::ptrdiff_t k_surely = 3;  // this many numbers in a row are not an accident
    if (below > 0 && numbers < k_surely && !index) return {false, "line 1 has numbers that occur below"};
    if (below == 0 && (numbers >= k_surely || index)) return {true, "line 1 counts the columns"};
    ask(options, fmt::format("it counts {}, {}, ...{}", first_[index ? 1 : 0], first_[index ? 2 : 1],
                             below > 0 ? ", and some of these numbers occur below" : ""));
}

HeaderDecision HeaderSearch::decide(ImportCsvOptions const& options, std::vector<ColumnTypes> const& types) const {
    if (names_a_column(options)) return {true, "line 1 has the name of a column that the options name"};
    auto const none = first_.size();
    auto above_numbers = none, new_text = none, text_below = none, number_below = none, fraction = none;
    for (std::size_t i = 0; i < first_.size(); ++i) {
        if (kinds_[i] == CellKind::text && occurs_[i] != 0) text_below = std::min(text_below, i);
        if (kinds_[i] == CellKind::text && occurs_[i] == 0) {
            auto& found = types[i].numbers > 0 && types[i].texts == 0 ? above_numbers : new_text;
            found = std::min(found, i);
        }
        if (kinds_[i] != CellKind::number) continue;
        if (occurs_[i] != 0) number_below = std::min(number_below, i);
        if (numbers_[i] != std::floor(numbers_[i])) fraction = std::min(fraction, i);
    }
    auto const name = std::min(above_numbers, new_text);
    if (name == none && text_below == none) return decide_numbers(options);
    if (name == none) return {false, fmt::format("line 1 has texts that occur below, such as '{}'", first_[text_below])};
    auto const value = std::min({text_below, number_below, fraction});
    auto const evidence = above_numbers != none ? fmt::format("'{}' stands above numbers", first_[above_numbers])
                                                : fmt::format("'{}' occurs nowhere below", first_[new_text]);
    if (value != none)
        ask(options, fmt::format("{}, but '{}' {}", evidence, first_[value],
                                 occurs_[value] != 0 ? "occurs below too" : "is not a name"));
    return {true, fmt::format("line 1: {}", evidence)};
}

}  // namespace hopscotch
