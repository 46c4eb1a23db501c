// SPDX-License-Identifier: Apache-2.0
#include "data/import/row_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace row_placement_test {

using Classes = std::vector<std::uint32_t>;

Classes random_classes(std::size_t rows, std::uint32_t classes, std::uint64_t seed = 99) {
    Rng rng(seed);
    Classes out;
    for (std::size_t i = 0; i < rows; ++i) out.push_back(std::min(rng.below(classes), rng.below(classes)));  // uneven
    return out;
}

SplitOptions options_of(std::int64_t shards, double valid, std::uint64_t seed, double test = 0) {
    return {.shards = shards, .valid = valid, .test = test, .seed = seed};
}

std::array<std::int64_t, 3> rows_by_split(Placement const& placement) {
    std::array<std::int64_t, 3> out{};
    for (auto const& file : placement.files) out[static_cast<std::size_t>(file.split)] += file.rows;
    return out;
}

Split split_of(Placement const& placement, std::size_t row) { return placement.files[placement.places[row].file].split; }

// What holds of every placement: each place is taken once, files are S of train, of valid, of test, and those of a split
// differ by at most one row.
void expect_sound(Placement const& placement, std::int64_t shards) {
    std::map<Split, std::vector<std::int64_t>> sizes;
    Split last = Split::train;
    for (auto const& file : placement.files) {
        EXPECT_GE(file.split, last);
        last = file.split;
        sizes[file.split].push_back(file.rows);
    }
    for (auto const& [split, rows] : sizes) {
        EXPECT_EQ(static_cast<std::int64_t>(rows.size()), shards);
        auto const [low, high] = std::minmax_element(rows.begin(), rows.end());
        EXPECT_LE(*high - *low, 1);
        EXPECT_GE(*low, 1);
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> places;
    std::int64_t room = 0;
    for (auto const& file : placement.files) room += file.rows;
    EXPECT_EQ(room, static_cast<std::int64_t>(placement.places.size()));
    for (auto const& place : placement.places) {
        ASSERT_LT(place.file, placement.files.size());
        ASSERT_LT(place.position, placement.files[place.file].rows);
        ASSERT_TRUE(places.emplace(place.file, place.position).second);
    }
}

TEST(Placement, random_instances_are_sound_and_have_the_sizes_asked_for) {
    Rng rng(5);
    for (int instance = 0; instance < 200; ++instance) {
        auto const rows = 60 + rng.below(400);
        auto const classes = 1 + rng.below(12);
        auto options = options_of(1 + rng.below(5), 0.1 * rng.below(5), rng.next_u64() >> 1, 0.1 * rng.below(4));
        options.stratify = rng.below(2) == 0;
        auto const placement = place_rows(random_classes(rows, classes, rng.next_u64()), classes, options);
        expect_sound(placement, options.shards);
        auto const counts = rows_by_split(placement);
        EXPECT_EQ(counts[1], std::llround(rows * options.valid));
        EXPECT_EQ(counts[2], std::llround(rows * options.test));
    }
}

TEST(Placement, every_split_has_its_share_of_every_class) {
    auto const classes = random_classes(5000, 7);
    auto const placement = place_rows(classes, 7, options_of(4, 0.3, 1, 0.1));
    std::array<std::array<double, 7>, 3> counts{};
    std::array<double, 7> all{};
    for (std::size_t row = 0; row < classes.size(); ++row) {
        ++all[classes[row]];
        ++counts[static_cast<std::size_t>(split_of(placement, row))][classes[row]];
    }
    for (std::size_t c = 0; c < 7; ++c) {
        EXPECT_LT(std::abs(counts[1][c] - 0.3 * all[c]), 1.0) << c;
        EXPECT_LT(std::abs(counts[2][c] - 0.1 * all[c]), 2.0) << c;  // rounded twice: it comes out of what is left
    }
}

TEST(Placement, without_stratification_the_classes_do_not_count) {
    auto options = options_of(3, 0.25, 8);
    options.stratify = false;
    auto const first = place_rows(random_classes(400, 5, 1), 5, options), second = place_rows(Classes(400, 0), 1, options);
    for (std::size_t row = 0; row < 400; ++row) {
        ASSERT_EQ(first.places[row].file, second.places[row].file);
        ASSERT_EQ(first.places[row].position, second.places[row].position);
    }
    options.stratify = true;
    auto const classes = random_classes(400, 5, 1);
    std::array<int, 5> drawn{}, quota{};
    auto const stratified = place_rows(classes, 5, options);
    for (std::size_t row = 0; row < 400; ++row) {
        if (split_of(first, row) == Split::valid) ++drawn[classes[row]];
        if (split_of(stratified, row) == Split::valid) ++quota[classes[row]];
    }
    EXPECT_NE(drawn, quota);
}

TEST(Placement, splits_that_the_source_gives_stay) {
    auto const classes = random_classes(600, 4);
    std::vector<Split> given(600, Split::train);
    for (std::size_t row = 0; row < 600; row += 6) given[row] = Split::test;
    auto const placement = place_rows(classes, 4, options_of(5, 0.2, 3, 0.5), given);
    expect_sound(placement, 5);
    EXPECT_EQ(rows_by_split(placement), (std::array<std::int64_t, 3>{400, 100, 100}));  // --test does not add to it
    for (std::size_t row = 0; row < 600; ++row) EXPECT_EQ(split_of(placement, row) == Split::test, row % 6 == 0);

    for (std::size_t row = 1; row < 600; row += 6) given[row] = Split::valid;
    auto const full = place_rows(classes, 4, options_of(5, 0.2, 3), given);
    for (std::size_t row = 0; row < 600; ++row) ASSERT_EQ(split_of(full, row), given[row]);
}

TEST(Placement, splits_without_rows_have_no_files) {
    Classes const classes(40, 0);
    EXPECT_EQ(place_rows(classes, 1, options_of(4, 0, 0)).files.size(), 4U);
    EXPECT_EQ(place_rows(classes, 1, options_of(4, 0, 0, 0.2)).files.back().split, Split::test);
    EXPECT_EQ(place_rows(classes, 1, options_of(4, 0.2, 0, 0.2)).files.size(), 12U);
}

TEST(Placement, depends_on_the_seed_alone) {
    auto const classes = random_classes(300, 3);
    auto const flat = [&](std::uint64_t seed) {
        Classes out;
        for (auto const& place : place_rows(classes, 3, options_of(4, 0.2, seed, 0.1)).places)
            out.insert(out.end(), {place.file, place.position});
        return out;
    };
    EXPECT_EQ(flat(5), flat(5));
    EXPECT_NE(flat(5), flat(6));
}

TEST(Placement, shuffles_rows_globally) {
    // Sorted input: a shard that were a slice of it would hold few classes.
    Classes classes(1000);
    for (std::size_t i = 0; i < 1000; ++i) classes[i] = static_cast<std::uint32_t>(i / 100);
    auto const placement = place_rows(classes, 10, options_of(4, 0.2, 3));
    std::vector<std::set<std::uint32_t>> seen(4), first_half(4);
    for (std::size_t row = 0; row < 1000; ++row)
        if (auto const place = placement.places[row]; place.file < 4) {
            seen[place.file].insert(classes[row]);
            if (place.position < 100) first_half[place.file].insert(classes[row]);
        }
    for (std::size_t f = 0; f < 4; ++f) {
        EXPECT_EQ(seen[f].size(), 10U);
        EXPECT_EQ(first_half[f].size(), 10U);
    }
}

TEST(Placement, too_many_shards_are_refused) {
    Classes const classes(25, 0);
    auto const error = [&](SplitOptions const& options, std::vector<Split> const& given = {}) {
        return thrown<ConfigError>([&] { place_rows(classes, 1, options, given); });
    };
    EXPECT_EQ(error(options_of(12, 0.2, 0)),
              "--shards 12: 5 validation rows (25 rows, --valid 0.2) cannot fill 12 validation shards; use fewer shards or "
              "a larger --valid");
    EXPECT_EQ(error(options_of(26, 0.2, 0)),
              "--shards 26: 20 training rows (25 rows, --valid 0.2) cannot fill 26 shards; use at most 20 shards");
    EXPECT_EQ(error(options_of(4, 0.2, 0, 0.1)),
              "--shards 4: 3 test rows (25 rows, --valid 0.2, --test 0.1) cannot fill 4 test shards; use fewer shards or a "
              "larger --test");
    std::vector<Split> given(25, Split::train);
    given[3] = Split::valid;
    EXPECT_EQ(error(options_of(2, 0.2, 0), given),
              "--shards 2: 1 validation rows (25 rows, --valid 0.2, 24 in the source's own training split) cannot fill 2 "
              "validation shards; use fewer shards or add rows to that split");
    EXPECT_EQ(error(options_of(5, 0.2, 0)), "");
}

}  // namespace row_placement_test
}  // namespace hopscotch
