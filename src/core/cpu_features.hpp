// SPDX-License-Identifier: Apache-2.0
// The instructions of a CPU by which LibTorch and its libraries choose their kernels. So they decide bits and speed, and
// which of the libraries' faults can occur (tensor/network/image_layout.hpp). The lean step needs one of avx2 and neon.
#pragma once
#include <string>
#include <string_view>

namespace hopscotch {

struct CpuFeatures {
    bool avx2 = false;    // with FMA
    bool avx512 = false;  // F, BW, DQ and VL: kernels for AVX-512 need all four
    bool avx512_bf16 = false;
    bool amx_bf16 = false;
    bool neon = false;  // 64-bit ARM

    bool has_lean_step() const { return avx2 || neon; }  // model/lean
};

// Of this machine.
CpuFeatures cpu_features();

// The features that oneDNN uses: ONEDNN_MAX_CPU_ISA or DNNL_MAX_CPU_ISA may forbid some. max_isa: the variable's value;
// empty or unknown: all features.
CpuFeatures onednn_features(CpuFeatures const& machine, std::string_view max_isa);
CpuFeatures onednn_features();

// For people: "AVX-512 with bf16", "AVX2, no AVX-512", "64-bit ARM".
std::string features_text(CpuFeatures const& features);

}  // namespace hopscotch
