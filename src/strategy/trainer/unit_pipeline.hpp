// SPDX-License-Identifier: Apache-2.0
// The work beside the units of a trainer. While a unit trains, the state of the next one is checked, and is on its way into
// a slot of the device; the state of the unit before is on its way out of a second slot, is hashed, and leaves. So there are
// at most two slots beside the memory that trains. Without a device the slots are missing; hashes are computed in place.
//   compute thread   admit 1 | unit 1            | depart 1, admit 2 | unit 2                    | depart 2 ...
//   copy stream      in 2                                           out 1, in 3
//   helper           check 2                                               hash 1, leave 1, check 3
// The pipeline decides nothing about order: it changes no bit. No state trains before its check has ended well, and each
// state that departs leaves exactly once, with its hash or with the error. One thread may use a pipeline; it calls hash()
// and leave functions on the helper.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace hopscotch {

class Helper;

// A state at this trainer, in host memory. It lives as long as anything reads it.
class PassingState {
public:
    virtual ~PassingState() = default;
    virtual std::size_t bytes() const = 0;
    virtual std::uint64_t hash() = 0;  // of host memory. On any thread
    // The hash that the sender took, until the check has ended well. 0: it was made here, and need not be checked.
    std::uint64_t expected = 0;

private:
    friend class UnitPipeline;
    enum class Check { none, asked, good, bad } check_ = Check::none;
    std::exception_ptr trouble_;  // of the check
};

// The two slots of a device. upload and download begin to copy, and return at once; false: there is no memory for the slot.
class TransferSlots {
public:
    virtual ~TransferSlots() = default;
    virtual bool upload(PassingState& state) = 0;
    // The uploaded state will not train from the slot. On return nothing reads its host memory any more.
    virtual void withdraw(PassingState& state) = 0;
    // The state that has just trained, back to host memory. While another download is under way this is not called.
    virtual bool download(PassingState& state) = 0;
    virtual void fetch(PassingState& state) = 0;  // the same, without a slot: complete on return
    virtual void await_download() = 0;            // on the helper. Throws if the device failed
};

class UnitPipeline {
public:
    // helper: null: hashes are computed at once, by the calling thread. slots: null: states train in their host memory.
    // States below worth_bytes are hashed at once too: to wake a thread takes longer.
    UnitPipeline(Helper* helper, TransferSlots* slots, std::size_t worth_bytes = std::size_t{1} << 20);
    ~UnitPipeline();  // waits for the work under way

    // This state trains soon. announce: its check begins. upload: its way into the slot, as soon as the unit under way has
    // taken its own state from there. A state that was uploaded before, and has not trained, is no longer in the slot.
    void announce(std::shared_ptr<PassingState> const& state);
    void upload(std::shared_ptr<PassingState> const& state);
    // This state trains now, or is used otherwise. Waits for its check; false: it is damaged. Rethrows the exceptions of
    // hash().
    bool admit(std::shared_ptr<PassingState> const& state);
    // Host memory of the state is about to go elsewhere without a unit. Waits until nothing reads it.
    void withdraw(std::shared_ptr<PassingState> const& state);

    // The state has trained. leave: called with its hash, or with the error that stopped it, in which case hash is 0.
    using Leave = std::function<void(std::uint64_t hash, std::exception_ptr error)>;
    void depart(std::shared_ptr<PassingState> state, Leave leave);

    bool busy() const;  // a state departs
    // Waits until no state departs. Rethrows the exception of a leave function, once; so do admit and depart.
    void settle();

private:
    bool beside(PassingState const& state) const;
    void give(std::function<void()> task);
    void check(PassingState& state);
    void await_check(PassingState& state);
    void take_back(PassingState& state, bool downloads, Leave const& leave);
    void rethrow();
    template <class Read>
    auto locked(Read read) const {
        std::lock_guard const lock(mutex_);
        return read();
    }

    Helper* helper_;
    TransferSlots* slots_;
    std::size_t worth_bytes_;
    std::shared_ptr<PassingState> uploaded_;  // in the slot, or on its way there
    mutable std::mutex mutex_;                // of the members below, and of checks
    bool departing_ = false;
    int given_ = 0;               // tasks that the helper has not done yet
    std::exception_ptr failure_;  // of a leave function
};

}  // namespace hopscotch
