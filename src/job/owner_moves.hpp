// SPDX-License-Identifier: Apache-2.0
// Moves shards to other owners, because trainers are faster or slower than assumed (once after the roll call, then at the
// end of a lap, by the code for losses in rank0.cpp), or because a trainer is lost.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "schedule/pace.hpp"

namespace hopscotch {

struct LapRecord;
struct PreparedRun;

// Ends an attempt; the next one begins with these owners.
struct OwnersMove {
    std::string why;
    BetterOwners better;
};

class OwnerMoves {
public:
    explicit OwnerMoves(PreparedRun const& prepared);

    // Owners by the speeds that the trainers have measured; nothing if they are not worth a second roll call. speed: by
    // trainer (Hello::speed); 0: not measured.
    std::optional<BetterOwners> after_roll_call(std::vector<double> speed) const;

    // After the loss of a trainer, which is out of prepared.fleet.owners: all trainers pause anyway. Nothing if too little
    // is known of the speeds, or other owners are not worth a move.
    std::optional<OwnersMove> after_loss() const;

    // A lap of this attempt that counts.
    void hear(LapRecord const& lap);
    // The move, if other owners would gain more than twice its cost, also at the look before.
    std::optional<OwnersMove> look(double now_s);
    // A move begins; it ends when the next attempt has released its laps.
    void moves(double now_s);
    void released(double now_s);

private:
    std::optional<OwnersMove> move_now() const;
    WorkLeft work_left(double seconds_per_flop, std::map<TrialId, int> const& known_laps = {}) const;
    std::optional<BetterOwners> better(std::vector<double> const& speed, WorkLeft const& left, double cost_s) const;

    PreparedRun const& prepared_;
    double since_unix_s_;
    Pace pace_;
    double cost_s_ = 0, next_look_s_ = 0;  // cost: of the dearest move so far
    std::optional<double> moving_since_s_;
    int moves_ = 0, wished_ = 0;  // wished: looks in a row that wanted a move
};

}  // namespace hopscotch
