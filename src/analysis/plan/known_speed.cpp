// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/known_speed.hpp"

#include <map>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/prepare_director.hpp"
#include "job/prepared_run.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/recorded_run.hpp"

namespace hopscotch {
namespace {

std::optional<KnownSpeed> speed_of(std::string const& directory, PreparedRun const& prepared) {
    auto const past = read_run(directory);
    if (past.facts.dataset_hash != to_hex(dataset_hash(prepared.inputs.manifest))) return std::nullopt;
    if (strategy_traits(past.facts.strategy).bits != Bits::any_trainers) return std::nullopt;
    double seconds = 0, flops = 0;
    std::map<TrialId, double> unit_flops;
    for (auto const& lap : past.journal.laps) {
        if (lap.outcome != Outcome::finished) continue;
        auto const [of_unit, is_new] = unit_flops.try_emplace(lap.trial);
        if (is_new) {
            auto const config = past.config_of(lap.trial);
            if (by_same_step(config, prepared.inputs.experiment.train.arithmetic.engine))
                of_unit->second = unit_cost_of(config, prepared.inputs.schema, past.facts.shards());
        }
        if (of_unit->second == 0) continue;
        auto const units = totals_of(lap);
        seconds += units.seconds + validation_s_of(lap);
        flops += static_cast<double>(units.count) * of_unit->second;
    }
    if (flops <= 0) return std::nullopt;
    return KnownSpeed{directory, seconds / flops};
}

}  // namespace

bool by_same_step(TrialConfig past, Engine engine) {
    bool const torch = !why_torch_step(past).empty();
    past.train.arithmetic.engine = engine;
    return torch == !why_torch_step(past).empty();
}

std::optional<KnownSpeed> known_speed(PreparedRun const& prepared) {
    for (auto const& directory :
         {prepared.inputs.experiment.search.proposals.start_from, prepared.inputs.experiment.run.dir}) {
        if (directory.empty() || !holds_run(directory)) continue;
        try {
            if (auto found = speed_of(directory, prepared)) return found;
        } catch (Error const&) {  // then the plan has no hours: the reader of that run reports it
        }
    }
    return std::nullopt;
}

}  // namespace hopscotch
