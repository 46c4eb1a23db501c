// SPDX-License-Identifier: Apache-2.0
#include "model/state/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {
namespace {

struct CloseFile {
    static int null() { return -1; }
    void operator()(int file) noexcept { ::close(file); }
};

[[noreturn]] void fail(std::string const& path, char const* what) {
    throw DataError(fmt::format("{}: cannot {} ({})", path, what, std::strerror(errno)));
}

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

void write_all(int file, void const* data, std::size_t size, std::string const& path) {
    auto const* at = static_cast<char const*>(data);
    while (size > 0) {
        auto const written = ::write(file, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(path, "write");
        at += written;
        size -= static_cast<std::size_t>(written);
    }
}

}  // namespace

void write_safetensors(std::string const& path, std::vector<NamedTensor> const& tensors, Json const& metadata) {
    auto const partial = path + ".tmp";
    UniqueHandle<int, CloseFile> file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) fail(partial, "create");
    auto const header = header_of(tensors, metadata);
    unsigned char length[8];
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
    write_all(file.handle(), length, sizeof length, partial);
    write_all(file.handle(), header.data(), header.size(), partial);
    for (auto const& tensor : tensors) write_all(file.handle(), tensor.bytes.data(), tensor.bytes.size(), partial);
    if (::fsync(file.handle()) != 0) fail(partial, "sync");
    file.reset();
    if (std::rename(partial.c_str(), path.c_str()) != 0) fail(path, "rename into place");
}

}  // namespace hopscotch
