// SPDX-License-Identifier: Apache-2.0
// The state of a trial as its model sees it: first values, the block that the model is bound to, and the saved file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/byte_view.hpp"
#include "core/device_floats.hpp"
#include "core/ids.hpp"
#include "model/state/state.hpp"

namespace hopscotch {

class Json;

class TrialState {
public:
    virtual ~TrialState() = default;

    virtual StateLayout const& layout() const = 0;

    // Writes initial weights (torch's own rules, addressed by (seed, trial)) and zeros everything else. threads: that draw
    // them; the values are the same.
    virtual void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads = 1) = 0;

    // Points every view into this block, which must be 64-byte aligned, layout().bytes long, and outlive the next bind.
    virtual void bind(MutableBytes state) = 0;

    // The same, but a GPU that already has this state copies nothing. stamp: the return value of the last bind of this
    // state, if the state has only been read since; 0: it was never bound, or it has come from elsewhere.
    virtual std::uint64_t bind_again(MutableBytes state, std::uint64_t /*stamp*/) {
        bind(state);
        return 0;
    }

    // In an open pass the state may lie on a GPU. fetch() copies it into the bound block; store() copies the block, with
    // everything that was written into it, back to where the pass trains it. A model that trains in the block copies
    // nothing.
    virtual void fetch() {}
    virtual void store() {}

    // On a GPU with memory to spare, both copies go on beside other work. Calls of one thread, but for await_fetch.
    // begin_store: the block will be bound soon; its copy to the GPU begins. False: bind() copies it. Until bind() or
    // forget_store(), which waits for the copy, the block stays as it is. begin_fetch: the state of the pass that has ended
    // goes back into the bound block; complete when await_fetch() has returned. False: fetch() does it.
    virtual bool begin_store(MutableBytes) { return false; }
    virtual void forget_store(MutableBytes) {}
    virtual bool begin_fetch() { return false; }
    virtual void await_fetch() {}

    // The floats of the state where an open pass trains them, laid out like the block (parameters, slots, buffers). Changes
    // there need neither fetch() nor store(). None: the model trains in the block.
    virtual std::optional<DeviceFloats> device_state() { return std::nullopt; }

    // Called after each validation, with the loss that a plateau schedule follows. Its counters are part of the state.
    // False: neither this nor the validation can have changed the block.
    virtual bool end_epoch(double loss) = 0;

    // Writes the parameters (frozen ones too; with EMA the averaged ones) and buffers as a safetensors file.
    virtual void save(std::string const& path, Json const& metadata) = 0;

    virtual bool finite() = 0;  // no parameter, slot or buffer is NaN or infinite
};

}  // namespace hopscotch
