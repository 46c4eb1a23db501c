// SPDX-License-Identifier: Apache-2.0
#include "job/usable_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/log.hpp"
#include "direct/trial_view.hpp"
#include "job/earlier_jobs.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/checkpoint_shelf.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {
namespace {

constexpr double k_word_s = 2;  // between two lines of the log

std::uintmax_t bytes_of(std::filesystem::path const& path) {
    std::error_code missing;
    auto const bytes = std::filesystem::file_size(path, missing);
    return missing ? 0 : bytes;
}

// Whether a lap in this order was once where the file is, in the middle of the lap.
bool is_of(std::vector<ShardId> const& order, Checkpoint const& about) {
    auto const visited = about.record.units.size();
    if (visited > order.size()) return false;
    for (std::size_t i = 0; i < visited; ++i)
        if (about.record.units[i].shard != order[i]) return false;
    return about.place.batch == 0 || (visited < order.size() && about.shard == order[visited]);
}

}  // namespace

UsableFiles::UsableFiles(EarlierJobs const& earlier, std::filesystem::path directory, std::uint64_t most_bytes,
                         VisitOrder order)
    : directory_(std::move(directory)),
      run_id_(earlier.facts.run_id),
      most_bytes_(most_bytes),
      order_(std::move(order)),
      next_word_s_(monotonic_s() + k_word_s) {
    for (auto const& [trial, files] : earlier.files)
        for (auto const& file : files) files_[trial].push_back({file});
}

void UsableFiles::expect(std::vector<TrialView> const& trials) {
    for (auto const& trial : trials)
        if (auto const found = files_.find(trial.id); found != files_.end() && !has_ended(trial.status))
            expected_bytes_ += bytes_of(directory_ / found->second.front().saved.file);
}

void UsableFiles::drop_wrong(StateChain const& chain) {
    for (auto& [trial, files] : files_)
        for (auto& file : files) {
            if (chain.may_be(file.saved)) continue;
            file.condition = Condition::bad;
            log_warning(
                fmt::format("{}: its state differs from the journal's; an older checkpoint is used", file.saved.file));
        }
}

SavedState const* UsableFiles::furthest(TrialId trial, int last_epoch) {
    auto const found = files_.find(trial);
    if (found == files_.end()) return nullptr;
    for (auto& file : found->second)
        if (file.saved.whole && file.saved.epoch <= last_epoch && is_good(file)) return &file.saved;
    return nullptr;
}

SavedState const* UsableFiles::after(TrialId trial, int epoch) {
    auto const found = files_.find(trial);
    if (found == files_.end()) return nullptr;
    for (auto& file : found->second)
        if (place_of(file.saved) == start_of_epoch(epoch + 1) && is_good(file)) return &file.saved;
    return nullptr;
}

std::vector<SavedState> UsableFiles::bad() const {
    std::vector<SavedState> out;
    for (auto const& [trial, files] : files_)
        for (auto const& file : files)
            if (file.condition == Condition::bad) out.push_back(file.saved);
    return out;
}

bool UsableFiles::is_good(File& file) {
    if (file.condition != Condition::unknown) return file.condition == Condition::good;
    fault_point("resume.checkpoint");
    try {
        check(file.saved);
        file.condition = Condition::good;
    } catch (DataError const& error) {
        file.condition = Condition::bad;
        log_warning(fmt::format("{}; an older checkpoint is used", error.what()));
    }
    return file.condition == Condition::good;
}

void UsableFiles::check(SavedState const& saved) {
    CheckpointFile const file(directory_ / saved.file, most_bytes_);
    file.verify();
    if (file.about().run_id != run_id_ || file.about().record.trial != saved.trial)
        throw DataError(fmt::format("{}: belongs to another run or trial", saved.file));
    if (saved.state_hash != 0 && file.about().state_hash != saved.state_hash)
        throw DataError(fmt::format("{}: its state differs from the journal's", saved.file));
    // An earlier job began the lap, and a later one trained it from its begin, in another order: to the best state, say.
    auto const order = order_({saved.trial, saved.epoch});
    if (!order.empty() && !is_of(order, file.about()))
        throw DataError(fmt::format("{}: the journal's lap visits the shards in another order (a later job has trained it)",
                                    saved.file));
    say_how_far(bytes_of(directory_ / saved.file));
}

void UsableFiles::say_how_far(std::uintmax_t checked_bytes) {
    checked_bytes_ += checked_bytes;
    if (monotonic_s() < next_word_s_) return;
    next_word_s_ = monotonic_s() + k_word_s;
    auto const all = std::max(expected_bytes_, checked_bytes_);
    bool const large = all >= 1'000'000'000;
    double const unit = large ? 1e9 : 1e6;
    log_info(fmt::format("resume: {:.1f} of {:.1f} {} of checkpoints verified", static_cast<double>(checked_bytes_) / unit,
                         static_cast<double>(all) / unit, large ? "GB" : "MB"));
}

}  // namespace hopscotch
