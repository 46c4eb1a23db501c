// SPDX-License-Identifier: Apache-2.0
// Decides whether a trial fits on its GPU. The memory of state and gradient is known before they are allocated. The memory
// of a batch (activations) is known once one batch has been trained; it then counts for every trial of the same model and
// batch size. If the first batch finds no memory, it is tried once more with all the room there is; then torch's
// out-of-memory error becomes one with numbers.
//   admit: state + gradient + activations, as far as known, against what is free -> DoesNotFit, before anything is allocated
//   run:   a batch; no memory -> make_room, empty_cache, undo, once more; again no memory -> DoesNotFit
// Other words of CUDA's libraries for "no memory" count as well. A library may also go on without the memory of a workspace,
// by another algorithm: the batch is good, but its bits may differ from those of a trainer with more memory, which the log
// says once for each model. The memory of a batch is measured while the first ones of its kind are trained. These are
// launched kernel by kernel; the replay of a captured graph allocates nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/gpu/device_allocator.hpp"

namespace hopscotch {

// A model, with all settings that decide how much memory a row takes on its way through the model.
struct BatchKind {
    std::string model;
    std::int64_t rows = 0;
    auto operator<=>(BatchKind const&) const = default;
};

class Admission {
public:
    // make_room(bytes): frees memory of the device until this much is free, the cheapest first.
    using MakeRoom = std::function<void(std::int64_t bytes)>;
    static constexpr std::int64_t k_everything = std::int64_t{1} << 60;  // all that can leave
    Admission(std::unique_ptr<DeviceAllocator> allocator, std::string device, MakeRoom make_room)
        : allocator_(std::move(allocator)), device_(std::move(device)), make_room_(std::move(make_room)) {}

    // missing: the part of state and gradient that is not allocated yet; held: the bytes that are. Throws DoesNotFit.
    void admit(TrainingNeed missing, std::int64_t held, std::string const& model);

    // work: the batch. undo: makes work as if it had not begun; empty: work cannot be undone, so there is no second try.
    // held: by state and gradient, for the numbers. Throws DoesNotFit, or the exception of work.
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
    bool found_no_memory(std::string_view text) const;
    void warn_of_refusals(BatchKind const& kind);
    void note(Taken& known, std::int64_t bytes);

    std::unique_ptr<DeviceAllocator> allocator_;
    std::string device_;
    MakeRoom make_room_;
    std::map<BatchKind, Taken> taken_;
    std::set<std::string> warned_;  // models
};

// Whether the text of an exception says that a library of CUDA found no memory. maybe: the words have other meanings too,
// and count only if little memory is free. PURE.
enum class NoMemory { no, maybe, yes };
NoMemory no_memory_in(std::string_view text);

}  // namespace hopscotch
