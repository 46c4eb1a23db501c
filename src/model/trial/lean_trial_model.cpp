// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lean_trial_model.hpp"

#include <utility>

#include "core/cpu_features.hpp"
#include "core/error.hpp"
#include "experiment/config.hpp"
#include "model/trial/lean_evaluator.hpp"
#include "model/trial/lean_training_pass.hpp"
#include "model/trial/workspace.hpp"

namespace hopscotch {

std::string why_not_lean(TrialConfig const& config, CpuFeatures const& cpu) {
    auto const engine = config.train.arithmetic.engine;
    if (engine != Engine::lean && !cpu.has_lean_step()) return "the CPU has no AVX2";
    if (engine == Engine::torch) return "train.engine is torch";
    if (config.train.arithmetic.precision == Precision::bf16) return "train.precision is bf16";
    if (!config.model.freeze.empty()) return "model.freeze is set";
    return "";
}

void require_lean(CpuFeatures const& cpu) {
    if (!cpu.has_lean_step())
        throw ConfigError(
            "train.engine is lean, and this CPU has no AVX2 (LibTorch's step would give other bits); use CPUs with AVX2, or "
            "start a new run with train.engine torch");
}

TrialModel make_lean_model(TrialConfig const& config, Manifest const& manifest, LeanModel model, Workspace& workspace) {
    auto state = std::make_shared<LeanTrialState>(config, manifest, std::move(model), workspace.lean_memory());
    return {state, std::make_unique<LeanTrainingPass>(state), std::make_unique<LeanEvaluator>(state)};
}

}  // namespace hopscotch
