// SPDX-License-Identifier: Apache-2.0
#include "comm/codec.hpp"

namespace hopscotch {

void Encoder::raw(void const* data, std::size_t size) {
    auto const* first = static_cast<std::byte const*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
}

void Decoder::raw(void* data, std::size_t size) {
    if (size > bytes_.size())
        throw CommError("message too short (sent by another version?); start every rank from one build");
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
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
    if (size > bytes_.size() / item_bytes)
        throw CommError("message too short (sent by another version?); start every rank from one build");
    return static_cast<std::size_t>(size);
}

}  // namespace hopscotch
