// SPDX-License-Identifier: Apache-2.0
// What a rank knows of the others: when each was last heard from and what it was doing then, who is lost. Rank 0 watches all
// trainers, a trainer watches rank 0. Any thread.
#pragma once
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages.hpp"

namespace hopscotch {

class Peers {
public:
    Peers(Rank self, int size, double deadline_s) : self_(self), peers_(static_cast<std::size_t>(size)) {
        watch_.deadline_s = deadline_s;
    }

    // From here on, watched ranks must be heard from every silence_s.
    struct Watch {
        double deadline_s = 60;  // for each step of a transfer
        double silence_s = 10;   // no more than deadline_s
        double stall_s =
            300;  // how long an exchange may stand still while nobody in the job finishes a batch (a peer may compute)
    };
    void watch(Watch const& watch);
    void stop_watching();
    double deadline_s() const;
    double stall_s() const;

    void set_name(Rank rank, std::string name);  // "rank 2 (node7)" in errors
    std::string name(Rank rank) const;

    void heard_from(Rank rank);
    void take(Rank rank, Heartbeat const& beat);
    void is_dead(Rank rank);   // MPI says so
    void has_left(Rank rank);  // in good order: its silence means nothing
    std::optional<Heartbeat> last_heartbeat(Rank rank) const;
    double job_still_s() const;  // since rank 0 last told of a batch that some trainer has finished: while others get on,
                                 // one may have to wait

    // Rank 0. From here on the silence of a trainer is no failure but news, once: the job may go on without it.
    void survive_losses();
    bool survives_losses() const;
    std::vector<Lost> silent();  // who is silent too long, and is not given up yet; to be asked often
    bool give_up(Rank rank);     // false: it was already
    bool bury(Rank rank);        // nobody talks to it any more; false: that was so already
    bool is_buried(Rank rank) const;
    bool is_lost(Rank rank) const;     // given up, or buried
    std::vector<Rank> living() const;  // trainers

private:
    struct Peer {
        std::string name;
        double heard = 0, moved = 0;                    // when; moved: its counter of batches
        std::optional<Heartbeat> heartbeat, last_work;  // the newest one, and the newest within a lap
        bool dead = false, left = false, given_up = false, buried = false;
    };
    std::string why(Peer const& peer, Rank rank, double silent_s) const;
    std::string name_of_peer(Peer const& peer, Rank rank) const;

    Rank self_;
    mutable std::mutex mutex_;
    std::vector<Peer> peers_;
    Watch watch_;
    bool watching_ = false, surviving_ = false;
    double looked_ = 0;  // when silent() was asked last
};

}  // namespace hopscotch
