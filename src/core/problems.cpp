// SPDX-License-Identifier: Apache-2.0
// The problems that the strict reader finds in a document, in their order, and its suggestions for misspelt words.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {

void Problems::add(Position at, std::string_view path, std::string_view problem) {
    found_.push_back({at, path.empty() ? "/" : std::string(path), std::string(problem)});
}

void Problems::add(std::string_view problem) { found_.push_back({{}, "", std::string(problem)}); }

Position Problems::add_source(std::string name, std::string path) {
    sources_.push_back({std::move(name), std::move(path)});
    return {-static_cast<int>(sources_.size()), 0};
}

std::string Problems::line_of(Entry const& entry) const {
    if (entry.path.empty()) return fmt::format("{}: {}", file_, entry.problem);
    if (auto const index = static_cast<std::size_t>(-entry.at.line); entry.at.line < 0 && index <= sources_.size()) {
        auto const& source = sources_[index - 1];
        if (source.path == entry.path) return fmt::format("{}: {}", source.name, entry.problem);
        return fmt::format("{}: {}: {}", source.name, entry.path, entry.problem);
    }
    auto const place = entry.at.line > 0 ? fmt::format("{}:{}:{}", file_, entry.at.line, entry.at.column) : file_;
    return fmt::format("{}: {}: {}", place, entry.path, entry.problem);
}

std::string Problems::text() const {
    auto sorted = found_;
    // Other sources first, in their own order, then the file as a whole, then line by line.
    auto const order = [](Position at) { return std::tuple(at.line >= 0, at.line < 0 ? -at.line : at.line, at.column); };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](Entry const& a, Entry const& b) { return order(a.at) < order(b.at); });
    std::string out;
    for (auto const& entry : sorted) out += fmt::format("{}{}", out.empty() ? "" : "\n", line_of(entry));
    return out;
}

void Problems::throw_if_any() const {
    if (!empty()) throw ConfigError(text());
}

namespace {

// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const cost = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

}  // namespace

constexpr std::size_t k_longest_word = 256;

std::string nearest(std::string_view word, std::vector<std::string> const& known) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    if (word.size() > k_longest_word) return best;  // not a typing error; the distance takes quadratic time
    for (auto const& candidate : known)
        if (auto const d = candidate.size() > k_longest_word ? best_distance : distance(word, candidate);
            d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    return best;
}

}  // namespace hopscotch
