// SPDX-License-Identifier: Apache-2.0
// An experiment whose only searched value is what a unit costs, and what directors say about it as text.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "direct/director.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"

namespace hopscotch {

inline Experiment toy_experiment(int epochs, std::string const& more = "") {
    Problems problems("f.json");
    auto out = read_experiment(fmt::format(R"({{"data": {{"path": "d"}}, "model": {{"name": "mlp"}}, "run": {{"dir": "r"}},
                                               "train": {{"epochs": {}{}}}, "space": {{"model.cost": [1, 2]}}, "search":
                                                {{"procedure": "grid", "metric": "val_loss", "mode": "min"}}}})",
                                           epochs, more),
                               {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

inline double toy_cost(TrialView const& trial) { return trial.config->model.arguments.at("cost").number(); }

inline std::string text_of(Lap const& lap) {
    return fmt::format("{}:{} release {} left {} {}{}", lap.trial.value, lap.epoch, lap.release, lap.remaining_cost,
                       to_json(lap.assignment).dump(),
                       lap.clone_of ? fmt::format(" clone of {}:{}", lap.clone_of->trial.value, lap.clone_of->epoch) : "");
}

inline std::string text_of(Decision const& d) {
    return fmt::format("{} {} after {} until {} source {}:{} {} at {}", name_of(d.kind), d.trial.value, d.epoch,
                       d.until_epoch, d.source.trial.value, d.source.epoch, d.why, d.virtual_time);
}

inline std::string text_of(TrialView const& view) {
    return fmt::format("{} {} {} {}/{} {}", view.id.value, name_of(view.status), view.reason, view.epochs_done,
                       view.epochs_wanted, to_json(view.assignment).dump());
}

}  // namespace hopscotch
