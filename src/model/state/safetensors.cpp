// SPDX-License-Identifier: Apache-2.0
#include "model/state/safetensors.hpp"

#include <array>
#include <span>

#include "core/durable_file.hpp"

namespace hopscotch {
namespace {

Json strings_only(Json const& metadata) {
    auto strings = Json(Json::Object{});
    if (metadata.is_object())
        for (auto const& member : metadata.object())
            strings[member.key] = member.value.is_string() ? member.value : Json(member.value.dump());
    return strings;
}

std::string header_of(std::vector<NamedTensor> const& tensors, Json const& metadata) {
    auto header = Json(Json::Object{});
    header["__metadata__"] = strings_only(metadata);
    std::size_t offset = 0;
    for (auto const& tensor : tensors) {
        Json::Array shape(tensor.shape.begin(), tensor.shape.end());
        Json::Array range{static_cast<std::int64_t>(offset), static_cast<std::int64_t>(offset + tensor.bytes.size())};
        header[tensor.name] = Json::object({{"dtype", tensor.element == Element::float32 ? "F32" : "I64"},
                                            {"shape", std::move(shape)},
                                            {"data_offsets", std::move(range)}});
        offset += tensor.bytes.size();
    }
    auto text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

}  // namespace

void write_safetensors(std::string const& path, std::vector<NamedTensor> const& tensors, Json const& metadata) {
    auto const header = header_of(tensors, metadata);
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
    std::vector<ByteView> parts{std::as_bytes(std::span(length)), std::as_bytes(std::span(header))};
    for (auto const& tensor : tensors) parts.push_back(tensor.bytes);
    write_atomically(path, parts);
}

}  // namespace hopscotch
