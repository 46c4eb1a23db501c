// SPDX-License-Identifier: Apache-2.0
// The functions of a GPU that feeding needs: two streams, each of which does its work in order but later; events that order
// one stream after the other; and two kernels. In the tests a fake does everything as late as possible.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "model/gpu/device.hpp"
#include "model/gpu/gather_element.hpp"

namespace hopscotch {

class FeedDevice {
public:
    enum class Stream { compute, copy };  // compute: the stream that torch computes on now
    enum class Event { uploaded, copied_0, copied_1, taken_0, taken_1 };
    static constexpr std::size_t k_events = 5;

    virtual ~FeedDevice() = default;
    virtual at::TensorOptions on_host() const = 0;  // page-locked
    virtual at::TensorOptions on_device() const = 0;
    virtual DeviceMemory memory() const = 0;

    // All return at once. Their memory must not be touched until the work is done.
    virtual void copy(at::Tensor const& to, at::Tensor const& from, Stream stream) = 0;  // same type and size, contiguous
    virtual void gather(FeatureGather const& gather) = 0;                                // on compute
    virtual void gather(AnswerGather const& gather) = 0;                                 // "
    virtual void record(Event event, Stream stream) = 0;

    // Waits for the work before the last record of the event; for nothing if it was never recorded.
    virtual void wait(Event event, Stream stream) = 0;  // all work that is queued from now on waits
    virtual void wait(Event event) = 0;                 // the caller waits
};

// Null on a CPU.
std::unique_ptr<FeedDevice> make_feed_device(at::Device device);

// The stream on which one workspace does all of its work. Trainers that share a GPU as threads of one process have a stream
// each, so that the kernels of one fill the gaps of the other. Work on different streams has no order:
//   trainer A   stream 1   copies of its state, gathers, steps, captured graphs
//   trainer B   stream 2   the same, on memory of its own
// So no memory may be touched on two streams, unless an event orders them.
class ComputeStream {
public:
    virtual ~ComputeStream() = default;
    virtual void enter() = 0;  // the calling thread launches on this stream from now on
};

// Null on a CPU.
std::unique_ptr<ComputeStream> make_compute_stream(at::Device device);

}  // namespace hopscotch
