// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/group_validation.hpp"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "model/trial/evaluation.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/together/group.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

Evaluation no_rows(TrialRunner const& runner) { return Evaluation(runner.manifest().task, runner.manifest().outputs); }

// The sums of this member, or the reason why it has none; empty: it has them.
std::pair<Evaluation, std::string> own_part(Group const& group, WorkerResources const& resources, Lap const& lap,
                                            MutableBytes state) {
    auto& runner = resources.runner;
    try {
        return {runner.validate_part(lap, state, group.self(), group.size(), &resources.courier.activity()), ""};
    } catch (std::exception const& error) {
        auto const what = fmt::format("validation of epoch {}", lap.epoch);
        runner.look_at_device(fmt::format("trial {}, {}: {}", lap.trial.value, what, error.what()));
        return {no_rows(runner),
                fmt::format("{} on trainer {} ({}): {}", what, runner.self().value, host_name(), error.what())};
    }
}

}  // namespace

void validate_together(Group& group, WorkerResources const& resources, Lap const& lap, MutableBytes state,
                       LapRecord& record) {
    auto& runner = resources.runner;
    auto const start = monotonic_s();
    record.valid.start_unix_s = unix_s();
    auto [sums, complaint] = own_part(group, resources, lap, state);
    Encoder encoder;
    encoder(complaint, sums);
    auto const what = fmt::format("the validation of trial {}, epoch {}", lap.trial.value, lap.epoch);
    auto merged = no_rows(runner);
    for (auto const& bytes : group.share(encoder.take(), what)) {
        std::string complaint_of_one;
        auto part = no_rows(runner);
        Decoder decoder(bytes);
        decoder(complaint_of_one, part);
        if (record.reason.empty()) record.reason = complaint_of_one;
        merged.merge(part);
    }
    if (!record.reason.empty()) record.outcome = Outcome::failed;
    if (record.outcome == Outcome::finished) runner.end_validation(lap, state, merged, record);
    if (merged.rows() == 0) return;
    record.valid.seconds = monotonic_s() - start;
    record.valid.trainers = group.trainers();
}

}  // namespace hopscotch
