// SPDX-License-Identifier: Apache-2.0
#include "data/row_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace {

constexpr std::uint32_t k_training = 0, k_validation = 1;

std::uint64_t key(SplitOptions const& options, std::int64_t purpose, std::int64_t which) {
    return stream_key(options.seed, Purpose::import_shuffle, {purpose, which});
}

std::int64_t validation_rows(std::int64_t rows, SplitOptions const& options) {
    auto const valid = std::llround(static_cast<double>(rows) * options.valid);
    if (rows - valid < options.shards)
        throw ConfigError(
            fmt::format("--shards {}: {} training rows ({} rows, --valid {}) cannot fill {} shards; use at most {} shards",
                        options.shards, rows - valid, rows, options.valid, options.shards, rows - valid));
    if (valid < options.shards)
        throw ConfigError(
            fmt::format("--shards {}: {} validation rows ({} rows, --valid {}) cannot fill {} validation shards; use "
                        "fewer shards or a larger --valid",
                        options.shards, valid, rows, options.valid, options.shards));
    return valid;
}

// How many rows of each class validate: the floor of its share, and the largest remainders get one more.
std::vector<std::int64_t> quotas(std::vector<std::int64_t> const& counts, std::int64_t rows, std::int64_t valid) {
    std::vector<std::int64_t> quota(counts.size());
    std::vector<std::int64_t> remainder(counts.size());
    for (std::size_t c = 0; c < counts.size(); ++c) {
        auto const share = static_cast<std::uint64_t>(counts[c]) * static_cast<std::uint64_t>(valid);  // 2^32 rows fit
        quota[c] = static_cast<std::int64_t>(share / static_cast<std::uint64_t>(rows));
        remainder[c] = static_cast<std::int64_t>(share % static_cast<std::uint64_t>(rows));
    }
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainder[a] > remainder[b]; });
    auto left = valid - std::accumulate(quota.begin(), quota.end(), std::int64_t{0});
    for (auto c : order)
        if (left-- > 0) ++quota[c];
    return quota;
}

// Marks the validation rows in places[].file.
void split(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options, Placement& out) {
    std::vector<std::int64_t> counts(class_count, 0);
    for (auto c : classes) ++counts[c];
    auto const rows = static_cast<std::int64_t>(classes.size());
    auto const quota = quotas(counts, rows, validation_rows(rows, options));

    std::vector<std::size_t> next(class_count, 0);  // counting sort: the rows of a class side by side
    for (std::size_t c = 1; c < class_count; ++c) next[c] = next[c - 1] + static_cast<std::size_t>(counts[c - 1]);
    std::vector<std::uint32_t> by_class(classes.size());
    for (std::size_t row = 0; row < classes.size(); ++row) by_class[next[classes[row]]++] = static_cast<std::uint32_t>(row);

    std::size_t first = 0;
    for (std::size_t c = 0; c < class_count; ++c) {
        auto const size = static_cast<std::size_t>(counts[c]);
        std::span const of_class(by_class.data() + first, size);
        Rng(key(options, 0, static_cast<std::int64_t>(c))).shuffle(of_class);
        for (auto row : of_class.first(static_cast<std::size_t>(quota[c]))) out.places[row].file = k_validation;
        first += size;
    }
}

// Shuffles the rows that are marked `part` and returns them.
std::vector<std::uint32_t> shuffled_part(Placement const& placement, std::uint32_t part, SplitOptions const& options) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < placement.places.size(); ++row)
        if (placement.places[row].file == part) rows.push_back(static_cast<std::uint32_t>(row));
    Rng(key(options, 1, part)).shuffle(std::span(rows));
    return rows;
}

void deal(std::vector<std::uint32_t> const& rows, std::int64_t first_file, Placement& out) {
    auto const count = static_cast<std::int64_t>(rows.size());
    std::size_t at = 0;
    for (std::int64_t shard = 0; shard < out.shards; ++shard) {
        auto const file = first_file + shard;
        auto const size = count / out.shards + (shard < count % out.shards ? 1 : 0);
        out.rows[static_cast<std::size_t>(file)] = size;
        for (std::int64_t i = 0; i < size; ++i)
            out.places[rows[at++]] = {static_cast<std::uint32_t>(file), static_cast<std::uint32_t>(i)};
    }
}

}  // namespace

Placement place_rows(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options) {
    if (classes.size() > UINT32_MAX)
        throw ConfigError(fmt::format("{} rows in one dataset (at most {}) split the source", classes.size(), UINT32_MAX));
    Placement out;
    out.shards = options.shards;
    out.places.resize(classes.size());
    out.rows.resize(static_cast<std::size_t>(2 * options.shards));
    split(classes, class_count, options, out);
    // Both parts are picked out before either is dealt: dealing overwrites the marks.
    auto const valid = shuffled_part(out, k_validation, options);
    deal(shuffled_part(out, k_training, options), 0, out);
    deal(valid, options.shards, out);
    return out;
}

}  // namespace hopscotch
