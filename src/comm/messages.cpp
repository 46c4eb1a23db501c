// SPDX-License-Identifier: Apache-2.0
#include "comm/messages.hpp"

#include <array>

namespace hopscotch {
namespace {

// In the order of MessageKind.
constexpr std::array<std::string_view, static_cast<std::size_t>(MessageKind::test) + 1> k_names{
    // clang-format off
    "offer", "received", "unreachable", "heartbeat",
    "process",
    "greeting",
    "state", "slots", "gradient", "parameters", "rows",
    "welcome", "hello",
    "lap", "stop", "fetch_best", "score_best", "analyse_best", "pause", "save", "leave", "keep", "settle", "visit",
    "shutdown", "farewell",
    "lost",
    "lap_done", "turn", "checkpointed", "scored", "analysed", "paused", "all_saved", "settled",
    "damaged", "goodbye", "fatal",
    "share",
    "unit",
    "serve", "pull", "rows_wanted",
    "test",
    // clang-format on
};
static_assert(!k_names.back().empty(), "a name is missing");

}  // namespace

std::string_view name_of(MessageKind kind) {
    auto const index = static_cast<std::size_t>(kind);
    return index < k_names.size() ? k_names[index] : "of an unknown kind";
}

}  // namespace hopscotch
