// SPDX-License-Identifier: Apache-2.0
// The procedures as the keys of `search`: what a property of directors must hold for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "search/every_procedure.hpp"

namespace hopscotch {

inline std::vector<std::string> every_procedure_and(std::vector<std::string> more) {
    std::vector<std::string> out{
        R"("procedure": "asha", "trials": 30, "eta": 2)",
        R"("procedure": "asha", "trials": 30, "variant": "stop")",
        R"("procedure": "asha", "trials": 24, "sampler": "tpe", "startup": 6)",
        R"("procedure": "successive_halving", "trials": 27)",
        R"("procedure": "best_after", "trials": 24, "keep": 5)",
        R"("procedure": "hyperband")",
        R"("procedure": "bohb", "startup": 6)",
        R"("procedure": "median", "trials": 20)",
        R"("procedure": "tpe", "trials": 24, "startup": 6)",
        R"("procedure": "pbt", "population": 12, "interval": 2)",
        R"("procedure": "asha", "trials": 30, "eta": 2, "objectives": ["val_loss", "val_accuracy"])",
        R"("procedure": "bohb", "startup": 6, "objectives": ["val_accuracy", "val_loss", "train_loss"])",
    };
    out.insert(out.end(), more.begin(), more.end());
    return with_every_procedure(std::move(out));
}

}  // namespace hopscotch
