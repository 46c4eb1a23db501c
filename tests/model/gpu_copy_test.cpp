// SPDX-License-Identifier: Apache-2.0
// On a GPU: copies of many tensors at once are those of the host's loop.
#include <gtest/gtest.h>

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include "core/rng.hpp"
#include "model/copies_on_host.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch::testing {
namespace gpu_copy_test {

struct Copied {
    at::Tensor from, to;
    TensorCopy copy;
};

Copied random_copy(Rng& rng) {
    auto const size = [&](std::uint32_t most) { return static_cast<std::int64_t>(rng.below(most)); };
    auto const type = [&] { return rng.below(2) == 0 ? FloatType::float32 : FloatType::bfloat16; };
    auto const torchs = [](FloatType each) { return each == FloatType::float32 ? at::kFloat : at::kBFloat16; };
    Copied out;
    auto const outer = size(70), rows = 1 + size(10), columns = 1 + size(70);
    out.copy = {nullptr,
                nullptr,
                static_cast<std::uint32_t>(outer * rows * columns),
                static_cast<std::uint32_t>(rows),
                static_cast<std::uint32_t>(columns),
                type(),
                type()};
    out.from = at::randn({outer, columns, rows}).to(torchs(out.copy.from_type));
    out.to = at::full({outer, rows, columns}, 7.0).to(torchs(out.copy.to_type));
    return out;
}

TEST(GpuCopy, HasTheBitsOfTheHost) {
    if (resolve_device("auto", 0) == "cpu") GTEST_SKIP() << "this machine shows no GPU, or this is a CPU build";
    at::Device const device(at::kCUDA, 0);
    at::globalContext().lazyInitDevice(at::kCUDA);
    at::manual_seed(1);
    Rng rng(1);
    for (int round = 0; round < 30; ++round) {
        std::vector<Copied> all(rng.below(300));
        std::vector<TensorCopy> on_host, on_device;
        std::vector<at::Tensor> kept, found;
        for (auto& each : all) {
            each = random_copy(rng);
            bool const zeros = rng.below(10) == 0;
            kept.push_back(each.from.to(device));
            found.push_back(each.to.to(device));
            for (bool const there : {false, true}) {
                auto copy = each.copy;
                copy.from = zeros ? nullptr : there ? kept.back().const_data_ptr() : each.from.const_data_ptr();
                copy.to = there ? found.back().mutable_data_ptr() : each.to.mutable_data_ptr();
                (there ? on_device : on_host).push_back(copy);
            }
        }
        HostCopyDevice().run(on_host);
        make_copy_device(device)->run(on_device);
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(found[i].cpu().equal(all[i].to)) << i << " of " << round;
    }
}

}  // namespace gpu_copy_test
}  // namespace hopscotch::testing
