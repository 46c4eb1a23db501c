// SPDX-License-Identifier: Apache-2.0
#include "model/trial/training_pass.hpp"

#include <algorithm>

#include "core/rng.hpp"

namespace hopscotch {

std::uint64_t noise_key(UnitAddress const& unit, std::size_t batch) {
    return stream_key(unit.seed, Purpose::dropout,
                      {unit.trial.value, unit.epoch, unit.shard.value, static_cast<std::int64_t>(batch)});
}

UnitSums TrainingPass::train_unit(ShardSource& shard, UnitAddress const& address, std::function<void()> const& on_batch) {
    begin_pass(shard, address, batch_size());
    while (next_updates(on_batch) > 0) {
    }
    return end_pass();
}

std::int64_t TrainingPass::next_updates(std::function<void()> const& on_batch) {
    auto const rows = next_gradient({}, on_batch);
    if (rows > 0) update(rows);
    return rows;
}

void TrainingPass::zero_gradient() { std::ranges::fill(gradient(), 0.0F); }

}  // namespace hopscotch
