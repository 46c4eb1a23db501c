// SPDX-License-Identifier: Apache-2.0
#include "rundir/journal_writer.hpp"

#include <utility>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "rundir/journal.hpp"
#include "rundir/journal_codec.hpp"
#include "rundir/unit_file.hpp"

namespace hopscotch {
namespace {

// Event and time first, so that a person who reads the file sees them.
Json event(std::string_view name, Json body) {
    Json line = Json::object({{"event", name}, {"unix_s", unix_s()}});
    for (auto& member : body.object()) line[member.key] = std::move(member.value);
    return line;
}

}  // namespace

JournalWriter::JournalWriter(std::filesystem::path const& path, Told told)
    : file_(path), told_(std::move(told)), units_(std::make_unique<UnitWriter>(path.parent_path(), 1)) {}

JournalWriter::~JournalWriter() = default;

void JournalWriter::append(Json line) {
    file_.append(line.dump() + "\n");
    sync_if_due();
    if (told_) told_(line);
}

void JournalWriter::sync() {
    units_->sync();
    file_.sync();
}

void JournalWriter::sync_if_due() {
    if (file_.sync_is_due()) sync();
}

void JournalWriter::lap_released(Lap const& lap) { append(event("lap_released", to_json(lap))); }

void JournalWriter::lap_done(LapRecord const& record) {
    auto const units = units_->append(record);
    append(event("lap_done", to_json(record, units)));
}

void JournalWriter::decided(Decision const& decision) { append(event("decision", to_json(decision))); }

void JournalWriter::ordered(Order const& order) {
    append(event("order", to_json(order)));
    sync();
}

void JournalWriter::retried(LapRecord const& record) {
    append(event("retry", Json::object({{"trial", record.trial.value},
                                        {"epoch", record.epoch},
                                        {"attempt", record.attempt},
                                        {"reason", record.reason}})));
    sync();
}

void JournalWriter::checkpoint(SavedState const& saved) {
    auto body = Json::object({{"trial", saved.trial.value},
                              {"epoch", saved.epoch},
                              {"step", saved.step},
                              {"batch", saved.batch},
                              {"file", saved.file},
                              {"state_hash", to_hex_or_null(saved.state_hash)},
                              {"begin_hash", to_hex_or_null(saved.begin_hash)}});
    if (!saved.whole) body["whole"] = false;
    if (saved.trainer.value >= 0) body["trainer"] = saved.trainer.value;
    if (saved.trainer.value >= 0) body["seconds"] = saved.seconds;
    append(event("checkpoint", std::move(body)));
}

void JournalWriter::trainer_lost(TrainerLoss const& loss) {
    append(event("trainer_lost",
                 Json::object({{"trainer", loss.trainer.value}, {"host", loss.host}, {"reason", loss.reason}})));
}

void JournalWriter::owners_moved(OwnersMoved const& moved) {
    append(event("owners_moved", Json::object({{"speed", moved.speed}, {"reason", moved.reason}})));
}

void JournalWriter::run_resumed(int incarnation, int trainers) {
    units_ = std::make_unique<UnitWriter>(units_->directory(), incarnation);
    append(event("run_resumed", Json::object({{"incarnation", incarnation}, {"trainers", trainers}})));
    sync();
}

void JournalWriter::trial_ended(TrialView const& trial) {
    append(event("trial_ended", Json::object({{"trial", trial.id.value},
                                              {"status", name_of(trial.status)},
                                              {"reason", trial.reason},
                                              {"epochs", trial.epochs_done}})));
}

void JournalWriter::run_ended(std::string_view status, std::string_view reason) {
    append(event("run_ended", Json::object({{"status", status}, {"reason", reason}})));
    sync();
}

}  // namespace hopscotch
