// SPDX-License-Identifier: Apache-2.0
// The checkpoints of earlier jobs that trials can continue from. A file is read and checked when a trial is about to use it,
// because a run may have hundreds of gigabytes of others.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class StateChain;
struct EarlierJobs;
struct TrialView;

class UsableFiles {
public:
    // The order in which the journal's lap visited the shards, where only the journal has it; else empty.
    using VisitOrder = std::function<std::vector<ShardId>(LapId)>;

    // most_bytes: of a file.
    UsableFiles(EarlierJobs const& earlier, std::filesystem::path directory, std::uint64_t most_bytes, VisitOrder order);

    // These trials may start from files: for the log's "12 of 34 GB".
    void expect(std::vector<TrialView> const& trials);

    // Leaves out files whose state does not fit their place: an order may have taken back laps of the trial, or an older
    // version may have given two states one name.
    void drop_wrong(StateChain const& chain);

    // The file with the furthest place in these laps, and the file with the state after that lap. Null: no undamaged file.
    // The pointers stay valid. A damaged file is named in the log, once.
    SavedState const* furthest(TrialId trial, int last_epoch);
    SavedState const* after(TrialId trial, int epoch);

    // The files that no trial can use, as far as they have been looked at.
    std::vector<SavedState> bad() const;

private:
    enum class Condition { unknown, good, bad };
    struct File {
        SavedState saved;
        Condition condition = Condition::unknown;
    };
    bool is_good(File& file);
    void check(SavedState const& saved);
    void say_how_far(std::uintmax_t checked_bytes);

    std::filesystem::path directory_;
    std::string run_id_;
    std::uint64_t most_bytes_;
    VisitOrder order_;
    std::map<TrialId, std::vector<File>> files_;  // the furthest first
    std::uintmax_t expected_bytes_ = 0, checked_bytes_ = 0;
    double next_word_s_ = 0;
};

}  // namespace hopscotch
