// SPDX-License-Identifier: Apache-2.0
// One function per section of an experiment file, used by the reader alone: known keys, types, ranges. Keys
// of later versions are refused by name, so that the user does not search for a typing error.
#pragma once
#include "core/json_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

DataConfig read_data(ObjectReader reader, Problems& problems);
ModelConfig read_model(ObjectReader reader, Json const& section);
TrainConfig read_train(ObjectReader reader);
// own: the model comes from a file, which may bring metrics of its own: any name may be one, until the file has been loaded.
enum class OwnMetrics { none, possible };
SearchConfig read_search(ObjectReader reader, OwnMetrics own);
StrategyConfig read_strategy(ObjectReader reader);
RunConfig read_run(ObjectReader reader);
void read_inject(ObjectReader& reader, InjectConfig& out);  // run.inject

}  // namespace hopscotch
