// SPDX-License-Identifier: Apache-2.0
// The records of TensorBoard's event files, written out by hand: framed protobuf messages with masked CRC-32C. Only the few
// messages that a run needs: scalars, and the parameters and the end of a trial for the HParams tab. PURE.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "experiment/assignment.hpp"

namespace hopscotch {

std::uint32_t crc32c(std::string_view bytes);

struct EventScalar {
    std::string_view tag;
    double value = 0;  // stored as float32
};

// The first two records of a file. The second one tells a viewer to forget an earlier file of the trial.
std::string first_events(double unix_s);

std::string scalars_event(double unix_s, std::int64_t step, std::span<EventScalar const> scalars);

// Trials of one group are shown as one line with their means; empty: the trial is alone. Lists become JSON texts.
std::string trial_start_event(double unix_s, Assignment const& assignment, std::string_view group);

enum class EventStatus { success = 1, failure = 2 };
std::string trial_end_event(double unix_s, EventStatus status);

}  // namespace hopscotch
