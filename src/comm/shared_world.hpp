// SPDX-License-Identifier: Apache-2.0
// The ranks of a job whose process 0 has a trainer beside the scheduler. Of N processes, process r is rank r, and that
// trainer is rank N. So N processes train on N GPUs.
//   process 0:  rank 0 (scheduler)  rank N (trainer)      between the two: threads
//   process r:  rank r                                    to rank N by a communicator of its own, else as in a dedicated job
#pragma once
#include <memory>

#include "comm/mpi_world.hpp"
#include "comm/thread_world.hpp"

namespace hopscotch {

// Two worlds as one, in which the last rank is reached through a world of its own.
class SharedWorld : public World {
public:
    struct Apart {
        World& world;
        Rank there;  // that rank's number in its own world
        Rank here;   // and in this one
    };
    struct Self {
        Rank rank;
        int number_on_host = 0, trainers_on_host = 1;
    };
    // first: the world of all other ranks. Both worlds must outlive this.
    SharedWorld(World& first, Apart apart, Self self, int size) : first_(first), apart_(apart), self_(self), size_(size) {}

    Rank rank() const override { return self_.rank; }
    int size() const override { return size_; }
    std::string name() const override { return first_.name(); }
    int number_on_host() const override { return self_.number_on_host; }
    int trainers_on_host() const override { return self_.trainers_on_host; }
    Request send(Rank to, int tag, ByteView bytes) override;
    Request receive(Rank from, int tag, MutableBytes into) override;
    bool done(Request request) override;
    void cancel(Request request) override;
    std::optional<Arrival> probe(int tag) override;
    void keep(std::shared_ptr<void> memory) override { first_.keep(std::move(memory)); }
    std::vector<Rank> failed() override;
    void lose(Rank rank) override { first_.lose(rank); }
    [[noreturn]] void vanish() override;
    [[noreturn]] void abort(int exit_code) override;

private:
    World& of(Request request) { return request.slot % 2 == 0 ? first_ : apart_.world; }

    World& first_;
    Apart apart_;
    Self self_;
    int size_;
};

// Collective. The world of a process of a shared job; in process 0, the worlds of its two ranks.
class SharedJob {
public:
    explicit SharedJob(MpiWorld& processes);
    World& world() { return *world_; }      // of this process's rank
    World& trainer() { return *trainer_; }  // process 0: of the trainer beside the scheduler

private:
    MpiWorld beside_;  // messages of rank N
    std::shared_ptr<ThreadHub> hub_ = make_thread_hub(2);
    std::unique_ptr<World> scheduler_end_ = make_thread_world(hub_, Rank(0)),
                           trainer_end_ = make_thread_world(hub_, Rank(1));
    std::unique_ptr<World> world_, trainer_;
};

}  // namespace hopscotch
