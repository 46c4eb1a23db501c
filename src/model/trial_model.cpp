// SPDX-License-Identifier: Apache-2.0
#include "model/trial_model.hpp"

namespace hopscotch {

DataSchema schema_of(Manifest const& manifest) {
    return {manifest.task, manifest.shape, manifest.outputs, manifest.rows(Split::train), manifest.categories};
}

}  // namespace hopscotch
