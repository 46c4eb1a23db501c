// SPDX-License-Identifier: Apache-2.0
#include "data/row_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/rng.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace {

std::vector<std::uint32_t> random_classes(std::size_t rows, std::uint32_t classes) {
    Rng rng(99);
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < rows; ++i) out.push_back(std::min(rng.below(classes), rng.below(classes)));  // uneven
    return out;
}

TEST(Placement, every_row_has_its_own_place_and_shards_differ_by_at_most_one_row) {
    for (std::int64_t shards : {1, 3, 12}) {
        auto const classes = random_classes(1797, 10);
        auto const placement = place_rows(classes, 10, {shards, 0.2, 7});
        auto const s = static_cast<std::size_t>(shards);
        ASSERT_EQ(placement.rows.size(), 2 * s);
        EXPECT_EQ(std::accumulate(placement.rows.begin(), placement.rows.begin() + shards, std::int64_t{0}), 1797 - 359);
        EXPECT_EQ(std::accumulate(placement.rows.begin() + shards, placement.rows.end(), std::int64_t{0}), 359);
        for (auto half : {placement.rows.begin(), placement.rows.begin() + shards}) {
            auto const [low, high] = std::minmax_element(half, half + shards);
            EXPECT_LE(*high - *low, 1);
        }
        std::set<std::pair<std::uint32_t, std::uint32_t>> places;
        for (auto const& place : placement.places) {
            ASSERT_LT(place.position, placement.rows[place.file]);
            ASSERT_TRUE(places.emplace(place.file, place.position).second);
        }
    }
}

TEST(Placement, validation_has_its_share_of_every_class) {
    auto const classes = random_classes(5000, 7);
    auto const placement = place_rows(classes, 7, {4, 0.3, 1});
    std::vector<double> all(7), valid(7);
    for (std::size_t row = 0; row < classes.size(); ++row) {
        ++all[classes[row]];
        if (placement.places[row].file >= 4) ++valid[classes[row]];
    }
    for (std::size_t c = 0; c < 7; ++c) EXPECT_LT(std::abs(valid[c] - 0.3 * all[c]), 1.0) << c;
}

TEST(Placement, depends_on_the_seed_alone) {
    auto const classes = random_classes(300, 3);
    auto const flat = [&](std::uint64_t seed) {
        std::vector<std::uint32_t> out;
        for (auto const& place : place_rows(classes, 3, {4, 0.2, seed}).places)
            out.insert(out.end(), {place.file, place.position});
        return out;
    };
    EXPECT_EQ(flat(5), flat(5));
    EXPECT_NE(flat(5), flat(6));
}

TEST(Placement, shuffles_rows_globally) {
    // Sorted input: a shard that were a slice of it would hold few classes.
    std::vector<std::uint32_t> classes(1000);
    for (std::size_t i = 0; i < 1000; ++i) classes[i] = static_cast<std::uint32_t>(i / 100);
    auto const placement = place_rows(classes, 10, {4, 0.2, 3});
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
    std::vector<std::uint32_t> const classes(25, 0);
    EXPECT_EQ(thrown<ConfigError>([&] {
                  place_rows(classes, 1, {12, 0.2, 0});
              }),
              "--shards 12: 5 validation rows (25 rows, --valid 0.2) cannot fill 12 validation shards; use fewer shards or "
              "a larger --valid");
    EXPECT_EQ(thrown<ConfigError>([&] {
                  place_rows(classes, 1, {26, 0.2, 0});
              }),
              "--shards 26: 20 training rows (25 rows, --valid 0.2) cannot fill 26 shards; use at most 20 shards");
    EXPECT_NO_THROW(place_rows(classes, 1, {5, 0.2, 0}));
}

}  // namespace
}  // namespace hopscotch
