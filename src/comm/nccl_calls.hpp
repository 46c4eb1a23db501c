// SPDX-License-Identifier: Apache-2.0
// The calls of NCCL and CUDA that one rank of a group of GPUs needs. No call waits for another rank or for the device, so
// that the caller can keep deadlines. Tests without a GPU use a fake.
#pragma once
#include <memory>
#include <string>

#include "core/byte_view.hpp"
#include "core/device_floats.hpp"

namespace hopscotch {

class NcclCalls {
public:
    enum class State { done, under_way, failed };

    virtual ~NcclCalls() = default;

    // The first rank makes the id; all ranks need it. Throws CommError.
    virtual Bytes make_id() = 0;

    // Calls of the communicator. While a call is under way, ask state() before the next call. failed: error() has NCCL's
    // text.
    virtual State begin(Bytes const& id, int ranks, int self) = 0;
    virtual State state() = 0;
    virtual std::string error() = 0;

    // values become the sum over all ranks of share x values, on a stream of its own.
    virtual State sum(DeviceFloats values, float share) = 0;

    // The order of the two streams: sums begin after earlier computation; later computation begins after the sums.
    virtual void sums_after(void* compute_stream) = 0;
    virtual void after_sums(void* compute_stream) = 0;

    // mark: marks the present place of the stream of sums. has_passed: the stream has passed the mark. Slots: 0 and 1.
    virtual void mark(int slot) = 0;
    virtual bool has_passed(int slot) = 0;

    // The end of the communicator. finalize: all ranks call it, then destroy. abort: this rank alone, at any time. destroy
    // and abort may never return.
    virtual State finalize() = 0;
    virtual void destroy() = 0;
    virtual void abort() = 0;
};

// device: "cuda:0". Throws ConfigError on a CPU build, and if the library does not fit this build.
std::shared_ptr<NcclCalls> make_nccl(std::string const& device);

// "NCCL 2.28.9", of the library that is loaded; empty: a CPU build.
std::string nccl_version();

// The reason why a library of this version (ncclGetVersion's number) does not fit a program that was built with another
// version's header; empty: the library fits.
std::string nccl_complaint(int built_for, int loaded, std::string const& path);

}  // namespace hopscotch
