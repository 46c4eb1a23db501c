// SPDX-License-Identifier: Apache-2.0
#include "cli/train/whole_schema.hpp"

#include "experiment/reader.hpp"
#include "experiment/schema.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {

Json whole_schema() {
    return experiment_schema([](Problems& problems) {
        describe_models(problems);
        describe_experiment(problems);
    });
}

}  // namespace hopscotch
