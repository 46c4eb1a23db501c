// SPDX-License-Identifier: Apache-2.0
#include "experiment/model_files.hpp"

#include "experiment/space.hpp"

namespace hopscotch {

std::set<std::string> model_files(Experiment const& experiment) {
    std::set<std::string> out{experiment.model.file, experiment.model.init_from};
    Problems told("");  // errors of the space were reported when the experiment was read
    for (auto const& parameter : read_space(experiment, told).parameters) {
        if (parameter.path != "model.file" && parameter.path != "model.init_from") continue;
        for (auto const& value : parameter.values)
            if (value.is_string()) out.insert(value.string());
    }
    out.erase("");
    return out;
}

}  // namespace hopscotch
