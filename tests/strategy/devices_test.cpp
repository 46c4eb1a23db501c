// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/devices.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace devices_test {

using Lines = std::vector<std::string>;

constexpr auto k_versions = "CUDA 13.0, driver for up to CUDA 13.1, cuDNN 9.19.0";

DeviceInfo gpu(std::string name, std::string uuid, std::string model = "NVIDIA H200") {
    return {std::move(name), std::move(model), std::move(uuid), 150'000'000'000, k_versions};
}
DeviceInfo cpu(std::string versions = "") { return {"cpu", "", "", 0, std::move(versions)}; }

TEST(Devices, AreNoTopicOnCpus) {
    EXPECT_EQ(device_table({{Rank(1), {"a", cpu()}}, {Rank(2), {"b", cpu()}}}), Lines{});
    EXPECT_EQ(device_advice({{Rank(1), {"a", cpu()}}}, "auto"), Lines{});
    EXPECT_EQ(device_advice({{Rank(1), {"a", cpu(k_versions)}}}, "cpu"), Lines{});
}

TEST(Devices, AreShownOneALine) {
    EXPECT_EQ(device_table({{Rank(1), {"node1", gpu("cuda:0", "GPU-aa")}},
                            {Rank(2), {"node1", gpu("cuda:1", "GPU-bb")}},
                            {Rank(3), {"n2", cpu(k_versions)}}}),
              (Lines{k_versions, " rank  host   device   model           memory  uuid",
                     "    1  node1  cuda:0   NVIDIA H200   150.0 GB  GPU-aa",
                     "    2  node1  cuda:1   NVIDIA H200   150.0 GB  GPU-bb", "    3  n2     cpu"}));
}

// Each rank may see one GPU only, which all call cuda:0.
TEST(Devices, AreSharedByUuidNotByName) {
    EXPECT_EQ(device_advice({{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}}, {Rank(2), {"a", gpu("cuda:0", "GPU-bb")}}}, "auto"),
              Lines{});
    auto const shared =
        device_advice({{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}}, {Rank(2), {"a", gpu("cuda:0", "GPU-aa")}}}, "auto");
    EXPECT_EQ(shared,
              Lines{"ranks 1, 2 share one GPU (GPU-aa): they take turns, unless nvidia-cuda-mps-control -d runs there"});
    EXPECT_EQ(ranks_of_a_shared_gpu({{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}},
                                     {Rank(2), {"a", gpu("cuda:0", "GPU-bb")}},
                                     {Rank(3), {"a", cpu("")}}}),
              std::vector<int>{});
    EXPECT_EQ(ranks_of_a_shared_gpu({{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}},
                                     {Rank(2), {"b", gpu("cuda:0", "GPU-bb")}},
                                     {Rank(3), {"a", gpu("cuda:1", "GPU-aa")}}}),
              (std::vector<int>{1, 3}));
}

TEST(Devices, ThatAreMissingOrDifferAreTold) {
    auto const none = device_advice({{Rank(1), {"a", cpu(k_versions)}}}, "auto");
    ASSERT_EQ(none.size(), 1U);
    EXPECT_TRUE(none[0].starts_with("no trainer has found a GPU")) << none[0];
    auto const some = device_advice({{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}}, {Rank(2), {"b", cpu(k_versions)}}}, "auto");
    ASSERT_EQ(some.size(), 1U);
    EXPECT_TRUE(some[0].starts_with("rank(s) 2 have no GPU")) << some[0];
    auto const mixed = device_advice(
        {{Rank(1), {"a", gpu("cuda:0", "GPU-aa")}}, {Rank(2), {"b", gpu("cuda:0", "GPU-bb", "NVIDIA A100")}}}, "auto");
    EXPECT_EQ(mixed, Lines{"different GPUs in one job (NVIDIA A100, NVIDIA H200): bits may differ between them"});
}

// Two halves of a GPU, by MIG, have the name of the whole one.
TEST(Devices, OfOneModelMayHaveUnlikeNumbersOfProcessors) {
    auto whole = gpu("cuda:0", "GPU-aa"), half = gpu("cuda:0", "MIG-bb");
    whole.processors = 132;
    half.processors = 60;
    EXPECT_EQ(device_advice({{Rank(1), {"a", whole}}, {Rank(2), {"b", half}}}, "auto"),
              Lines{"the trainers' GPUs or slices have unlike numbers of multiprocessors (60, 132): bits may differ between "
                    "them"});
    half.processors = 132;
    EXPECT_EQ(device_advice({{Rank(1), {"a", whole}}, {Rank(2), {"b", half}}}, "auto"), Lines{});
}

TEST(Devices, ThreadsOfOneProcessUseOneGpu) {
    auto const first = gpu("cuda:0", "GPU-aa"), second = gpu("cuda:1", "GPU-bb");
    EXPECT_EQ(against_threads({{Rank(1), {"a", cpu()}}, {Rank(2), {"a", cpu()}}}), "");
    EXPECT_EQ(against_threads({{Rank(1), {"a", first}}, {Rank(2), {"a", first}}}), "");
    auto const why = against_threads({{Rank(1), {"a", first}}, {Rank(2), {"a", second}}, {Rank(3), {"a", first}}});
    EXPECT_EQ(why.find("the 3 trainers are threads of one process, and would use 2 GPUs"), 0U) << why;
    EXPECT_NE(why.find("mpirun -np 4"), std::string::npos) << why;
}

}  // namespace devices_test
}  // namespace hopscotch
