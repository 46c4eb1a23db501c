// SPDX-License-Identifier: Apache-2.0
// The configuration of each trial, and its model as long as there is room.
#include <fmt/format.h>

#include <algorithm>

#include "core/unit_parts.hpp"
#include "experiment/reader.hpp"
#include "model/gpu/graph_cache.hpp"
#include "model/state/layout.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

// No bit depends on the contents of a model, so a model can be made again. On a CPU this costs little beside a unit: a model
// holds only a gradient and its first weights, so a few large models are enough. On a GPU a model has captured graphs;
// capturing them again costs three plain steps and a comparison. GraphCache keeps the 512 graphs used last, and a model has
// two or more: so a dropped model has lost its graphs already.
constexpr std::size_t k_most_models = GraphCache::k_most / 2;
constexpr std::uint64_t k_most_bytes_on_cpu = 256 << 20;

// A search may pause trials by the thousand. A configuration and a layout take some 5 kB, and 40 us to make again.
constexpr std::size_t k_most_known = 1024;

}  // namespace

TrialRunner::Trial& TrialRunner::trial(Lap const& lap) {
    if (auto const known = trials_.find(lap.trial); known != trials_.end() && known->second.assignment == lap.assignment) {
        known->second.used = ++uses_;
        return known->second;
    }
    auto config = resolve(experiment_, lap.assignment, fmt::format("trial {}", lap.trial.value));
    config.train.optimizer.lr *= lr_factor_;
    trials_.erase(lap.trial);
    if (trials_.size() == k_most_known)
        trials_.erase(std::ranges::min_element(trials_, {}, [](auto const& trial) { return trial.second.used; }));
    return trials_[lap.trial] = {lap.assignment, std::move(config), {}, {}, ++uses_};
}

TrialConfig const& TrialRunner::config_of(Lap const& lap) { return trial(lap).config; }

TrialModel& TrialRunner::model(Lap const& lap) {
    auto& mine = trial(lap);
    if (mine.model.state) return mine.model;
    make_room();
    PartTimer const timing(UnitPart::model);
    mine.model = factory_(mine.config, manifest_, *workspace_);
    if (!mine.layout) mine.layout = std::make_shared<StateLayout const>(mine.model.state->layout());
    return mine.model;
}

// For one more model: those used longest ago go. The one under way was used last, and stays.
void TrialRunner::make_room() {
    while (true) {
        Trial* oldest = nullptr;
        std::size_t count = 0;
        std::uint64_t bytes = 0;
        for (auto& [id, trial] : trials_) {
            if (!trial.model.state) continue;
            ++count;
            bytes += 2 * trial.layout->end_of(Block::parameter);
            if (oldest == nullptr || trial.used < oldest->used) oldest = &trial;
        }
        bool const large = device_ == "cpu" && bytes > k_most_bytes_on_cpu && count > 1;
        if (oldest == nullptr || (count < k_most_models && !large)) return;
        oldest->model = {};
    }
}

}  // namespace hopscotch
