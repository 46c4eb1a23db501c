// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace hopscotch {
namespace device_test {

constexpr std::int64_t k_gb = 1'000'000'000;

TEST(Device, CpuAndAutoAndWhatIsMissing) {
    EXPECT_EQ(resolve_device("cpu", 0), "cpu");
    EXPECT_THROW(resolve_device("gpu", 0), ConfigError);
    if (resolve_device("auto", 0) != "cpu") return;  // a CUDA build on a machine with a GPU
    try {
        resolve_device("cuda", 0);
        FAIL() << "auto found no GPU, so cuda must be refused";
    } catch (ConfigError const& e) {
        EXPECT_EQ(std::string(e.what()).find("device \"cuda\" is not available ("), 0U) << e.what();
        EXPECT_NE(std::string(e.what()).find("set run.device to \"cpu\""), std::string::npos) << e.what();
    }
}

TEST(Device, SaysWhyThereIsNoGpu) {
    auto const head = std::string("device \"cuda\" is not available ("),
               tail = std::string("); check nvidia-smi -L and CUDA_VISIBLE_DEVICES, or set run.device to \"cpu\"");
    EXPECT_EQ(no_gpu_message({}, ""), head + "this machine shows no GPU" + tail);
    EXPECT_EQ(no_gpu_message("", ""), head + "CUDA_VISIBLE_DEVICES is empty, which hides every GPU" + tail);
    for (auto const* visible : {"7", "0,3", "GPU-8f1e", "MIG-1b2c"})
        EXPECT_EQ(no_gpu_message(visible, "no device"), head + "CUDA_VISIBLE_DEVICES is \"" + visible +
                                                            "\", and none of these is here; CUDA says: no device" + tail);
}

TEST(Device, TorchsOtherAllocatorIsRefused) {
    EXPECT_EQ(against_allocator("expandable_segments:True,max_split_size_mb:512"), "");
    EXPECT_NE(against_allocator("backend:cudaMallocAsync").find("leave the backend out"), std::string::npos);
}

TEST(Device, OfAGpu) {
    if (resolve_device("auto", 0) == "cpu") GTEST_SKIP() << "no GPU here, or a CPU build";
    auto const info = device_info("cuda:0");
    EXPECT_EQ(info.uuid.size(), std::string("GPU-01234567-0123-0123-0123-0123456789ab").size()) << info.uuid;
    EXPECT_FALSE(info.model.empty());
    auto const memory = device_memory("cuda:0");
    ASSERT_TRUE(memory);
    EXPECT_GT(memory->free, 0);
    EXPECT_LE(memory->free, memory->total);
    EXPECT_EQ(info.versions.find("CUDA "), 0U);
}

TEST(Device, OfACpu) {
    EXPECT_EQ(device_info("cpu").name, "cpu");
    EXPECT_EQ(device_info("cpu").uuid, "");
    EXPECT_FALSE(device_memory("cpu"));
}

TEST(Admission, TakesWhatFits) {
    EXPECT_FALSE(refusal({2 * k_gb, k_gb, 0, 32}, {3 * k_gb, 80 * k_gb}, "cuda:0"));
    EXPECT_FALSE(refusal({2 * k_gb, k_gb, 7 * k_gb, 32}, {10 * k_gb, 80 * k_gb}, "cuda:0"));
}

TEST(Admission, RefusesWithNumbers) {
    EXPECT_EQ(
        refusal({2 * k_gb, k_gb, 0, 32}, {3 * k_gb - 1, 80 * k_gb}, "cuda:1"),
        "cuda:1 has 3.00 GB of 80.00 GB free, and this trial needs 3.00 GB (state 2.00 GB, gradient 1.00 GB); choose a "
        "smaller model, or "
        "fewer trainers for each GPU");
    EXPECT_EQ(
        refusal({2 * k_gb, k_gb, 8 * k_gb, 256}, {10 * k_gb, 80 * k_gb}, "cuda:0"),
        "cuda:0 has 10.00 GB of 80.00 GB free, and this trial needs 11.00 GB (state 2.00 GB, gradient 1.00 GB, activations "
        "8.00 GB at "
        "batch size 256); choose a smaller model or train.batch_size, or fewer trainers for each GPU");
}

}  // namespace device_test
}  // namespace hopscotch
