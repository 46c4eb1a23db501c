// SPDX-License-Identifier: Apache-2.0
#include "model/trial_model.hpp"

#include <algorithm>

namespace hopscotch {

UnitSums TrialModel::train_unit(ShardSource& shard, UnitAddress const& address, std::function<void()> const& on_batch) {
    begin_pass(shard, address, batch_size());
    while (auto const rows = next_gradient({}, on_batch)) update(rows);
    return end_pass();
}

void TrialModel::zero_gradient() { std::ranges::fill(gradient(), 0.0F); }

DataSchema schema_of(Manifest const& manifest) {
    return {manifest.task, manifest.shape, manifest.outputs, manifest.rows(Split::train), manifest.categories};
}

}  // namespace hopscotch
