// SPDX-License-Identifier: Apache-2.0
#include "app/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "experiment/reader.hpp"
#include "strategy/strategy.hpp"

namespace hopscotch {

std::vector<Lap> Continuation::begin(Director& director, Recorder& recorder) {
    auto const& journal = resumption_.journal;
    for (auto const& complaint : resumption_.damaged) log_warning(complaint + "; an older checkpoint is used");
    recorder.restore(journal, [&](TrialId trial) { return loss_of(experiment_, journal.assignments.at(trial)); });
    std::vector<Lap> released;
    auto const take = [&] {
        std::ranges::move(director.release(), std::back_inserter(released));
        for (auto const& decision : director.take_decisions()) recorder.decided(decision);
    };
    take();
    std::map<std::pair<TrialId, int>, std::uint64_t> known;
    for (auto const& record : journal.laps) {
        director.record(record);
        known[{record.trial, record.epoch}] = record.state_hash;
        units_ += record.units.size();
        take();
    }
    for (auto const& trial : director.trials())
        if (auto const start = start_of(trial, recorder)) starts_[trial.id] = *start;
    std::vector<Lap> out;
    for (auto& lap : released) {
        recorder.released(lap);
        auto const start = starts_.find(lap.trial);
        if (start == starts_.end() || lap.epoch < start->second.epoch || lap.epoch > start->second.last) continue;
        place(lap);
        lap.attempt = journal.incarnation + 1;
        if (auto const before = known.find({lap.trial, lap.epoch}); before != known.end()) again_.insert(*before);
        out.push_back(std::move(lap));
    }
    return out;
}

void Continuation::place(Lap& lap) {
    auto const start = starts_.find(lap.trial);
    if (start != starts_.end() && lap.epoch == start->second.epoch) lap.from = start->second.file;
}

// Nothing for a trial that has ended, unless the best state of all was its, or its own best one is wanted, and is lost.
std::optional<Continuation::Start> Continuation::start_of(TrialView const& trial, Recorder const& recorder) const {
    auto const best = recorder.wanted_epoch(trial.id);
    bool const best_is_lost = best && file_after(trial.id, *best) == nullptr;
    bool const ended = has_ended(trial.status);
    if (ended && !best_is_lost) return std::nullopt;
    auto const* file = furthest(trial.id, best_is_lost ? *best : trial.epochs_done);
    int const last = ended ? *best : trial.epochs_wanted;
    return file == nullptr ? Start{0, last, ""} : Start{file->epoch, last, file->file};
}

// The file with the furthest place in these laps.
LapSink::Saved const* Continuation::furthest(TrialId trial, int last_epoch) const {
    auto const found = resumption_.files.find(trial);
    if (found == resumption_.files.end()) return nullptr;
    auto const file = std::ranges::find_if(found->second, [&](auto const& each) { return each.epoch <= last_epoch; });
    return file == found->second.end() ? nullptr : &*file;
}

LapSink::Saved const* Continuation::file_after(TrialId trial, int epoch) const {
    auto const found = resumption_.files.find(trial);
    if (found == resumption_.files.end()) return nullptr;
    auto const file = std::ranges::find_if(
        found->second, [&](auto const& each) { return each.epoch == epoch + 1 && each.step == 0 && each.batch == 0; });
    return file == found->second.end() ? nullptr : &*file;
}

bool Continuation::trained_again(LapRecord const& record) {
    auto const known = again_.find({record.trial, record.epoch});
    if (known == again_.end()) return false;
    bool const same_bits = strategy_named(experiment_.strategy.name).bits != Bits::any_trainers || record.state_hash == known->second;
    if (record.outcome != Outcome::finished || !same_bits)
        throw Error(fmt::format("trial {}, epoch {} was trained again and came out different ({} and {}{}{}): is this another kind of "
                                "CPU than that of the job before? start again with --overwrite",
                                record.trial.value, record.epoch, to_hex(known->second), to_hex(record.state_hash),
                                record.reason.empty() ? "" : "; ", record.reason));
    again_.erase(known);
    return true;
}

}  // namespace hopscotch
