// SPDX-License-Identifier: Apache-2.0
// Writes npy arrays and npz archives, so that their readers can be tested where there is no NumPy.
#pragma once
#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {

inline std::string little(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
    return out;
}

inline std::string npy_with_header(std::string const& dictionary, std::string const& data, int version = 1) {
    auto const text = dictionary + "\n";
    return "\x93NUMPY" + little(static_cast<std::uint64_t>(version), 1) + little(0, 1) +
           little(text.size(), version == 1 ? 2 : 4) + text + data;
}

template <class T>
std::string npy(std::string const& descr, std::string const& shape, std::vector<T> const& values, int version = 1) {
    std::string const data(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
    return npy_with_header("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data, version);
}

inline std::string raw_deflate(std::string const& text) {
    z_stream stream{};
    require(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflate");
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

enum class ZipMethod { stored, deflated };
enum class ZipSize { zip32, zip64 };  // zip64: all numbers in the extra field, and a zip64 end record

// An archive of (name without .npy, content).
inline std::string npz(std::vector<std::pair<std::string, std::string>> const& members, ZipMethod method = ZipMethod::stored,
                       ZipSize size = ZipSize::zip32) {
    std::string out, directory;
    auto const large = size == ZipSize::zip64;
    for (auto const& [stem, content] : members) {
        auto const name = stem + ".npy";
        auto const packed = method == ZipMethod::stored ? content : raw_deflate(content);
        auto const crc = crc32(0, reinterpret_cast<Bytef const*>(content.data()), static_cast<uInt>(content.size()));
        auto const at = out.size();
        auto const common = little(0, 2) + little(method == ZipMethod::stored ? 0 : 8, 2) + little(0, 4) + little(crc, 4);
        out += "PK\3\4" + little(20, 2) + common + little(packed.size(), 4) + little(content.size(), 4) +
               little(name.size(), 2) + little(0, 2) + name + packed;
        auto const extra =
            large ? little(1, 2) + little(24, 2) + little(content.size(), 8) + little(packed.size(), 8) + little(at, 8)
                  : std::string();
        directory += "PK\1\2" + little(45, 2) + little(45, 2) + common + little(large ? UINT32_MAX : packed.size(), 4) +
                     little(large ? UINT32_MAX : content.size(), 4) + little(name.size(), 2) + little(extra.size(), 2) +
                     little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(large ? UINT32_MAX : at, 4) + name +
                     extra;
    }
    auto const at = out.size(), count = members.size();
    out += directory;
    if (large) {
        auto const end64 = out.size();
        out += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(count, 8) +
               little(count, 8) + little(directory.size(), 8) + little(at, 8);
        out += "PK\6\7" + little(0, 4) + little(end64, 8) + little(1, 4);
    }
    return out + "PK\5\6" + little(0, 4) + little(count, 2) + little(count, 2) +
           little(large ? UINT32_MAX : directory.size(), 4) + little(large ? UINT32_MAX : at, 4) + little(0, 2);
}

}  // namespace hopscotch
