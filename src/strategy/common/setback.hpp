// SPDX-License-Identifier: Apache-2.0
// An event that stops the trainers' work but not the job: rank 0 restarts the trainers and goes on from the run directory.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "core/ids.hpp"

namespace hopscotch {

// A trainer is lost, but the job may go on without it (Peers::survive_losses).
struct LostTrainer {
    Rank rank;
    std::string why;
};

// A state was damaged on its way. Its trial must continue from a checkpoint.
struct DamagedState {
    std::string why;
};

using Setback = std::variant<LostTrainer, DamagedState>;

inline std::string const& why(Setback const& setback) {
    return std::visit([](auto const& each) -> std::string const& { return each.why; }, setback);
}

// For jobs that end with the first setback: throws CommError.
inline void refuse(std::optional<Setback> const& setback) {
    if (setback) throw CommError(why(*setback));
}
template <class T>
T value_or_refuse(std::variant<T, Setback> answer) {
    if (auto const* setback = std::get_if<Setback>(&answer)) throw CommError(why(*setback));
    return std::get<T>(std::move(answer));
}

}  // namespace hopscotch
