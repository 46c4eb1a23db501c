// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_features.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hopscotch {
namespace {

// oneDNN's names, and the features that each allows. Its names for AMX allow all.
struct Isa {
    std::string_view name;
    CpuFeatures allows;
};
constexpr CpuFeatures k_avx2{true, false, false, false}, k_avx512{true, true, false, false},
    k_avx512_bf16{true, true, true, false};
constexpr std::array k_isas{Isa{"sse41", {}},
                            Isa{"avx", {}},
                            Isa{"avx2", k_avx2},
                            Isa{"avx2_vnni", k_avx2},
                            Isa{"avx2_vnni_2", k_avx2},
                            Isa{"avx512_core", k_avx512},
                            Isa{"avx512_core_vnni", k_avx512},
                            Isa{"avx512_core_bf16", k_avx512_bf16},
                            Isa{"avx512_core_fp16", k_avx512_bf16},
                            Isa{"avx10_1_512", k_avx512_bf16}};

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string_view variable(char const* name) {
    auto const* value = std::getenv(name);
    return value == nullptr ? std::string_view{} : value;
}

}  // namespace

CpuFeatures cpu_features() {
    CpuFeatures out;
#if defined(__x86_64__)
    __builtin_cpu_init();
    out.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    out.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (out.avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) out.avx512_bf16 = (a & (1U << 5)) != 0;
    if (out.avx512_bf16 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) out.amx_bf16 = (d & (1U << 22)) != 0;
#elif defined(__aarch64__)
    out.neon = true;
#endif
    return out;
}

CpuFeatures onednn_features(CpuFeatures const& machine, std::string_view max_isa) {
    auto const* const isa =
        std::find_if(k_isas.begin(), k_isas.end(), [name = lower(max_isa)](Isa const& one) { return one.name == name; });
    if (isa == k_isas.end()) return machine;
    auto const& allows = isa->allows;
    return {machine.avx2 && allows.avx2, machine.avx512 && allows.avx512, machine.avx512_bf16 && allows.avx512_bf16,
            machine.amx_bf16 && allows.amx_bf16};
}

CpuFeatures onednn_features() {
    auto const newer = variable("ONEDNN_MAX_CPU_ISA");
    return onednn_features(cpu_features(), newer.empty() ? variable("DNNL_MAX_CPU_ISA") : newer);
}

std::string features_text(CpuFeatures const& features) {
    if (features.neon) return "64-bit ARM";
    if (!features.avx512) return features.avx2 ? "AVX2, no AVX-512" : "neither AVX2 nor AVX-512";
    return features.amx_bf16      ? "AVX-512 with bf16 and AMX"
           : features.avx512_bf16 ? "AVX-512 with bf16"
                                  : "AVX-512 without bf16";
}

}  // namespace hopscotch
