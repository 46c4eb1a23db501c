// SPDX-License-Identifier: Apache-2.0
// Reads a file as text, by lines or for its hash, for all modules. Refuses anything but a regular file, and allocates only
// for bytes that are there (the file may be hostile).
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace hopscotch {

// Throws DataError that names the path if the path is not a regular file: reading a directory, a device or a pipe would give
// nothing or never end. The reader reports a missing file.
void require_file(std::filesystem::path const& path);

// Throws DataError that names the file. file: as require_file; file_or_pipe: a pipe is read to its end. Refuses a zero byte:
// no text has one, and a file of holes has no end.
enum class ReadFrom { file, file_or_pipe };
std::string read_whole(std::filesystem::path const& path, ReadFrom from = ReadFrom::file);

// At most this many bytes from the beginning of a file, as they are. Throws DataError.
std::string read_beginning(std::filesystem::path const& path, std::uintmax_t bytes);

// The lines of a text file up to the last line end, as they are. Leaves out the rest: a torn line, or the zeros that a power
// cut leaves (without limit: they take no memory). Throws DataError as read_whole.
std::string read_whole_lines(std::filesystem::path const& path);

// The lines of a text file, one after another: memory for the longest line, which is at most 16 MiB. Leaves out the text
// after the last line end: a torn line, or the zeros that a power cut leaves.
class LineReader {
public:
    explicit LineReader(std::filesystem::path path);  // throws DataError as read_whole

    // The next line, without its end, until the next call; none: the end of the lines. Throws DataError.
    std::optional<std::string_view> next();
    int number() const { return number_; }                    // of that line, from 1
    std::uintmax_t bytes_of_lines() const { return bytes_; }  // so far, with their ends

private:
    bool read_more();

    std::filesystem::path path_;
    std::ifstream in_;
    std::string text_;                   // read, and not yet returned
    std::size_t at_ = 0, searched_ = 0;  // in text_: the start of the next line; no line end up to here
    std::uintmax_t bytes_ = 0;
    int number_ = 0;
};

// xxh64 over the file's bytes. Throws DataError if it cannot be read, or as require_file.
std::uint64_t hash_file(std::filesystem::path const& path);

}  // namespace hopscotch
