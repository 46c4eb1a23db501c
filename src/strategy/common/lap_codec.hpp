// SPDX-License-Identifier: Apache-2.0
// The fields of laps, their records, saved files and journeys, which comm/codec.hpp turns into bytes.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "comm/codec.hpp"
#include "experiment/assignment.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/journey.hpp"

namespace hopscotch {

// An assignment travels as the text of its JSON object.
std::string text_of(Assignment const& assignment);
Assignment assignment_from_text(std::string const& text);

template <class A>
void fields(A& a, LapId& m) {
    a(m.trial, m.epoch);
}

template <class A>
void fields(A& a, Route& m) {
    a(m.first, m.direction);
}

template <class A>
void fields(A& a, Lap& m) {
    std::string assignment;
    bool clone = m.clone_of.has_value();
    auto source = m.clone_of.value_or(LapId{});
    if constexpr (std::is_same_v<A, Encoder>) assignment = text_of(m.assignment);
    a(m.trial, m.epoch, m.attempt, m.release, m.remaining_cost, assignment, m.from, m.from_hash, clone, source, m.route,
      m.unit_cost, m.repeats);
    if constexpr (std::is_same_v<A, Decoder>) {
        if (clone) m.clone_of = source;
        m.assignment = assignment_from_text(assignment);
    }
}

template <class A>
void fields(A& a, UnitRecord& m) {
    a(m.shard, m.trainer, m.rows, m.loss_sum, m.start_unix_s, m.seconds, m.wait_s,
      m.state_hash);  // checkpoints of groups hold this form: cpu_s, gpu_use and parts stand beside it
}

template <class A>
void fields(A& a, OwnScore& m) {
    a(m.name, m.value);
}

template <class A>
void fields(A& a, ValidationScores& m) {
    a(m.rows);
    for (auto const& row : k_scores) a(m.*row.score);
    a(m.own);
}

template <class A>
void fields(A& a, LapRecord& m) {
    std::vector<double> cpu_s, gpu_use;
    std::vector<std::vector<double>> parts;
    cpu_s.reserve(m.units.size());
    for (auto const& unit : m.units) cpu_s.push_back(unit.cpu_s);
    if (std::ranges::any_of(m.units, [](UnitRecord const& unit) { return unit.gpu_use >= 0; }))
        for (auto const& unit : m.units) gpu_use.push_back(unit.gpu_use);
    if (std::ranges::any_of(m.units, [](UnitRecord const& unit) { return !unit.parts.empty(); }))
        for (auto const& unit : m.units) parts.push_back(unit.parts);
    a(m.trial, m.epoch, m.attempt, m.outcome, m.cause, m.reason, m.units, m.home, m.hops.count, m.hops.bytes,
      static_cast<ValidationScores&>(m.valid), m.valid.start_unix_s, m.valid.seconds, m.valid.trainers, m.state.lr,
      m.state.hash, m.state.begin_hash, m.state.end_hash, m.state.bytes, m.sync.exposed_s, m.sync.rounds, m.sync.staleness,
      m.sync.server_log, cpu_s, gpu_use, parts);
    if constexpr (std::is_same_v<A, Encoder>) return;
    for (std::size_t i = 0; i < std::min(m.units.size(), cpu_s.size()); ++i) m.units[i].cpu_s = cpu_s[i];
    for (std::size_t i = 0; i < std::min(m.units.size(), gpu_use.size()); ++i) m.units[i].gpu_use = gpu_use[i];
    for (std::size_t i = 0; i < std::min(m.units.size(), parts.size()); ++i) m.units[i].parts = std::move(parts[i]);
}

template <class A>
void fields(A& a, SavedState& m) {
    a(m.trial, m.epoch, m.step, m.batch, m.file, m.whole, m.gap_s, m.state_hash, m.begin_hash, m.seconds);
}

template <class A>
void fields(A& a, Journey& m) {
    a(m.lap, m.step, m.valid_shard, m.valid_batch, m.record, m.pushed.unix_s, m.pushed.hash, m.shard, m.unit.batches,
      m.unit.rows, m.unit.loss_sum, m.saved.age_s, m.saved.here, m.parts);
}

}  // namespace hopscotch
