// SPDX-License-Identifier: Apache-2.0
#include "app/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "experiment/reader.hpp"
#include "search/search.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {

void Continuation::Heard::add(Lap lap) {
    // A trial that was stopped and goes on: what had been released of it from there on came to nothing.
    if (auto const before = last.find(lap.trial); before != last.end() && before->second >= lap.epoch)
        std::erase_if(released, [&](Lap const& each) { return each.trial == lap.trial && each.epoch >= lap.epoch; });
    last[lap.trial] = lap.epoch;
    released.push_back(std::move(lap));
}

std::vector<Lap> Continuation::begin(Director& director, Recorder& recorder) {
    for (auto const& complaint : resumption_.damaged) log_warning(complaint + "; an older checkpoint is used");
    recorder.restore(resumption_.journal,
                     [&](TrialId trial) { return loss_of(experiment_, resumption_.journal.assignments.at(trial)); });
    auto heard = tell(director, recorder);
    pin_ends(director, recorder);
    for (auto const& lap : heard.released)
        if (lap.clone_of) clones_[{lap.trial, lap.epoch}] = *lap.clone_of;
    for (auto const& lap : heard.released) recorder.released(lap);
    drop_wrong_files(recorder.chain());
    pin_sources_of_orders(director, recorder);
    while (find_starts(director.trials(), recorder)) {
    }
    return laps_from_starts(std::move(heard), recorder);
}

Continuation::Heard Continuation::tell(Director& director, Recorder& recorder) {
    Heard out;
    auto const take = [&] {
        for (auto& lap : director.release()) out.add(std::move(lap));
        for (auto const& decision : director.take_decisions()) recorder.decided(decision);
    };
    take();
    for (auto const& record : resumption_.journal.laps) {
        director.record(record);
        if (record.outcome == Outcome::finished) out.known[{record.trial, record.epoch}] = record.state_hash;
        units_ += record.units.size();
        take();
    }
    // A lap that came when its trial had been stopped, which goes on now, is news when it comes again.
    std::erase_if(out.known, [&](auto const& lap) {
        return lap.first.second >= director.trials()[lap.first.first.index()].epochs_done;
    });
    return out;
}

void Continuation::pin_ends(Director& director, Recorder& recorder) {
    if (procedure_clones(experiment_.search.procedure))
        for (auto const& record : resumption_.journal.laps)
            if (record.outcome == Outcome::finished) pinned_.insert({record.trial, record.epoch});
    for (auto const& lap : director.take_releases()) {
        recorder.let_go(lap);
        pinned_.erase(lap);
    }
}

void Continuation::pin_sources_of_orders(Director const& director, Recorder& recorder) {
    auto held = director.ordered_sources();
    for (auto const& order : resumption_.journal.orders)
        if (order.kind == Order::Kind::clone) held.insert({order.trial, order.epoch});
    pinned_.insert(held.begin(), held.end());
    recorder.hold(std::move(held));
}

std::vector<Lap> Continuation::laps_from_starts(Heard heard, Recorder& recorder) {
    std::vector<Lap> out;
    for (auto& lap : heard.released) {
        auto const start = starts_.find(lap.trial);
        if (start == starts_.end() || lap.epoch < start->second.epoch || lap.epoch > start->second.last) continue;
        place(lap);
        recorder.sent(lap);
        lap.attempt = resumption_.journal.incarnation + 1;
        if (auto const before = heard.known.find({lap.trial, lap.epoch}); before != heard.known.end())
            again_.insert(*before);
        out.push_back(std::move(lap));
    }
    return out;
}

// A file whose state is not the one of its place is left out: an order has taken back what the trial had become, or an older
// version has given two states one name.
void Continuation::drop_wrong_files(StateChain const& chain) {
    for (auto& [trial, files] : files_)
        std::erase_if(files, [&](LapSink::Saved const& file) {
            if (chain.may_be(file)) return false;
            log_warning(fmt::format(
                "{}: holds another state than the journal has for that place; an older checkpoint is used", file.file));
            return true;
        });
}

// True if laps that must be trained again begin with states that no file holds either: then those must be, too.
bool Continuation::find_starts(std::vector<TrialView> const& trials, Recorder const& recorder) {
    bool more = false;
    starts_.clear();
    for (auto const& trial : trials) {
        auto const start = start_of(trial, recorder);
        if (!start) continue;
        starts_[trial.id] = *start;
        int const first = start->epoch + (start->file == nullptr ? 0 : 1);
        for (auto clone = clones_.lower_bound({trial.id, first}); clone != clones_.end() && clone->first.trial == trial.id;
             ++clone)
            if (file_after(clone->second.trial, clone->second.epoch) == nullptr)
                more |= pinned_.insert(clone->second).second;
    }
    return more;
}

void Continuation::place(Lap& lap) const {
    auto const start = starts_.find(lap.trial);
    if (start == starts_.end() || lap.epoch != start->second.epoch || start->second.file == nullptr) return;
    // It may have become another's clone since its start was looked for: its own state is of no use to it then.
    if (lap.clone_of && place_of(*start->second.file) <= start_of_epoch(lap.epoch)) return;
    lap.from = start->second.file->file;
    lap.from_hash = start->second.file->state_hash;
}

// Nothing for a trial that has ended, unless the best state of all was its, or its own best one is wanted, and is lost.
std::optional<Continuation::Start> Continuation::start_of(TrialView const& trial, Recorder const& recorder) const {
    auto const best = recorder.wanted_epoch(trial.id);
    // The first epoch after which a state is wanted that no file has.
    auto lost = best && file_after(trial.id, *best) == nullptr ? best : std::nullopt;
    auto const asked = wanted_by_clones(trial.id);
    if (asked) lost = std::min(lost.value_or(*asked), *asked);
    bool const ended = has_ended(trial.status);
    if (ended && !lost) return std::nullopt;
    int const upto = lost.value_or(trial.epochs_done);
    int const last = !ended ? trial.epochs_wanted : asked ? trial.epochs_done - 1 : *best;
    auto const* file = furthest(trial.id, upto);
    // What it was before it became another's clone is of no use behind that.
    auto const clone = last_clone(trial.id, upto);
    if (clone && (file == nullptr || place_of(*file) <= start_of_epoch(clone->epoch)))
        return Start{clone->epoch, last, nullptr};
    return Start{file == nullptr ? 0 : file->epoch, last, file};
}

std::optional<LapId> Continuation::last_clone(TrialId trial, int epoch) const {
    auto const after = clones_.upper_bound({trial, epoch});
    if (after == clones_.begin() || std::prev(after)->first.trial != trial) return std::nullopt;
    return std::prev(after)->first;
}

// The first of its laps whose end a decision may ask for, or has asked for, and no file holds.
std::optional<int> Continuation::wanted_by_clones(TrialId trial) const {
    for (auto lap = pinned_.lower_bound({trial, 0}); lap != pinned_.end() && lap->trial == trial; ++lap)
        if (file_after(trial, lap->epoch) == nullptr) return lap->epoch;
    return std::nullopt;
}

// The file with the furthest place in these laps.
LapSink::Saved const* Continuation::furthest(TrialId trial, int last_epoch) const {
    auto const found = files_.find(trial);
    if (found == files_.end()) return nullptr;
    auto const file =
        std::ranges::find_if(found->second, [&](auto const& each) { return each.whole && each.epoch <= last_epoch; });
    return file == found->second.end() ? nullptr : &*file;
}

LapSink::Saved const* Continuation::file_after(TrialId trial, int epoch) const {
    auto const found = files_.find(trial);
    return found == files_.end() ? nullptr : hopscotch::file_after(found->second, epoch);
}

bool Continuation::waits_for(TrialId trial) const {
    auto const first = again_.lower_bound({trial, 0});
    return first != again_.end() && first->first.first == trial;
}

bool Continuation::trained_again(LapRecord const& record) {
    auto const known = again_.find({record.trial, record.epoch});
    if (known == again_.end()) return false;
    bool const has_bits =
        strategy_named(experiment_.strategy.name).bits == Bits::any_trainers && !resumption_.facts.approximate;
    bool const same_bits = !has_bits || record.state_hash == known->second;
    if (record.outcome != Outcome::finished || !same_bits)
        throw Error(fmt::format(
            "trial {}, epoch {} was trained again and came out different ({} and {}{}{}): is this another kind of "
            "CPU than that of the job before? start again with --overwrite",
            record.trial.value, record.epoch, to_hex(known->second), to_hex(record.state_hash),
            record.reason.empty() ? "" : "; ", record.reason));
    again_.erase(known);
    return true;
}

}  // namespace hopscotch
