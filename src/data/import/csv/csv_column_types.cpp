// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <optional>

#include "data/import/csv/csv_columns.hpp"

namespace hopscotch {

void ColumnTypes::observe(std::optional<ColumnType> chosen, std::string_view cell, CsvReader const& at) {
    double value = 0;
    auto kind = read_cell(cell, value);
    if (chosen == ColumnType::category && kind == CellKind::number) kind = CellKind::text;
    if (chosen == ColumnType::date && kind != CellKind::missing) {
        auto const date = read_date(cell);
        kind = date ? CellKind::number : CellKind::text;
        value = date.value_or(0);
    }
    switch (kind) {
        case CellKind::missing:
            if (missing++ == 0) first[Odd::gap] = {std::string(cell), at.place()};
            break;
        case CellKind::text: observe_text(cell, at); break;
        case CellKind::number: observe_number(cell, value, at);
    }
}

void ColumnTypes::observe_number(std::string_view cell, double value, CsvReader const& at) {
    ++numbers;
    range.see(value);
    bytes = bytes && range.integers && value >= 0 && value <= 255;
    if (binary && value != 0 && value != 1) {
        binary = false;
        first[Odd::not_binary] = {std::string(cell), at.place()};
    }
    if (!(std::abs(value) <= std::numeric_limits<float>::max())) first.try_emplace(Odd::huge, std::string(cell), at.place());
    if (cell.front() == '0' && is_code(cell)) first.try_emplace(Odd::code, std::string(cell), at.place());
}

void ColumnTypes::observe_text(std::string_view cell, CsvReader const& at) {
    if (texts++ == 0) first[Odd::text] = {std::string(cell), at.place()};
    if (read_date(cell)) ++dates;
    auto const found = dressed_number(cell);
    if (!found || (dressed > 0 && *found != unit)) return;
    if (dressed++ > 0) return;
    unit = *found;
    first[Odd::dressed] = {std::string(cell), at.place()};
}

CellKind read_value(CsvColumn const& column, std::string_view cell, double& value) {
    if (column.kind == ColumnKind::date) {
        if (is_missing(cell)) return CellKind::missing;
        auto const date = read_date(cell);
        value = date.value_or(0) - column.offset;
        return date ? CellKind::number : CellKind::text;
    }
    auto const kind = read_cell(cell, value);
    if (kind != CellKind::number || column.offset == 0) return kind;
    constexpr double k_beyond = 0x1p64;  // a larger offset is not one: the file has been changed
    auto const integer = std::abs(column.offset) <= k_beyond ? exact_integer(cell) : std::nullopt;
    value = integer ? static_cast<double>(*integer - static_cast<WideInteger>(column.offset)) : value - column.offset;
    return kind;
}

}  // namespace hopscotch
