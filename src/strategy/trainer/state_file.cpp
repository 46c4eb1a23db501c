// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/state_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/hash.hpp"
#include "model/state/state.hpp"
#include "rundir/checkpoint.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

StateHashes hashes_of(ByteView state, StateLayout const& layout) { return {layout.hash(), state_hash(state, layout)}; }

Checkpoint checkpoint_within(Journey const& journey, StateHashes const& hashes) {
    Checkpoint about;
    about.place = {journey.lap.epoch, journey.step, journey.unit.batches};
    about.record = journey.record;
    about.record.valid.seconds = 0;  // a validation under way begins anew
    if (journey.unit.batches > 0) about.shard = journey.shard;
    about.rows = journey.unit.rows;
    about.loss_sum = journey.unit.loss_sum;
    about.layout_hash = hashes.layout;
    about.state_hash = hashes.state;
    about.parts = journey.parts;
    return about;
}

Checkpoint checkpoint_at_end(LapId const& lap, StateHashes const& hashes) {
    Checkpoint about;
    about.place = {lap.epoch + 1, 0, 0};
    about.record.trial = lap.trial;
    about.record.epoch = lap.epoch + 1;
    about.layout_hash = hashes.layout;
    about.state_hash = hashes.state;
    return about;
}

namespace {

// The new name keeps the next job from reading the file again: that job continues from an older file.
[[noreturn]] void rename_wrong(CheckpointTarget const& target, Lap const& lap, std::uint64_t expected, std::uint64_t found) {
    auto const path = std::filesystem::path(target.run_dir) / lap.from;
    auto aside = path;
    aside += ".wrong";
    std::error_code ignored;
    std::filesystem::rename(path, aside, ignored);
    throw WrongState(fmt::format(
        "trial {}, epoch {}: {} does not hold the state in the journal ({} instead of {}; nothing was trained on it, and "
        "its name now ends in .wrong); --resume continues from the file before it",
        lap.trial.value, lap.epoch, lap.from, to_hex(found), to_hex(expected)));
}

// Restores the journey from the file, but keeps the present attempt, home and hash at the beginning.
void continue_from(Checkpoint const& about, Journey& journey) {
    auto const now = journey.record;
    journey.record = about.record;
    journey.record.attempt = now.attempt;
    journey.record.home = now.home;
    journey.record.state.begin_hash = now.state.begin_hash;
    journey.step = about.place.step;
    journey.unit.batches = about.place.batch;
    journey.shard = about.shard;
    journey.unit.rows = about.rows;
    journey.unit.loss_sum = about.loss_sum;
    journey.parts = about.parts;
}

bool is_of_lap(Checkpoint const& about, Lap const& lap) {
    return about.record.trial == lap.trial && about.place.epoch == lap.epoch;
}

bool is_source_of_clone(Checkpoint const& about, Lap const& lap) {
    auto const& source = lap.clone_of;
    return source && about.record.trial == source->trial && about.place.epoch == source->epoch + 1 && about.place.step == 0;
}

void check_file(WorkerResources const& resources, CheckpointFile const& file, Lap const& lap) {
    auto const& about = file.about();
    auto const wrong = [&](std::string_view what) { throw DataError(fmt::format("{}: {}", lap.from, what)); };
    if (about.run_id != resources.checkpoints.run_id) wrong("is of another run");
    if (!is_of_lap(about, lap) && !is_source_of_clone(about, lap)) wrong("is of another trial or epoch");
    auto const& layout = resources.runner.layout(lap);
    if (about.layout_hash != layout.hash() || file.state_bytes() != layout.bytes) wrong("holds a state of another layout");
    if (about.place.step > resources.runner.visits()) wrong("is at a shard that does not exist");
}

}  // namespace

Buffer load_state(WorkerResources const& resources, Journey& journey) {
    auto const most = most_checkpoint_bytes(resources.runner.layout(journey.lap).bytes, resources.owners.trainers);
    CheckpointFile const file(std::filesystem::path(resources.checkpoints.run_dir) / journey.lap.from, most);
    check_file(resources, file, journey.lap);
    auto const& about = file.about();
    auto state = resources.courier.pool().acquire(file.state_bytes());
    file.read_state(state.bytes());
    auto const hash = state_hash(state.bytes(), resources.runner.layout(journey.lap));
    for (auto const expected : {journey.lap.from_hash, about.state_hash})
        if (expected != 0 && expected != hash) rename_wrong(resources.checkpoints, journey.lap, expected, hash);
    journey.saved.at_s = monotonic_s();
    journey.saved.here = true;
    bool const own = is_of_lap(about, journey.lap);
    bool const begins = !own || (about.place.step == 0 && about.place.batch == 0);
    journey.record.state.begin_hash = begins ? hash : about.record.state.begin_hash;
    if (own) continue_from(about, journey);
    journey.record.state.hash = hash;
    return state;
}

}  // namespace hopscotch
