// SPDX-License-Identifier: Apache-2.0
#include "comm/codec.hpp"

#include <algorithm>

namespace hopscotch {

void Encoder::grow(std::size_t size) { bytes_.resize(std::max(2 * bytes_.size(), end_ + size)); }

void Decoder::throw_too_short() {
    throw CommError("message too short (sent by another version?); start every rank from one build");
}

void Decoder::get(bool& value) {
    std::uint8_t byte = 0;
    get(byte);
    if (byte > 1) throw CommError("message not understood (sent by another version?); start every rank from one build");
    value = byte == 1;
}

std::size_t Decoder::length(std::size_t item_bytes) {
    std::uint64_t size = 0;
    get(size);
    if (size > bytes_.size() / item_bytes) throw_too_short();
    return static_cast<std::size_t>(size);
}

}  // namespace hopscotch
