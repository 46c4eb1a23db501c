// SPDX-License-Identifier: Apache-2.0
// Reading a file, as text, by lines or for its hash, for all modules. The file may be somebody else's: what is no file is
// refused, and memory is taken only for text that is there.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace hopscotch {

// Throws DataError that names the path if something is there that is no file: a directory, a device or a pipe. Reading it
// would give nothing or never end. What is not there is for the reader to tell.
void require_file(std::filesystem::path const& path);

// Throws DataError that names the file. file: as require_file; file_or_pipe: a pipe is read to its end. A byte of zero is
// refused, because no text has one: a file of holes has no end.
enum class ReadFrom { file, file_or_pipe };
std::string read_whole(std::filesystem::path const& path, ReadFrom from = ReadFrom::file);

// At most so many bytes from the beginning of a file, as they are. Throws DataError.
std::string read_beginning(std::filesystem::path const& path, std::uintmax_t bytes);

// The lines of a text file up to the last line end, as they are: behind it stands a torn line, or the zeros that a power cut
// leaves (without limit: they take no memory). Throws DataError as read_whole.
std::string read_whole_lines(std::filesystem::path const& path);

// The lines of a text file, one after another: memory for the longest line, which is at most 16 MiB. What has no line end
// is no line yet: a torn one, or the zeros that a power cut leaves behind the last line.
class LineReader {
public:
    explicit LineReader(std::filesystem::path path);  // throws DataError as read_whole

    // The next line, without its end, until the next call; none: there is no further one. Throws DataError.
    std::optional<std::string_view> next();
    int number() const { return number_; }                    // of that line, from 1
    std::uintmax_t bytes_of_lines() const { return bytes_; }  // so far, with their ends

private:
    bool read_more();

    std::filesystem::path path_;
    std::ifstream in_;
    std::string text_;                   // read, and not yet given away
    std::size_t at_ = 0, searched_ = 0;  // in text_: the next line begins; up to here there is no line end
    std::uintmax_t bytes_ = 0;
    int number_ = 0;
};

// xxh64 over the file's bytes. Throws DataError if it cannot be read, or as require_file.
std::uint64_t hash_file(std::filesystem::path const& path);

}  // namespace hopscotch
