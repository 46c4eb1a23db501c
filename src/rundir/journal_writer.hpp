// SPDX-License-Identifier: Apache-2.0
// Writes journal.jsonl (rundir/journal.hpp) and, beside it, the units of its laps.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "core/durable_file.hpp"
#include "core/json.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Json;
struct Decision;
struct Order;
struct OwnersMoved;
struct TrainerLoss;
struct TrialView;
class UnitWriter;

class JournalWriter {
public:
    // Units go to units-N.bin beside it, N = job: 1, or the number in run_resumed. told: hears of each line that was
    // written.
    using Told = std::function<void(Json const& line)>;
    explicit JournalWriter(std::filesystem::path const& path, Told told = {});
    ~JournalWriter();

    void lap_released(Lap const& lap);
    void lap_done(LapRecord const& record);
    void decided(Decision const& decision);
    void ordered(Order const& order);  // synced, because its sender is told that it holds. The order also comes with a lap
    void retried(LapRecord const& record);
    void checkpoint(SavedState const& saved);  // of a file that is durable
    void trainer_lost(TrainerLoss const& loss);
    void owners_moved(OwnersMoved const& moved);
    void run_resumed(int incarnation, int trainers);
    void trial_ended(TrialView const& trial);
    void run_ended(std::string_view status, std::string_view reason);
    FileIdentity identity() const { return file_.identity(); }
    void sync();
    void sync_if_due();  // call it from the loop that waits for messages

private:
    void append(Json line);
    AppendFile file_;
    Told told_;
    std::unique_ptr<UnitWriter> units_;  // durable before the lines that name them
};

}  // namespace hopscotch
