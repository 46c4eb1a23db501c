// SPDX-License-Identifier: Apache-2.0
// The safetensors format (huggingface/safetensors): 8 bytes with the length of the header (little endian), the header as
// JSON padded with spaces, raw tensors.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "core/json.hpp"
#include "model/state/state.hpp"

namespace hopscotch {

struct NamedTensor {
    std::string name;
    Element element = Element::float32;
    std::vector<std::int64_t> shape;
    ByteView bytes;
};

// Written to a temporary name, synced, renamed. Metadata values that are not strings are written as JSON text. IoError.
void write_safetensors(std::string const& path, std::vector<NamedTensor> const& tensors, Json const& metadata);

// A file that may come from another user: everything in its header is checked before it is used.
class SafetensorsFile {
public:
    // Throws DataError naming the file, and the tensor: missing, truncated, no header, offsets outside, overlaps, sizes that
    // do not fit shape and dtype. Keys of unknown dtypes are kept, reading them is an error.
    static SafetensorsFile open(std::filesystem::path const& path);

    struct Entry {
        std::string dtype;  // "F32", "BF16", ...
        std::vector<std::int64_t> shape;
        std::uint64_t begin = 0, end = 0;  // in the file
    };
    std::map<std::string, Entry> const& entries() const { return entries_; }
    std::filesystem::path const& path() const { return path_; }

    // Converted from F64, F32, F16 or BF16; or from the integers. Throws DataError for another dtype, or if it cannot be
    // read.
    void read(std::string const& name, std::span<float> out) const;
    void read(std::string const& name, std::span<std::int64_t> out) const;

private:
    std::vector<std::byte> bytes_of(std::string const& name) const;

    std::filesystem::path path_;
    std::map<std::string, Entry> entries_;
};

}  // namespace hopscotch
