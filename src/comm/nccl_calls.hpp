// SPDX-License-Identifier: Apache-2.0
// The handful of calls of NCCL and CUDA that a group of GPUs needs, as one rank makes them: none of them waits for another
// rank or for the device, so that whoever calls can keep deadlines. A fake stands in for it where there is no GPU.
#pragma once
#include <memory>
#include <string>

#include "comm/codec.hpp"
#include "core/device_floats.hpp"

namespace hopscotch {

class NcclCalls {
public:
    enum class State { done, under_way, failed };

    virtual ~NcclCalls() = default;

    // What the first rank makes and all others need. Throws CommError.
    virtual Bytes make_id() = 0;

    // Of the communicator: to be asked while a call is under way, before the next. failed: error() says why, in NCCL's
    // words.
    virtual State begin(Bytes const& id, int ranks, int self) = 0;
    virtual State state() = 0;
    virtual std::string error() = 0;

    // values become the sum over all ranks of share x values, on a stream of its own.
    virtual State sum(DeviceFloats values, float share) = 0;

    // The order of the two streams: sums begin behind what has been computed; what will be computed begins behind the sums.
    virtual void sums_after(void* compute_stream) = 0;
    virtual void after_sums(void* compute_stream) = 0;

    // Marks the place that the stream of sums has now; whether it has come by there. Slots: 0 and 1.
    virtual void mark(int slot) = 0;
    virtual bool has_passed(int slot) = 0;

    // The ends. finalize: all ranks, then destroy. abort: of this rank, at any time. destroy and abort may not come back.
    virtual State finalize() = 0;
    virtual void destroy() = 0;
    virtual void abort() = 0;
};

// device: "cuda:0". Throws ConfigError on a CPU build, and where the library is another one than this was built for.
std::shared_ptr<NcclCalls> make_nccl(std::string const& device);

// "NCCL 2.28.9", of the library that is loaded; empty: a CPU build.
std::string nccl_version();

// Why a library of this version (as ncclGetVersion says it) cannot be used by a program that was built with another one's
// header; empty: it can.
std::string nccl_complaint(int built_for, int loaded, std::string const& path);

}  // namespace hopscotch
