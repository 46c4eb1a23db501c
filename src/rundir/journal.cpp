// SPDX-License-Identifier: Apache-2.0
#include "rundir/journal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/journal_codec.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {
namespace {

TrialEnd trial_end_from_json(Json const& json) {
    return {TrialId(count_in(json, "trial")), json.at("status").string(), json.at("reason").string(),
            count_in(json, "epochs")};
}

SavedState saved_from_json(Json const& json) {
    SavedState const saved{.trial = TrialId(count_in(json, "trial")),
                           .epoch = count_in(json, "epoch"),
                           .step = count_in(json, "step"),
                           .batch = integer_in(json, "batch", 0, INT64_MAX),
                           .file = json.at("file").string(),
                           .whole = json.find("whole") == nullptr || json.at("whole").boolean(),
                           .state_hash = hash_in(json, "state_hash"),
                           .begin_hash = hash_in(json, "begin_hash")};
    if (!is_checkpoint_name(saved.file, saved))  // the file will be read, and deleted
        throw Error(fmt::format("'{}' is not the name of that checkpoint", saved.file));
    return saved;
}

LapRecord lap_done_from_json(Json const& json, Journal const& journal) {
    auto record = lap_record_from_json(json);
    if (!journal.assignments.contains(record.trial))
        throw Error(fmt::format("trial {} was not released before", record.trial.value));
    if (record.home.value < 0 && record.valid.seconds > 0) throw Error("'home' is -1 (a trainer must have validated)");
    return record;
}

void take_run_ended(Json const& line, Journal& journal) {
    journal.end.status = line.at("status").string();
    if (journal.end.status == "finished") journal.end.trials = journal.assignments.size();
}

// The time of earlier jobs: from a job's first line to its last.
void add_seconds(Json const& line, bool first_of_job, Journal& journal) {
    auto const* at = line.find("unix_s");
    if (at == nullptr) return;
    auto const now = at->number();
    if (journal.jobs.last_unix_s > 0 && first_of_job) journal.jobs.pauses.emplace_back(journal.jobs.last_unix_s, now);
    if (journal.jobs.last_unix_s > 0 && !first_of_job) journal.jobs.seconds += std::max(0.0, now - journal.jobs.last_unix_s);
    journal.jobs.last_unix_s = now;
}

void take_lap_done(Json const& line, Journal& journal) {
    journal.laps.push_back(lap_done_from_json(line, journal));
    auto const came = std::min(journal.laps.back().orders.size(), journal.orders.size());
    journal.orders.erase(journal.orders.begin(), journal.orders.begin() + static_cast<std::ptrdiff_t>(came));
}

OwnersMoved owners_moved_from_json(Json const& line) {
    OwnersMoved out{{}, line.at("reason").string(), line.at("unix_s").number()};
    for (auto const& speed : line.at("speed").array()) out.speed.push_back(speed.number());
    return out;
}

void take_line(std::string_view text, Journal& journal) {
    Problems problems("");
    Json const line = parse_json(text, problems);
    if (!problems.empty()) throw Error("is not JSON (edited, or the disk lost a part of the file)");
    auto const& name = line.at("event").string();
    add_seconds(line, name == "run_resumed", journal);
    if (auto mark = mark_of(line)) journal.marks.push_back(std::move(*mark));
    if (name == "lap_released") {
        journal.released.push_back(lap_from_json(line));
        journal.alive.insert(journal.released.back().trial);
        journal.most_alive = std::max(journal.most_alive, journal.alive.size());
        journal.assignments[journal.released.back().trial] = journal.released.back().assignment;
    } else if (name == "lap_done") {
        take_lap_done(line, journal);
    } else if (name == "order") {
        journal.orders.push_back(order_from_json(line));
    } else if (name == "retry") {
        ++journal.retries[TrialId(count_in(line, "trial"))];
    } else if (name == "decision") {
        journal.decisions.push_back(decision_from_json(line));
    } else if (name == "trial_ended") {
        journal.ended.push_back(trial_end_from_json(line));
        if (journal.ended.back().status != name_of(TrialStatus::interrupted))
            journal.alive.erase(journal.ended.back().trial);
    } else if (name == "checkpoint") {
        journal.saved.push_back(saved_from_json(line));
    } else if (name == "trainer_lost") {
        journal.jobs.lost.push_back({TrainerId(line.at("trainer").integer()), line.at("host").string(),
                                     line.at("reason").string(), line.at("unix_s").number()});
    } else if (name == "owners_moved") {
        journal.jobs.moved.push_back(owners_moved_from_json(line));
    } else if (name == "run_resumed") {
        journal.jobs.count = count_in(line, "incarnation");
        journal.end.status.clear();
    } else if (name == "run_ended") {
        take_run_ended(line, journal);
    } else {
        throw Error(fmt::format("event '{}' is unknown (written by a newer hopscotch?)", name));
    }
}

}  // namespace

std::map<LapId, Lap const*> released_laps(Journal const& journal) {
    std::map<LapId, Lap const*> out;
    for (auto const& lap : journal.released) out[{lap.trial, lap.epoch}] = &lap;
    return out;
}

std::vector<LapRecord const*> laps_that_count(Journal const& journal) {
    std::map<LapId, LapRecord const*> last;
    StateChain chain;
    for (auto const& lap : journal.released) chain.released(lap);
    for (auto const& record : journal.laps) {
        last[{record.trial, record.epoch}] = &record;
        chain.ended(record);
    }
    std::vector<LapRecord const*> out;
    std::set<LapId> seen;
    for (auto const& record : journal.laps) {
        LapId const id{record.trial, record.epoch};
        auto const* counts = last.at(id);
        if (seen.insert(id).second && chain.complaint(*counts).empty()) out.push_back(counts);
    }
    return out;
}

Journal read_journal(std::filesystem::path const& path) {
    LineReader lines(path);
    Journal journal;
    while (auto const line = lines.next()) {
        try {
            take_line(*line, journal);
        } catch (Error const& error) {  // adds the facts that the line cannot know: its file and number
            throw DataError(fmt::format("{}:{}: {}", path.string(), lines.number(), error.what()));
        }
    }
    journal.complete_bytes = lines.bytes_of_lines();
    return journal;
}

}  // namespace hopscotch
