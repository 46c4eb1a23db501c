// SPDX-License-Identifier: Apache-2.0
#include "model/state/state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/unit_parts.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

StateTensor const& StateLayout::find(std::string_view name) const {
    auto const found = std::find_if(tensors.begin(), tensors.end(), [&](StateTensor const& t) { return t.name == name; });
    require(found != tensors.end(), fmt::format("the state has no tensor \"{}\"", name));
    return *found;
}

std::size_t StateLayout::end_of(Block block) const {
    std::size_t end = 0;
    for (auto const& tensor : tensors)
        if (tensor.block <= block) end = std::max(end, tensor.offset + tensor.bytes);
    return end;
}

std::uint64_t StateLayout::hash() const {
    std::string text;
    for (auto const& t : tensors)
        text += fmt::format("{}|{}|{}|{}|{}|{}\n", t.name, static_cast<int>(t.block), static_cast<int>(t.element),
                            fmt::join(t.shape, "x"), t.offset, t.bytes);
    return xxh3(std::as_bytes(std::span(text)), bytes);
}

std::vector<SlotRange> slot_ranges(StateLayout const& layout) {
    std::vector<SlotRange> out;
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::slot && (out.empty() || out.back().kind != tensor.slot_kind))
            out.push_back({tensor.slot_kind, tensor.offset / sizeof(float)});
    return out;
}

std::string slot_name(std::string const& parameter, std::string_view kind) { return fmt::format("{}/{}", parameter, kind); }

namespace {

constexpr std::size_t k_piece = std::size_t{1} << 17;  // stays in a core's own cache while it is read twice

void require_whole(ByteView state, StateLayout const& layout) {
    require(state.size() >= layout.bytes,
            fmt::format("a state of {} bytes cannot have a layout of {}", state.size(), layout.bytes));
}

}  // namespace

// Chained through the seed, so that the order of the tensors counts and nothing has to be copied together.
std::uint64_t state_hash(ByteView state, StateLayout const& layout) {
    PartTimer const timing(UnitPart::hash);
    require_whole(state, layout);
    std::uint64_t hash = 0;
    for (auto const& tensor : layout.tensors) hash = xxh3(state.subspan(tensor.offset, tensor.bytes), hash);
    return hash;
}

StateCheck check_state(ByteView state, StateLayout const& layout) {
    PartTimer const timing(UnitPart::hash);
    require_whole(state, layout);
    StateCheck out;
    auto const look = [&](StateTensor const& tensor, ByteView bytes) {
        if (tensor.element == Element::float32 && !all_finite(bytes)) out.finite = false;
    };
    for (auto const& tensor : layout.tensors) {
        auto rest = state.subspan(tensor.offset, tensor.bytes);
        if (rest.size() <= k_piece) {
            out.hash = xxh3(rest, out.hash);
            look(tensor, rest);
            continue;
        }
        Xxh3Stream hash(out.hash);
        for (; !rest.empty(); rest = rest.subspan(std::min(k_piece, rest.size()))) {
            auto const piece = rest.first(std::min(k_piece, rest.size()));
            hash.update(piece);
            look(tensor, piece);
        }
        out.hash = hash.digest();
    }
    return out;
}

}  // namespace hopscotch
