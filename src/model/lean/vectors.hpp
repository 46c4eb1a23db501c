// SPDX-License-Identifier: Apache-2.0
// The instructions that the lean step is written in: AVX2 and FMA. Elsewhere than on x86-64, SIMDe makes them of the CPU's
// own. 64-bit ARM rounds alike, so it gives the same bits. No _mm256_fmsub_ps: SIMDe rounds twice there.
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/fma.h>
#endif
