// SPDX-License-Identifier: Apache-2.0
// Whether a trial fits on its GPU. What state and gradient take is known before they are allocated; what a batch takes on
// the way (activations) once one has been trained, and then counts for every trial of the same model and batch size. The
// first batch finds out by itself: torch's out-of-memory error becomes one with numbers, after one more try with all the
// room there is.
//   admit: state + gradient + activations, as far as known, against what is free -> DoesNotFit, before anything is allocated
//   run:   a batch; no memory -> make_room, empty_cache, undo, once more; again no memory -> DoesNotFit
// What a batch has taken is measured while the first ones of its kind are trained, which are launched kernel by kernel: the
// replay of a captured graph allocates nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/gpu/device_allocator.hpp"

namespace hopscotch {

// A model and all that decides what a row takes on its way through it.
struct BatchKind {
    std::string model;
    std::int64_t rows = 0;
    auto operator<=>(BatchKind const&) const = default;
};

class Admission {
public:
    // make_room(bytes): what can leave the device leaves it until so much is free, the cheapest first.
    using MakeRoom = std::function<void(std::int64_t bytes)>;
    static constexpr std::int64_t k_everything = std::int64_t{1} << 60;  // all that can leave
    Admission(std::unique_ptr<DeviceAllocator> allocator, std::string device, MakeRoom make_room)
        : allocator_(std::move(allocator)), device_(std::move(device)), make_room_(std::move(make_room)) {}

    // missing: what has yet to be allocated of state and gradient; held: bytes of them that are there. Throws DoesNotFit.
    void admit(TrainingNeed missing, std::int64_t held, std::string const& model);

    // work: the batch. undo: makes work as if it had not begun; empty: that cannot be, so there is no other try. held: by
    // state and gradient, for the numbers. Throws DoesNotFit, or what work throws.
    struct Attempt {
        BatchKind const& kind;
        TrainingNeed held;
        std::function<void()> work, undo;
    };
    void run(Attempt const& attempt);

    std::int64_t activations(BatchKind const& kind) const;  // 0: not known

private:
    struct Taken {
        std::int64_t bytes = 0;
        int batches = 0;
    };
    struct Failure {
        std::int64_t taken = 0;  // before memory was out
        std::string torch_says;
    };
    std::optional<Failure> try_once(Attempt const& attempt);
    void note(Taken& known, std::int64_t bytes);

    std::unique_ptr<DeviceAllocator> allocator_;
    std::string device_;
    MakeRoom make_room_;
    std::map<BatchKind, Taken> taken_;
};

}  // namespace hopscotch
