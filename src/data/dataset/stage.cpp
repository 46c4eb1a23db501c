// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/stage.hpp"

#include <fmt/format.h>

#include <system_error>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace fs = std::filesystem;

namespace {

// Trainers may be threads of one process, or processes of one host, also in containers.
std::string own_suffix() { return fmt::format(".{}.tmp", random_word()); }

bool is_whole(fs::path const& path, ShardFile const& file) {
    std::error_code error;
    return fs::is_regular_file(path, error) && hash_file(path) == file.xxh64;
}

}  // namespace

fs::path stage_file(fs::path const& directory, ShardFile const& file, Manifest const& manifest, fs::path const& stage) {
    auto const folder = stage / ("hopscotch-" + to_hex(dataset_hash(manifest)));
    auto const source = directory / file.file, copy = folder / file.file;
    if (is_whole(copy, file)) return folder;
    require_file(source);
    check_length(source, file, manifest);
    auto unfinished = copy;
    unfinished += own_suffix();
    std::error_code ignored;
    try {
        fs::create_directories(folder);
        fs::copy_file(source, unfinished);
        if (!is_whole(unfinished, file))
            throw DataError(fmt::format(
                "{}: its copy {} does not have the hash in dataset.json (one of the two disks is wrong); run 'hopscotch "
                "data verify' to see which",
                source.string(), copy.string()));
        fs::rename(unfinished, copy);
    } catch (fs::filesystem_error const& error) {
        fs::remove(unfinished, ignored);
        throw DataError(
            fmt::format("{}: cannot be copied to {} ({}); choose a data.stage with room for the shards of this host",
                        source.string(), folder.string(), error.code().message()));
    } catch (DataError const&) {
        fs::remove(unfinished, ignored);
        throw;
    }
    return folder;
}

}  // namespace hopscotch
