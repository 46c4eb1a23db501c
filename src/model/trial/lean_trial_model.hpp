// SPDX-License-Identifier: Apache-2.0
// The lean step: dense networks trained without a tensor library, with the same bits on every CPU that has AVX2.
// docs/decisions/0073.
#pragma once
#include <string>

#include "model/lean/lean_spec.hpp"
#include "model/trial/trial_model.hpp"

namespace hopscotch {

class Workspace;
struct CpuFeatures;
struct Manifest;
struct TrialConfig;

// Why a dense network with this configuration takes LibTorch's step, for people; empty: it takes the lean step where its
// workspace can. The configuration and the CPU decide, never a measurement.
std::string why_not_lean(TrialConfig const& config, CpuFeatures const& cpu);

// Throws ConfigError if the CPU lacks what the lean step needs.
void require_lean(CpuFeatures const& cpu);

// In a workspace whose models train in the host's memory.
TrialModel make_lean_model(TrialConfig const& config, Manifest const& manifest, LeanModel model, Workspace& workspace);

}  // namespace hopscotch
