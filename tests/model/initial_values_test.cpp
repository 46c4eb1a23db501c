// SPDX-License-Identifier: Apache-2.0
#include "model/state/initial_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/rng.hpp"
#include "experiment/config.hpp"
#include "fixture.hpp"
#include "model/state/layout.hpp"

namespace hopscotch::testing {
namespace initial_values_test {

// More values than a thread draws in one go, and odd numbers, so that streams do not begin at a block.
std::vector<ParameterSpec> parameters() {
    return {{"odd", {3, 5}, Init::uniform(0.5)},
            {"normal", {300, 401}, Init::normal(0.1)},
            {"ones", {70000}, Init::constant(1)},
            {"uniform", {70001}, Init::uniform(2)},
            {"narrow", {333, 203}, Init::truncated_normal(0.02)},
            {"wide", {77}, Init::truncated_normal(3)},
            {"last", {65537}, Init::normal(1)}};
}

float next_value(Init const& init, Rng& rng) {
    if (init.kind == Init::Kind::constant) return static_cast<float>(init.value);
    if (init.kind == Init::Kind::uniform) return static_cast<float>(init.value * (2 * rng.uniform() - 1));
    double x = init.value * rng.normal();
    while (init.kind == Init::Kind::truncated_normal && std::abs(x) > 2) x = init.value * rng.normal();
    return static_cast<float>(x);
}

TEST(InitialValues, AreThoseOfOneStreamWithAnyNumberOfThreads) {
    auto const specs = parameters();
    std::vector<BufferSpec> const buffers;
    TrainConfig train;
    train.ema = 0.9;
    LayoutRequest const request{specs, buffers, {}, train};
    auto const layout = make_layout(request);
    for (int const threads : {1, 2, 7}) {
        AlignedBlock block(layout.bytes);
        std::memset(block.bytes().data(), 0xff, layout.bytes);
        initialise_state(block.bytes(), layout, request, 99, threads);
        Rng rng(99);
        for (auto const& spec : specs) {
            std::int64_t wrong = 0;
            auto const* const found = reinterpret_cast<float const*>(block.bytes().data() + layout.find(spec.name).offset);
            auto const* const averaged =
                reinterpret_cast<float const*>(block.bytes().data() + layout.find(slot_name(spec.name, k_ema_slot)).offset);
            for (std::int64_t i = 0; i < spec.elements(); ++i) {
                auto const expected = next_value(spec.init, rng);
                wrong += static_cast<std::int64_t>(found[i] != expected || averaged[i] != expected);
            }
            EXPECT_EQ(wrong, 0) << spec.name << ", " << threads << " threads";
        }
    }
}

}  // namespace initial_values_test
}  // namespace hopscotch::testing
