// SPDX-License-Identifier: Apache-2.0
// The state of a trial: one flat block of bytes [parameters | optimizer slots | buffers | counters], every tensor 64-byte
// aligned. The block hops, is hashed and is written; the parameters of modules are views into it. (The Offer message
// carries the lap's record beside it: comm never looks into the block.)
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"

namespace hopscotch {

enum class UpdateBy { torch, lean };  // whose arithmetic
enum class Block { parameter, slot, buffer, counter };
enum class Element { float32, int64 };

struct StateTensor {
    std::string name;  // "0.weight"; slots: "0.weight/momentum"; counters: "steps", "samples"
    Block block = Block::parameter;
    Element element = Element::float32;
    std::vector<std::int64_t> shape;  // {} for a scalar
    std::size_t offset = 0;           // bytes from the start of the block
    std::size_t bytes = 0;            // without padding
    std::string slot_kind = {};       // of a slot: "momentum"
};

struct StateLayout {
    std::vector<StateTensor> tensors;  // ordered by offset: all parameters, all slots, all buffers, all counters
    std::size_t bytes = 0;             // of the whole block, a multiple of 64
    UpdateBy update_by = UpdateBy::torch;

    StateTensor const& find(std::string_view name) const;  // throws Error
    std::size_t end_of(Block block) const;                 // offset just after the last tensor of that block
    std::uint64_t hash() const;                            // of names, shapes and offsets
};

// Kinds of slots that the step's optimizer does not touch: the velocity of model_averaging's outer optimizer, which the
// strategy updates, and the averaged weights.
inline constexpr std::string_view k_outer_slot = "outer", k_ema_slot = "ema";

// All slots of one kind: a range as long as the parameters, and laid out like them.
struct SlotRange {
    std::string kind;
    std::size_t first = 0;  // in floats
};
std::vector<SlotRange> slot_ranges(StateLayout const& layout);  // ordered by offset

std::string slot_name(std::string const& parameter, std::string_view kind);  // StateTensor::name

// The state hash of the journal: xxh3 over each tensor's bytes (not the padding), in order.
std::uint64_t state_hash(ByteView state, StateLayout const& layout);

// The state hash, and whether all values are finite. Both in one pass, because a large state comes from memory.
struct StateCheck {
    std::uint64_t hash = 0;
    bool finite = true;
};
StateCheck check_state(ByteView state, StateLayout const& layout);

}  // namespace hopscotch
