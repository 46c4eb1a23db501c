// SPDX-License-Identifier: Apache-2.0
// A group of GPUs that add up gradients or weights through NCCL, as one member sees it: bring-up, sums, and end. None of
// them can hang. Three ranks, one step of two buckets:
//   all: backward, bucket 0 on the stream of sums, backward, bucket 1 on that stream
//   all: update after the sums, on the device. The host waits only for the sums of the step before, and checks meanwhile
//   that the job goes on.
// If a rank is lost, a kernel spins on the others: only an abort of the communicator ends the kernel.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "comm/nccl_calls.hpp"
#include "core/clock.hpp"

namespace hopscotch {

class NcclGroup {
public:
    struct Terms {
        int ranks = 1, self = 0;
        std::string members;     // "rank 1 (node3), rank 2 (node4)", for errors
        double deadline_s = 60;  // of the bring-up, and of the end
        double stall_s = 300;    // limit of a sum while job_still_s() shows no progress of any trainer
        std::function<double()> job_still_s = [] { return 1e9; };
        std::function<double()> clock = monotonic_s;
        std::function<void()> look = [] {};  // called at every turn of a wait; its exception ends the wait
    };

    NcclGroup(std::shared_ptr<NcclCalls> calls, Terms terms) : calls_(std::move(calls)), terms_(std::move(terms)) {}
    ~NcclGroup();  // finalises if all went well, else aborts; returns after deadline_s at the latest
    NcclGroup(NcclGroup const&) = delete;
    NcclGroup& operator=(NcclGroup const&) = delete;

    // Collective. id: from calls->make_id() of the first rank. Throws CommError.
    void bring_up(Bytes const& id);

    // Collective, in one order. Starts after the computation so far. values become the sums of share x values, for all
    // computation after end_step(). what: for errors. Throws CommError.
    void sum(DeviceFloats values, double share, std::string what);

    // After the last sum of a step. end_step: waits for the sums of the step before. settle: waits for all sums; to be
    // called before the host waits for the device itself, where no deadline is kept. Throw CommError.
    void end_step();
    void settle();

private:
    using State = NcclCalls::State;
    struct Limit {
        double s;
        char const* key;
        bool others_may_compute;  // then the limit holds only while the job makes no progress
    };
    void await(State state, std::string const& what, Limit limit);
    void await_mark(int slot, std::string const& what);
    template <class Done>
    void poll(std::string const& what, Limit limit, Done done);
    [[noreturn]] void fail(std::string const& what, std::string const& why);
    Limit stall() const { return {terms_.stall_s, "run.stall_s", true}; }

    std::shared_ptr<NcclCalls> calls_;
    Terms terms_;
    bool up_ = false, begun_ = false;
    bool healthy_ = true;      // no wait has been cut off
    void* compute_ = nullptr;  // the stream that the step under way computes on
    bool has_sums_ = false;    // of the step under way
    std::string what_, what_before_;
    int slot_ = 0;
    bool marked_[2] = {false, false};
};

}  // namespace hopscotch
