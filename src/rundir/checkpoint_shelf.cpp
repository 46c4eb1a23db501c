// SPDX-License-Identifier: Apache-2.0
#include "rundir/checkpoint_shelf.hpp"

#include <algorithm>

namespace hopscotch {

SavedState const* file_after(std::vector<SavedState> const& files, int epoch) {
    auto const file = std::ranges::find(files, start_of_epoch(epoch + 1), place_of);
    return file == files.end() ? nullptr : &*file;
}

std::set<std::string> checkpoints_in(std::filesystem::path const& run_dir) {
    std::set<std::string> out;
    std::error_code missing;
    for (std::filesystem::directory_iterator file(run_dir / "checkpoints", missing), end; file != end; ++file)
        out.insert("checkpoints/" + file->path().filename().string());
    return out;
}

void CheckpointShelf::restore(Journal const& journal) {
    for (auto const& lap : journal.released) chain_.released(lap);
    for (auto const& record : journal.laps) chain_.ended(record);
    auto const there = checkpoints_in(directory_);
    for (auto const& file : journal.saved)
        if (there.contains(file.file) && chain_.may_be(file)) add(file);
    for (auto const& [trial, files] : files_) look_again(trial);  // the job may have died before it deleted them
}

void CheckpointShelf::released(Lap const& lap) {
    if (lap.clone_of) {
        clones_of_[*lap.clone_of].push_back({lap.trial, lap.epoch});
        sources_[lap.trial].insert(lap.clone_of->trial);
    }
    chain_.released(lap);
}

void CheckpointShelf::sent(Lap const& lap) {
    if (!lap.from.empty())
        begun_with_[lap.trial] = lap.from;
    else if (lap.clone_of)
        begun_again_.insert({lap.trial, lap.epoch});
}

void CheckpointShelf::saved(SavedState const& saved) {
    if (saved.file.empty()) {
        facts_.at_risk.insert(saved.trial);
        return;
    }
    facts_.at_risk.erase(saved.trial);
    ++facts_.written;
    facts_.longest_gap_s = std::max(facts_.longest_gap_s, saved.gap_s);
    add(saved);
    std::erase_if(begun_again_,
                  [&](LapId clone) { return clone.trial == saved.trial && place_of(saved) > start_of_epoch(clone.epoch); });
    if (saved.whole) begun_with_.erase(saved.trial);
    look_again(saved.trial);
    look_again_at_sources_of(saved.trial);
}

void CheckpointShelf::distrust(std::vector<SavedState> const& damaged) {
    for (auto const& file : damaged) {
        damaged_.insert(file.file);
        look_again(file.trial);
    }
}

void CheckpointShelf::look_again_at_sources_of(TrialId clone) {
    if (auto const sources = sources_.find(clone); sources != sources_.end())
        surplus_.insert(sources->second.begin(), sources->second.end());
}

void CheckpointShelf::hold(std::set<LapId> sources) {
    for (auto const& lap : ordered_)
        if (!sources.contains(lap)) look_again(lap.trial);
    ordered_ = std::move(sources);
}

void CheckpointShelf::trial_ended(TrialId trial, AfterEnd after) {
    ended_[trial] = after;
    look_again(trial);
    look_again_at_sources_of(trial);
}

// The end of a lap may be saved for two reasons, in one file.
void CheckpointShelf::add(SavedState const& saved) {
    auto& files = files_[saved.trial];
    std::erase_if(files, [&](auto const& before) { return before.file == saved.file; });
    damaged_.erase(saved.file);
    files.push_back(saved);
    if (keep_end_ == KeepEnd::none || place_of(saved) != start_of_epoch(saved.epoch)) return;
    if (last_end_) surplus_.insert(last_end_->trial);
    last_end_ = saved;
}

void CheckpointShelf::let_go(LapId lap) {
    let_go_.insert(lap);
    surplus_.insert(lap.trial);
}

SavedState const* CheckpointShelf::file_after(TrialId trial, int epoch) const {
    auto const found = files_.find(trial);
    if (found == files_.end()) return nullptr;
    auto const is_it = [&](auto const& file) { return place_of(file) == start_of_epoch(epoch + 1) && is_usable(file); };
    auto const file = std::ranges::find_if(found->second, is_it);
    return file == found->second.end() ? nullptr : &*file;
}

std::optional<int> CheckpointShelf::newest_boundary(TrialId trial) const {
    std::optional<int> out;
    if (auto const found = files_.find(trial); found != files_.end())
        for (auto const& file : found->second)
            if (file.epoch > 0 && place_of(file) == start_of_epoch(file.epoch) && file.whole && is_usable(file))
                out = std::max(out.value_or(0), file.epoch - 1);
    return out;
}

bool CheckpointShelf::is_usable(SavedState const& file) const {
    return !damaged_.contains(file.file) && chain_.may_be(file);
}

bool CheckpointShelf::begins_a_lap(SavedState const& file) const {
    auto const begun = begun_with_.find(file.trial);
    return begun != begun_with_.end() && begun->second == file.file;
}

// Until no decision can ask for the state, and every clone that has begun with the state has a later file of its own.
bool CheckpointShelf::is_wanted_by_clones(LapId lap) const {
    if ((ends_ == Ends::for_clones && !let_go_.contains(lap)) || ordered_.contains(lap)) return true;
    auto const clones = clones_of_.find(lap);
    if (clones == clones_of_.end()) return false;
    return std::ranges::any_of(clones->second, [&](LapId clone) {
        if (begun_again_.contains(clone)) return true;
        auto const files = files_.find(clone.trial);
        auto const is_later = [&](auto const& file) { return place_of(file) > start_of_epoch(clone.epoch); };
        bool const later = files != files_.end() && std::ranges::any_of(files->second, is_later);
        return !later && !ended_.contains(clone.trial);
    });
}

bool CheckpointShelf::is_needed(SavedState const& file, std::optional<int> best_epoch) const {
    if (begins_a_lap(file) || (last_end_ && last_end_->file == file.file)) return true;
    if (place_of(file) != start_of_epoch(file.epoch) || damaged_.contains(file.file)) return false;
    return best_epoch == file.epoch - 1 || is_wanted_by_clones({file.trial, file.epoch - 1});
}

// An ended trial whose best state is wanted, and in no file, is trained again up to there if the job goes on: then it needs
// a file to start from.
int CheckpointShelf::newest_to_keep(TrialId trial, std::optional<int> best_epoch) const {
    auto const end = ended_.find(trial);
    bool const trains = best_epoch && file_after(trial, *best_epoch) == nullptr;
    if (end == ended_.end()) return keep_;
    if (trains) return std::max(2, keep_);
    return end->second == AfterEnd::resumable ? 1 : 0;
}

void CheckpointShelf::delete_surplus(BestEpoch const& best_epoch) {
    for (auto const trial : surplus_) {
        auto const best = best_epoch(trial);
        auto const keep = newest_to_keep(trial, best);
        auto& files = files_[trial];
        // Files that no job can use come last, however far their trial had come.
        std::ranges::stable_sort(files, std::greater(),
                                 [&](auto const& file) { return std::tuple(is_usable(file), place_of(file)); });
        int newest = 0;
        for (std::size_t i = 0; i < files.size();) {
            if ((files[i].whole && ++newest <= keep) || is_needed(files[i], best)) {
                ++i;
                continue;
            }
            std::error_code ignored;
            std::filesystem::remove(directory_ / files[i].file, ignored);
            files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    surplus_.clear();
}

}  // namespace hopscotch
