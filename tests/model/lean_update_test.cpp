// SPDX-License-Identifier: Apache-2.0
// Every rule with every choice of what it keeps: vectors, decay and no decay beside each other, the same bits as by
// elements.
#include <gtest/gtest.h>

#include <bit>
#include <tuple>
#include <vector>

#include "core/cpu_features.hpp"
#include "core/rng.hpp"
#include "model/lean/update.hpp"
#include "update_now.hpp"

namespace hopscotch {
namespace lean_update_test {

constexpr std::size_t k_size = 101, k_decayed = 53;

// What may change in a step.
struct Values {
    std::vector<float> parameters, mean, square, momentum, averaged;

    std::vector<std::uint32_t> bits() const {
        std::vector<std::uint32_t> out;
        for (auto const* values : {&parameters, &mean, &square, &momentum, &averaged})
            for (auto const value : *values) out.push_back(std::bit_cast<std::uint32_t>(value));
        return out;
    }
};

std::vector<float> normals(std::uint64_t key) {
    Rng rng(key);
    std::vector<float> out(k_size);
    for (auto& x : out) x = static_cast<float>(rng.normal());
    return out;
}

Values first_values() {
    Values out{normals(1), normals(2), normals(3), normals(4), normals(5)};
    for (auto& x : out.square) x = x * x + 2;  // above a square of the mean
    return out;
}

class LeanUpdateOf : public ::testing::TestWithParam<std::tuple<UpdateRule, bool, bool, bool, bool, bool>> {
protected:
    void SetUp() override {
        if (!cpu_features().has_lean_step()) GTEST_SKIP() << "needs a CPU with AVX2";
    }

    static FlatUpdate update_of(Values& values, std::vector<float> const& gradient) {
        auto const [rule, nesterov, momentum, averaged, mean, decay] = GetParam();
        bool const adam = rule == UpdateRule::adam || rule == UpdateRule::adamw;
        FlatUpdate out;
        out.rule = rule;
        out.nesterov = nesterov;
        out.parameters = values.parameters.data();
        out.gradient = gradient.data();
        out.mean = mean || adam ? values.mean.data() : nullptr;
        out.square = values.square.data();
        out.momentum = momentum ? values.momentum.data() : nullptr;
        out.averaged = averaged ? values.averaged.data() : nullptr;
        out.size = k_size;
        out.decayed = decay ? k_decayed : 0;
        return out;
    }
};

TEST_P(LeanUpdateOf, HasTheBitsOfItsElements) {
    auto const now = some_update();
    auto all = first_values(), each = all;
    for (std::uint64_t step = 0; step < 2; ++step) {
        auto const gradient = normals(10 + step);
        update_all(update_of(all, gradient), now);
        auto const update = update_of(each, gradient);
        for (std::size_t i = 0; i < k_size; ++i) update_element(update, i, now);
    }
    EXPECT_NE(all.bits(), first_values().bits());
    EXPECT_EQ(all.bits(), each.bits());
}

INSTANTIATE_TEST_SUITE_P(Every, LeanUpdateOf,
                         ::testing::Combine(::testing::Values(UpdateRule::sgd, UpdateRule::adam, UpdateRule::adamw,
                                                              UpdateRule::rmsprop, UpdateRule::adagrad),
                                            ::testing::Bool(), ::testing::Bool(), ::testing::Bool(), ::testing::Bool(),
                                            ::testing::Bool()));

}  // namespace lean_update_test
}  // namespace hopscotch
