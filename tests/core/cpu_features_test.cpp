// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_features.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hopscotch {
namespace cpu_features_test {

constexpr CpuFeatures k_all{true, true, true, true};

TEST(CpuFeatures, OneDnnUsesWhatItsVariableAllows) {
    for (auto const* const name : {"AVX2", "avx2", "AVX2_VNNI", "AVX2_VNNI_2"}) {
        auto const found = onednn_features(k_all, name);
        EXPECT_TRUE(found.avx2) << name;
        EXPECT_FALSE(found.avx512 || found.avx512_bf16 || found.amx_bf16) << name;
    }
    EXPECT_FALSE(onednn_features(k_all, "AVX").avx2);
    EXPECT_FALSE(onednn_features(k_all, "SSE41").avx2);
    EXPECT_TRUE(onednn_features(k_all, "AVX512_CORE").avx512);
    EXPECT_FALSE(onednn_features(k_all, "AVX512_CORE").avx512_bf16);
    EXPECT_TRUE(onednn_features(k_all, "AVX512_CORE_BF16").avx512_bf16);
    for (auto const* const name : {"", "DEFAULT", "AVX512_CORE_AMX", "no such name"})
        EXPECT_TRUE(onednn_features(k_all, name).amx_bf16) << name;
}

TEST(CpuFeatures, TheVariableAddsNothing) {
    auto const found = onednn_features({true, false, false, false}, "AVX512_CORE");
    EXPECT_TRUE(found.avx2);
    EXPECT_FALSE(found.avx512);
}

TEST(CpuFeatures, HaveAText) {
    EXPECT_EQ(features_text(k_all), "AVX-512 with bf16 and AMX");
    EXPECT_EQ(features_text({true, true, true, false}), "AVX-512 with bf16");
    EXPECT_EQ(features_text({true, true, false, false}), "AVX-512 without bf16");
    EXPECT_EQ(features_text({true, false, false, false}), "AVX2, no AVX-512");
    EXPECT_EQ(features_text({}), "neither AVX2 nor AVX-512");
    EXPECT_EQ(features_text({.neon = true}), "64-bit ARM");
}

TEST(CpuFeatures, TheLeanStepNeedsOneOfTwo) {
    EXPECT_TRUE(CpuFeatures{.avx2 = true}.has_lean_step());
    EXPECT_TRUE(CpuFeatures{.neon = true}.has_lean_step());
    EXPECT_FALSE(CpuFeatures{}.has_lean_step());
}

TEST(CpuFeatures, OfThisMachine) {
    auto const here = cpu_features();
    EXPECT_TRUE(here.avx2 || !here.avx512);
    if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) return;
    EXPECT_EQ(onednn_features().avx512, here.avx512);
}

}  // namespace cpu_features_test
}  // namespace hopscotch
