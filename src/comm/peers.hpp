// SPDX-License-Identifier: Apache-2.0
// A rank's knowledge of the others: the time and the contents of each last message, and the lost ranks. Rank 0 watches all
// trainers, a trainer watches rank 0. Any thread.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/courier_messages.hpp"
#include "comm/messages.hpp"
#include "core/clock.hpp"

namespace hopscotch {

class Peers {
public:
    Peers(Rank self, int size, double deadline_s, std::function<double()> clock = monotonic_s)
        : self_(self), clock_(std::move(clock)), peers_(static_cast<std::size_t>(size)) {
        watch_.deadline_s = deadline_s;
    }

    // From here on, watched ranks must be heard from every silence_s.
    struct Watch {
        double deadline_s = 60;  // for each step of a transfer
        double silence_s = 10;   // no more than deadline_s
        // Limit of an exchange without progress while no trainer of the job finishes a batch (a peer may compute).
        double stall_s = 300;
    };
    void watch(Watch const& watch);
    void stop_watching();
    double deadline_s() const;
    double stall_s() const;

    void set_name(Rank rank, std::string name);  // "rank 2 (node7)" in errors
    std::string name(Rank rank) const;

    void heard_from(Rank rank);
    void take(Rank rank, Heartbeat const& beat);
    void is_dead(Rank rank);    // MPI has reported the death
    void has_ended(Rank rank);  // its process, as this host's process table shows
    bool ended(Rank rank) const;
    void has_left(Rank rank);  // in good order: its silence is not an error
    std::optional<Heartbeat> last_heartbeat(Rank rank) const;
    // Seconds since rank 0 last reported a finished batch of any trainer. While others make progress, a trainer may have to
    // wait.
    double job_still_s() const;

    // Rank 0. From here on the silence of a trainer is not an error but a message of kind lost, once: the job may go on.
    void survive_losses();
    bool survives_losses() const;
    std::vector<Lost> newly_lost();  // dead, ended, or silent too long, and not given up yet; to be asked often
    bool give_up(Rank rank);         // false: the rank was given up before
    bool bury(Rank rank);            // no message goes to the rank any more; false: the rank was buried before
    bool is_buried(Rank rank) const;
    bool is_lost(Rank rank) const;     // given up, or buried
    std::vector<Rank> living() const;  // trainers

private:
    struct Peer {
        std::string name;
        double heard = 0, moved = 0;                    // times of the last message, and of the last new batch
        std::optional<Heartbeat> heartbeat, last_work;  // the newest, and the newest within a lap
        bool dead = false, ended = false, left = false, given_up = false, buried = false;
    };
    std::string why(Peer const& peer, Rank rank, double silent_s) const;
    std::string name_of_peer(Peer const& peer, Rank rank) const;

    Rank self_;
    std::function<double()> clock_;
    mutable std::mutex mutex_;
    std::vector<Peer> peers_;
    Watch watch_;
    bool watching_ = false, surviving_ = false;
    double looked_ = 0;  // when newly_lost() was asked last
};

}  // namespace hopscotch
