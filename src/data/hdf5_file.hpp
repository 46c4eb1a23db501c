// SPDX-License-Identifier: Apache-2.0
// The few things we do with HDF5: open, look, read and write rows of contiguous datasets. hdf5_file.cpp is the only file
// that includes hdf5.h; its error codes become DataError naming the file, and its own error stack stays silent.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {

enum class ElementType { uint8, float32, int64, other };

std::size_t element_bytes(ElementType type);
std::string_view element_name(ElementType type);

struct Hdf5Layout {
    ElementType type = ElementType::other;
    std::vector<std::int64_t> dims;
};

struct Hdf5Close {  // hid_t is int64_t in every HDF5 since 1.10
    static std::int64_t null() { return -1; }
    void operator()(std::int64_t id) noexcept;
};
using Hdf5Id = UniqueHandle<std::int64_t, Hdf5Close>;

// May be used from any thread, one call at a time: HDF5 is not reentrant in every build, so calls are serialised here.
class Hdf5File {
public:
    static Hdf5File open(std::filesystem::path const& path);    // for reading; DataError: missing, truncated, no HDF5
    static Hdf5File create(std::filesystem::path const& path);  // DataError if it exists or cannot be written

    Hdf5Layout layout(std::string const& name) const;  // DataError if there is no such dataset
    void create_dataset(std::string const& name, Hdf5Layout const& layout) const;

    // Rows [first, first + rows) in the stored type, converted from the file's byte order.
    void read_rows(std::string const& name, std::int64_t first, std::int64_t rows, MutableBytes out) const;
    void write_rows(std::string const& name, std::int64_t first, std::int64_t rows, ByteView data) const;

    void close();  // writes everything out; DataError (a full disk) that a destructor could not report

private:
    Hdf5File(std::filesystem::path path, Hdf5Id file) : path_(std::move(path)), file_(std::move(file)) {}
    std::filesystem::path path_;
    Hdf5Id file_;
};

}  // namespace hopscotch
