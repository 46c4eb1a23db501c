// SPDX-License-Identifier: Apache-2.0
// Sources that can be opened by name and read several times. Pipes and devices (/dev/stdin), gzip files, and texts that are
// not UTF-8 are copied to a folder in TMPDIR first.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/scratch_directory.hpp"

namespace hopscotch {

// The message, in which each copy has the name of its source.
std::string with_names_of(std::vector<std::filesystem::path> const& sources,
                          std::vector<std::filesystem::path> const& copies, std::string message);

// A regular file that begins and ends with PAR1.
bool is_parquet(std::filesystem::path const& path);

class ReadableSources {
public:
    // encoding: of the texts (not of Parquet), as iconv names it, or latin-1; empty: the bytes as they are. Throws DataError
    // for a source that cannot be read, ConfigError for an unknown encoding. poll (may be empty): called now and then while
    // sources are copied; its exception ends the copying.
    ReadableSources(std::vector<std::filesystem::path> sources, std::string const& encoding,
                    std::function<void()> const& poll = {});

    std::vector<std::filesystem::path> const& paths() const { return paths_; }

    // A message about the copies, in which they have the names of their sources.
    std::string by_source(std::string message) const;

    void remove_files();  // the copies; a reader that has one open can read on

private:
    std::filesystem::path copy(std::filesystem::path const& source, std::string const& encoding,
                               std::function<void()> const& poll);

    std::vector<std::filesystem::path> sources_, paths_;
    std::optional<ScratchDirectory> folder_;  // none: nothing was copied
};

}  // namespace hopscotch
