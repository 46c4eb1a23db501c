// SPDX-License-Identifier: Apache-2.0
// The HDF5 functions that hopscotch needs: open a file, inspect it, read and write rows of contiguous datasets. Only
// hdf5_file.cpp and hdf5_array.cpp (files of other programs) include hdf5.h. Error codes of HDF5 become a DataError that
// names the file, and HDF5 prints no errors itself.
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

// Held for the length of every call into HDF5, which is not reentrant in every build. Keeps its errors off the terminal.
class Hdf5Lock {
public:
    Hdf5Lock();

private:
    std::lock_guard<std::recursive_mutex> lock_;
};

// Throws DataError "path: what (the reason that HDF5 gives); suggestion".
[[noreturn]] void hdf5_failed(std::filesystem::path const& path, std::string_view what, std::string_view suggestion);

// A property list for reading files that are not being written. Call under a lock.
Hdf5Id hdf5_reading();

// May be used from any thread, one call at a time: calls are serialised here.
class Hdf5File {
public:
    static Hdf5File open(std::filesystem::path const& path);    // for reading; DataError: missing, truncated, not HDF5
    static Hdf5File create(std::filesystem::path const& path);  // DataError if it exists or cannot be written

    bool has(std::string const& name) const;
    Hdf5Layout layout(std::string const& name) const;  // DataError if there is no such dataset

    // Throws DataError unless the whole dataset lies in this file.
    void check_stored(std::string const& name) const;

    // The place of the first row, if the rows lie in the file as one block in this machine's byte order; else none.
    std::optional<std::int64_t> offset_of_rows(std::string const& name) const;

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
