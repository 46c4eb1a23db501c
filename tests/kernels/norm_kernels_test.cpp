// SPDX-License-Identifier: Apache-2.0
// The kernels of batch norm have the bits of plain loops, for shapes of one piece and of many.
#include "tensor/gpu/norm_kernels.hpp"

#include <gtest/gtest.h>

#include "kernels/norm_loops.hpp"
#include "kernels/random_bits.hpp"

namespace hopscotch {
namespace norm_kernels_test {

using testing::Array;
using testing::random_floats;
using testing::random_matrix;
using testing::same_bits;

struct Case {
    FloatType type = FloatType::float32;
    NormCut cut;
    NormMask mask = NormMask::none;
    Bounds bounds;
    bool trains = true;
};

Case random_case(Rng& rng) {
    Case out;
    out.type = rng.below(2) == 0 ? FloatType::float32 : FloatType::bfloat16;
    std::uint32_t const multiples[] = {1, 1, 2, 3, 4, 8, 8};
    auto const channels = (1 + rng.below(rng.below(4) == 0 ? 70 : 9)) * multiples[rng.below(7)];
    auto const rows = 1 + rng.below(rng.below(8) == 0 ? 20'000 / channels : 200);
    out.cut = norm_cut(rows, channels, out.type == FloatType::float32 ? 4 : 2);
    out.mask = static_cast<NormMask>(rng.below(3));
    if (out.mask != NormMask::none) out.bounds.low = 0;
    if (rng.below(2) == 0 && out.mask != NormMask::none) out.bounds.high = 1;
    out.trains = rng.below(4) > 0;
    return out;
}

// What both passes read and write.
struct Memory {
    Array<std::uint16_t> x, added, y, gradient, passed, x_gradient;
    Array<float> weight, bias, running_mean, running_variance, mean, inverse, weight_gradient, bias_gradient, partial;
    std::int64_t batches = 3;

    Memory(Case const& of, Rng& rng) {
        auto const size = std::size_t{of.cut.rows} * of.cut.channels;
        for (auto* each : {&x, &added, &y, &gradient, &passed, &x_gradient}) *each = random_matrix(size, of.type, rng);
        for (auto* each :
             {&weight, &bias, &running_mean, &running_variance, &mean, &inverse, &weight_gradient, &bias_gradient})
            *each = random_floats(of.cut.channels, rng);
        for (auto& each : running_variance) each *= each;
        partial = random_floats(of.cut.partial_floats(), rng);
    }
    NormForward forward(Case const& of) {
        NormForward out;
        out.cut = of.cut;
        out.type = of.type;
        out.x = x.data();
        out.added = of.mask == NormMask::stored ? added.data() : nullptr;
        out.y = y.data();
        out.weight = weight.data();
        out.bias = bias.data();
        out.bounds = of.bounds;
        out.running_mean = running_mean.data();
        out.running_variance = running_variance.data();
        if (!of.trains) return out;
        out.batches = &batches;
        out.mean = mean.data();
        out.inverse = inverse.data();
        out.partial = partial.data();
        return out;
    }
    NormBackward backward(Case const& of) {
        bool const stored = of.mask == NormMask::stored;
        NormBackward out;
        out.cut = of.cut;
        out.type = of.type;
        out.mask = of.mask;
        out.x = x.data();
        out.gradient = gradient.data();
        out.y = stored ? y.data() : nullptr;
        out.passed = stored ? passed.data() : nullptr;
        out.x_gradient = x_gradient.data();
        out.channel = {weight.data(), bias.data(), mean.data(), inverse.data()};
        out.bounds = of.bounds;
        out.weight_gradient = weight_gradient.data();
        out.bias_gradient = bias_gradient.data();
        out.partial = partial.data();
        return out;
    }
    void expect_same(Memory const& other) const {
        EXPECT_TRUE(same_bits(y, other.y)) << "y";
        EXPECT_TRUE(same_bits(running_mean, other.running_mean)) << "running mean";
        EXPECT_TRUE(same_bits(running_variance, other.running_variance)) << "running variance";
        EXPECT_TRUE(same_bits(mean, other.mean) && same_bits(inverse, other.inverse)) << "statistics";
        EXPECT_EQ(batches, other.batches);
        EXPECT_TRUE(same_bits(passed, other.passed)) << "gradient of what is added";
        EXPECT_TRUE(same_bits(x_gradient, other.x_gradient)) << "gradient of x";
        EXPECT_TRUE(same_bits(weight_gradient, other.weight_gradient)) << "gradient of the weight";
        EXPECT_TRUE(same_bits(bias_gradient, other.bias_gradient)) << "gradient of the bias";
    }
};

TEST(NormKernels, HaveTheBitsOfPlainLoops) {
    Rng rng(5);
    for (int i = 0; i < testing::random_cases(100) && !HasFailure(); ++i) {
        auto const which = random_case(rng);
        SCOPED_TRACE(::testing::Message() << "case " << i << ": " << which.cut.rows << " rows, " << which.cut.channels
                                          << " channels, type " << static_cast<int>(which.type) << ", mask "
                                          << static_cast<int>(which.mask) << (which.trains ? ", trains" : ""));
        Memory by_kernels(which, rng);
        auto by_loops = by_kernels;
        launch_norm(by_kernels.forward(which), nullptr);
        testing::run_norm_loops(by_loops.forward(which));
        if (which.trains) {
            launch_norm(by_kernels.backward(which), nullptr);
            testing::run_norm_loops(by_loops.backward(which));
        }
        by_kernels.expect_same(by_loops);
    }
}

}  // namespace norm_kernels_test
}  // namespace hopscotch
