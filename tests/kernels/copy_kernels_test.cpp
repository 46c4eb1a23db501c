// SPDX-License-Identifier: Apache-2.0
// Many copies at once are those of a plain loop.
#include "tensor/gpu/copy_kernels.hpp"

#include <gtest/gtest.h>

#include "kernels/random_bits.hpp"

namespace hopscotch {
namespace copy_kernels_test {

struct Copied {
    testing::Array<std::uint16_t> from, by_kernel, by_loop;
    TensorCopy copy;

    explicit Copied(Rng& rng) {
        auto const type = [&] { return rng.below(2) == 0 ? FloatType::float32 : FloatType::bfloat16; };
        copy.from_type = type();
        copy.to_type = type();
        copy.rows = 1 + rng.below(10);
        copy.columns = 1 + rng.below(30);
        copy.count = rng.below(rng.below(5) == 0 ? 60 : 4) * copy.rows * copy.columns;
        from = testing::random_matrix(copy.count, copy.from_type, rng);
        by_kernel = by_loop = testing::random_matrix(copy.count, copy.to_type, rng);
        if (rng.below(10) > 0) copy.from = from.data();
    }
};

// None, one, and more than a launch takes; copies of no element among them.
TEST(CopyKernels, HaveTheBitsOfPlainLoops) {
    Rng rng(6);
    for (int i = 0; i < testing::random_cases(60); ++i) {
        std::vector<Copied> all;
        for (auto n = rng.below(rng.below(4) == 0 ? 200 : 5); n > 0; --n) all.emplace_back(rng);
        std::vector<TensorCopy> copies;
        for (auto& each : all) {
            each.copy.to = each.by_loop.data();
            for (std::uint32_t at = 0; at < each.copy.count; ++at) copy_element(each.copy, at);
            each.copy.to = each.by_kernel.data();
            copies.push_back(each.copy);
        }
        launch_copies(copies, nullptr);
        for (std::size_t k = 0; k < all.size(); ++k)
            ASSERT_TRUE(testing::same_bits(all[k].by_kernel, all[k].by_loop)) << "copy " << k << " of case " << i;
    }
}

}  // namespace copy_kernels_test
}  // namespace hopscotch
