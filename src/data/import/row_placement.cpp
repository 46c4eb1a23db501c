// SPDX-License-Identifier: Apache-2.0
#include "data/import/row_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_split_count = 3;
constexpr std::string_view k_adjectives[k_split_count] = {"training", "validation", "test"};
using SplitRows = std::array<std::int64_t, k_split_count>;  // by Split

constexpr std::size_t at(Split split) { return static_cast<std::size_t>(split); }

std::uint64_t key(SplitOptions const& options, std::int64_t purpose, std::int64_t which) {
    return stream_key(options.seed, Purpose::import_shuffle, {purpose, which});
}

std::string reason(SplitOptions const& options, SplitRows const& given) {
    auto const total = std::accumulate(given.begin(), given.end(), std::int64_t{0});
    auto text = fmt::format("{} rows, --valid {}", total, options.valid);
    if (options.test > 0) text += fmt::format(", --test {}", options.test);
    if (given[at(Split::train)] != total) text += fmt::format(", {} in the source's own training split", given[0]);
    return text;
}

// The final number of rows of each split. A split that is wanted must fill its shards.
SplitRows planned(SplitRows const& given, SplitOptions const& options) {
    auto out = given;
    auto const rows = static_cast<double>(given[at(Split::train)]);
    for (auto const& [split, fraction] : {std::pair{Split::valid, options.valid}, std::pair{Split::test, options.test}}) {
        if (given[at(split)] > 0) continue;
        out[at(split)] = std::llround(rows * fraction);
        out[at(Split::train)] -= out[at(split)];
    }
    auto const train = out[at(Split::train)];
    if (train < options.shards)
        throw ConfigError(fmt::format("--shards {}: {} training rows ({}) cannot fill {} shards; {}", options.shards, train,
                                      reason(options, given), options.shards,
                                      train > 0 ? fmt::format("use at most {} shards", train) : "add rows"));
    for (auto const& [split, fraction] : {std::pair{Split::valid, options.valid}, std::pair{Split::test, options.test}})
        if ((fraction > 0 || out[at(split)] > 0) && out[at(split)] < options.shards)
            throw ConfigError(fmt::format("--shards {}: {} {} rows ({}) cannot fill {} {} shards; use fewer shards or {}",
                                          options.shards, out[at(split)], k_adjectives[at(split)], reason(options, given),
                                          options.shards, k_adjectives[at(split)],
                                          given[at(split)] > 0    ? "add rows to that split"
                                          : split == Split::valid ? "a larger --valid"
                                                                  : "a larger --test"));
    return out;
}

// The part of `wanted` rows that each class gives: the floor of its share, and one more for the largest remainders.
std::vector<std::int64_t> quotas(std::vector<std::int64_t> const& counts, std::int64_t wanted) {
    auto const rows = static_cast<std::uint64_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
    std::vector<std::int64_t> quota(counts.size());
    if (rows == 0) return quota;
    std::vector<std::int64_t> remainder(counts.size());
    for (std::size_t c = 0; c < counts.size(); ++c) {
        auto const share = static_cast<std::uint64_t>(counts[c]) * static_cast<std::uint64_t>(wanted);  // 2^32 rows fit
        quota[c] = static_cast<std::int64_t>(share / rows);
        remainder[c] = static_cast<std::int64_t>(share % rows);
    }
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainder[a] > remainder[b]; });
    auto left = wanted - std::accumulate(quota.begin(), quota.end(), std::int64_t{0});
    for (auto c : order)
        if (left-- > 0) ++quota[c];
    return quota;
}

// The rows that the source leaves for training, those of a class side by side.
struct ByClass {
    std::vector<std::int64_t> counts;
    std::vector<std::uint32_t> rows;
};

ByClass training_rows(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options,
                      Placement const& marked) {
    auto const class_of = [&](std::size_t row) { return options.stratify ? classes[row] : 0U; };
    auto const is_free = [&](std::size_t row) { return marked.places[row].file == at(Split::train); };
    ByClass out;
    out.counts.resize(options.stratify ? class_count : 1);
    for (std::size_t row = 0; row < classes.size(); ++row)
        if (is_free(row)) ++out.counts[class_of(row)];
    std::vector<std::size_t> next(out.counts.size(), 0);  // counting sort
    for (std::size_t c = 1; c < next.size(); ++c) next[c] = next[c - 1] + static_cast<std::size_t>(out.counts[c - 1]);
    out.rows.resize(next.empty() ? 0 : next.back() + static_cast<std::size_t>(out.counts.back()));
    for (std::size_t row = 0; row < classes.size(); ++row)
        if (is_free(row)) out.rows[next[class_of(row)]++] = static_cast<std::uint32_t>(row);
    return out;
}

// Marks `valid` and `test` of the training rows in places[].file. Test rows come from the rows that validation leaves, so a
// small class is never asked for more rows than it has.
void draw(ByClass by_class, std::int64_t valid, std::int64_t test, SplitOptions const& options, Placement& out) {
    auto const to_valid = quotas(by_class.counts, valid);
    auto left = by_class.counts;
    for (std::size_t c = 0; c < left.size(); ++c) left[c] -= to_valid[c];
    auto const to_test = quotas(left, test);
    std::size_t first = 0;
    for (std::size_t c = 0; c < left.size(); ++c) {
        std::span const of_class(by_class.rows.data() + first, static_cast<std::size_t>(by_class.counts[c]));
        Rng(key(options, 0, static_cast<std::int64_t>(c))).shuffle(of_class);
        auto const v = static_cast<std::size_t>(to_valid[c]), t = static_cast<std::size_t>(to_test[c]);
        for (auto row : of_class.first(v)) out.places[row].file = at(Split::valid);
        for (auto row : of_class.subspan(v, t)) out.places[row].file = at(Split::test);
        first += of_class.size();
    }
}

// Shuffles the rows that are marked with the split and returns them.
std::vector<std::uint32_t> shuffled(Placement const& placement, std::size_t split, SplitOptions const& options) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < placement.places.size(); ++row)
        if (placement.places[row].file == split) rows.push_back(static_cast<std::uint32_t>(row));
    Rng(key(options, 1, static_cast<std::int64_t>(split))).shuffle(std::span(rows));
    return rows;
}

void deal(std::vector<std::uint32_t> const& rows, Split split, std::int64_t shards, Placement& out) {
    auto const count = static_cast<std::int64_t>(rows.size());
    if (count == 0) return;
    std::size_t next = 0;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
        auto const file = static_cast<std::uint32_t>(out.files.size());
        auto const size = count / shards + (shard < count % shards ? 1 : 0);
        out.files.push_back({split, size});
        for (std::int64_t i = 0; i < size; ++i) out.places[rows[next++]] = {file, static_cast<std::uint32_t>(i)};
    }
}

}  // namespace

Placement place_rows(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options,
                     std::vector<Split> const& given) {
    if (classes.size() > UINT32_MAX)
        throw ConfigError(fmt::format("{} rows in one dataset (at most {}); split the source", classes.size(), UINT32_MAX));
    require(given.empty() || given.size() == classes.size(), "a split is given for each row or for none");
    Placement out;
    out.places.resize(classes.size());
    SplitRows counts{};
    for (std::size_t row = 0; row < classes.size(); ++row) {
        auto const split = given.empty() ? at(Split::train) : at(given[row]);
        out.places[row].file = static_cast<std::uint32_t>(split);  // a mark, until the rows are dealt
        ++counts[split];
    }
    auto const plan = planned(counts, options);
    draw(training_rows(classes, class_count, options, out), plan[1] - counts[1], plan[2] - counts[2], options, out);
    // All are picked out before any is dealt: dealing overwrites the marks.
    std::array<std::vector<std::uint32_t>, k_split_count> rows;
    for (std::size_t split = 0; split < k_split_count; ++split) rows[split] = shuffled(out, split, options);
    for (auto split : {Split::train, Split::valid, Split::test}) deal(rows[at(split)], split, options.shards, out);
    return out;
}

}  // namespace hopscotch
