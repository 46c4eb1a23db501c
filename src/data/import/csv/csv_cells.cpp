// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_cells.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

namespace hopscotch {
namespace {

constexpr std::size_t k_longest_dressed = 40;  // characters of a number with its sign, its unit and its separators
constexpr double k_seconds_per_day = 86400;
constexpr std::array<std::string_view, 14> k_words{"?",    "NA",  "NaN",  "nan",  "NAN",  "N/A",  "n/a",
                                                   "#N/A", "#NA", "<NA>", "NULL", "null", "Null", "#NULL!"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool are_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

template <class Number>
bool reads_as(std::string_view text, Number& out) {
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    return code == std::errc{} && end == text.data() + text.size();
}

// Takes text off the front: a number of exactly `digits` digits.
bool take_number(std::string_view& text, std::size_t digits, int& out) {
    if (text.size() < digits || !are_digits(text.substr(0, digits)) || !reads_as(text.substr(0, digits), out)) return false;
    text.remove_prefix(digits);
    return true;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

// "Z", "+02:00", "+0200", "-05": the seconds that local time is ahead of UTC.
bool take_zone(std::string_view& text, double& ahead_s) {
    ahead_s = 0;
    if (text.empty() || take(text, 'Z')) return text.empty();
    bool const west = text.front() == '-';
    if (!west && text.front() != '+') return false;
    text.remove_prefix(1);
    int hours = 0, minutes = 0;
    if (!take_number(text, 2, hours)) return false;
    take(text, ':');
    if (!text.empty() && !take_number(text, 2, minutes)) return false;
    ahead_s = (west ? -60.0 : 60.0) * (hours * 60 + minutes);
    return text.empty() && hours < 24 && minutes < 60;
}

// "12:30", "12:30:05", "12:30:05.25", then a zone.
bool take_time(std::string_view& text, double& seconds) {
    int hours = 0, minutes = 0, whole = 0;
    if (!take_number(text, 2, hours) || !take(text, ':') || !take_number(text, 2, minutes)) return false;
    double fraction = 0;
    if (take(text, ':')) {
        if (!take_number(text, 2, whole)) return false;
        if (!text.empty() && text.front() == '.') {
            auto const digits = std::find_if_not(text.begin() + 1, text.end(), is_digit) - text.begin();
            if (!reads_as(text.substr(0, static_cast<std::size_t>(digits)), fraction)) return false;
            text.remove_prefix(static_cast<std::size_t>(digits));
        }
    }
    double ahead_s = 0;
    if (hours > 23 || minutes > 59 || whole > 59 || !take_zone(text, ahead_s)) return false;
    seconds = hours * 3600.0 + minutes * 60.0 + whole + fraction - ahead_s;
    return true;
}

}  // namespace

std::span<std::string_view const> missing_words() { return k_words; }

bool is_missing(std::string_view cell) {
    if (cell.empty()) return true;
    auto const first = cell.front();
    if (first != '?' && first != 'N' && first != 'n' && first != '#' && first != '<') return false;  // nearly all
    return cell.size() <= 6 && std::find(k_words.begin(), k_words.end(), cell) != k_words.end();
}

CellKind read_cell(std::string_view cell, double& value) {
    if (is_missing(cell)) return CellKind::missing;
    if (cell.front() == '+' && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
    auto const [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (end != cell.data() + cell.size() || code == std::errc::invalid_argument) return CellKind::text;
    if (code == std::errc::result_out_of_range) value = std::strtod(std::string(cell).c_str(), nullptr);  // 0 or infinity
    return CellKind::number;
}

std::optional<WideInteger> exact_integer(std::string_view cell) {
    if (cell.size() > 1 && cell.front() == '+' && cell[1] != '-') cell.remove_prefix(1);
    if (std::int64_t value = 0; reads_as(cell, value)) return value;
    if (std::uint64_t value = 0; reads_as(cell, value)) return value;
    if (are_digits(cell.substr(!cell.empty() && cell.front() == '-'))) return std::nullopt;  // more than 64 bits
    if (double value = 0; reads_as(cell, value) && value == std::floor(value) && std::abs(value) <= 0x1p53)
        return static_cast<WideInteger>(value);
    return std::nullopt;
}

bool is_code(std::string_view cell) { return cell.size() > 1 && cell.front() == '0' && are_digits(cell); }

std::optional<std::string> dressed_number(std::string_view cell) {
    if (cell.size() > k_longest_dressed || std::none_of(cell.begin(), cell.end(), is_digit)) return std::nullopt;
    std::string plain;
    for (std::size_t i = 0; i < cell.size(); ++i) {
        if (cell.substr(i).starts_with("\xE2\x88\x92")) {  // U+2212
            plain += '-';
            i += 2;
        } else if (cell[i] != ',' && cell[i] != '\'' && cell[i] != ' ' && cell[i] != '_') {
            plain += cell[i];
        }
    }
    constexpr std::array<std::string_view, 4> signs{"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};  // dollar to yen
    for (auto const sign : signs)
        if (plain.starts_with(sign)) plain.erase(0, sign.size());
    double value = 0;
    auto const [end, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (end == plain.data() || code == std::errc::invalid_argument) return std::nullopt;
    std::string const unit(end, static_cast<std::size_t>(plain.data() + plain.size() - end));
    constexpr std::size_t k_longest_unit = 4;  // bytes: kg, mmHg, %, the degree sign and a C
    bool const other = unit.size() > k_longest_unit || unit.find_first_of("0123456789-./:") != unit.npos;
    return other ? std::nullopt : std::optional(unit);
}

std::optional<double> read_date(std::string_view cell) {
    int year = 0, month = 0, day = 0;
    if (!take_number(cell, 4, year) || cell.empty()) return std::nullopt;
    char const between = cell.front();
    if ((between != '-' && between != '/') || !take(cell, between) || !take_number(cell, 2, month) || !take(cell, between) ||
        !take_number(cell, 2, day))
        return std::nullopt;
    std::chrono::year_month_day const date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    auto const days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    if (cell.empty()) return days;
    double seconds = 0;
    if ((!take(cell, 'T') && !take(cell, ' ')) || !take_time(cell, seconds)) return std::nullopt;
    return days + seconds / k_seconds_per_day;
}

}  // namespace hopscotch
