// SPDX-License-Identifier: Apache-2.0
// The lines of journal.jsonl that trace.json shows beside the units: decisions of rank 0, events that it learned of, and
// checkpoints.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "rundir/journal.hpp"

namespace hopscotch {
namespace {

// Empty if the line has no such text.
std::string text_in(Json const& line, std::string_view key) {
    auto const* value = line.find(key);
    return value != nullptr && value->is_string() ? value->string() : "";
}

std::string trial_in(Json const& line) {
    auto const* trial = line.find("trial");
    return trial != nullptr && trial->is_integer() ? fmt::format(" trial {}", trial->integer()) : "";
}

// "decision: pause trial 3"
std::string kind_and_trial(Json const& line) {
    return fmt::format("{}: {}{}", line.at("event").string(), text_in(line, "kind"), trial_in(line));
}

std::string ended(Json const& line) { return fmt::format("end:{} {}", trial_in(line), text_in(line, "status")); }
std::string retried(Json const& line) { return "retry:" + trial_in(line); }
std::string lost(Json const& line) { return fmt::format("trainer {} lost", line.at("trainer").integer()); }
std::string moved(Json const&) { return "owners moved"; }
std::string resumed(Json const& line) { return fmt::format("job {}", line.at("incarnation").integer()); }

struct NamedMark {
    std::string_view event, why;  // why: a key of the line
    std::string (*name)(Json const&);
};
constexpr std::array<NamedMark, 7> k_marks_of_rank0{{{"decision", "why", kind_and_trial},
                                                     {"order", "why", kind_and_trial},
                                                     {"retry", "reason", retried},
                                                     {"trial_ended", "reason", ended},
                                                     {"trainer_lost", "reason", lost},
                                                     {"owners_moved", "reason", moved},
                                                     {"run_resumed", "", resumed}}};

std::optional<TraceMark> checkpoint_mark(Json const& line) {
    auto const *trainer = line.find("trainer"), *seconds = line.find("seconds");
    if (trainer == nullptr || seconds == nullptr) return std::nullopt;
    return TraceMark{TraceMark::Row::checkpoints,
                     fmt::format("t{} e{}", line.at("trial").integer(), line.at("epoch").integer()),
                     "",
                     line.at("unix_s").number(),
                     static_cast<int>(trainer->integer()),
                     seconds->number()};
}

}  // namespace

std::optional<TraceMark> mark_of(Json const& journal_line) {
    auto const& event = journal_line.at("event").string();
    if (journal_line.find("unix_s") == nullptr) return std::nullopt;
    if (event == "checkpoint") return checkpoint_mark(journal_line);
    for (auto const& each : k_marks_of_rank0)
        if (each.event == event)
            return TraceMark{TraceMark::Row::rank0, each.name(journal_line), text_in(journal_line, each.why),
                             journal_line.at("unix_s").number()};
    return std::nullopt;
}

}  // namespace hopscotch
