// SPDX-License-Identifier: Apache-2.0
// The messages of rank 0 before any rank has a courier: first that it still prepares, then how the job is made up.
//   rank 0 -> 1, 2   preparing            every few tenths of a second, as long as rank 0 reads and checks its inputs
//   rank 0 -> 1, 2   dedicated or shared  the announcement; couriers follow
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hopscotch {

class World;

// Rank 0: signs of life for the processes that await the announcement, from a thread of its own. Until the destructor has
// returned, no other thread may call the world.
class SignsOfLife {
public:
    SignsOfLife(World& world, double every_s);
    ~SignsOfLife();
    SignsOfLife(SignsOfLife const&) = delete;
    SignsOfLife& operator=(SignsOfLife const&) = delete;

private:
    void show(World& world, double every_s);

    std::mutex mutex_;
    std::condition_variable ended_;
    bool ending_ = false;
    std::thread thread_;
};

// Rank 0: tells the other processes whether the job is shared (shared_world.hpp). Once, before anything else.
void announce(World& world, bool shared);
// All other processes. Throws CommError if no sign of rank 0 comes for deadline_s.
bool await_announcement(World& world, double deadline_s);

}  // namespace hopscotch
