// SPDX-License-Identifier: Apache-2.0
#include "data/import/import_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.hpp"
#include "data/import/dataset_writer.hpp"

namespace hopscotch {

void check_import_options(ImportOptions const& options) {
    if (options.sources.empty()) throw ConfigError("nothing to import; name one or several sources");
    if (options.out.empty()) throw ConfigError("--out is missing; name the dataset directory to make");
    if (options.shards < 1) throw ConfigError(fmt::format("--shards {}: must be at least 1", options.shards));
    if (options.shards > 99999)
        throw ConfigError(fmt::format("--shards {}: must be at most 99999 (shard files have five digits)", options.shards));
    if (!(options.valid >= 0 && options.valid < 1))
        throw ConfigError(fmt::format(
            "--valid {}: must be at least 0 and below 1 (the fraction of rows kept for validation)", options.valid));
    if (!(options.test >= 0 && options.test < 1))
        throw ConfigError(
            fmt::format("--test {}: must be at least 0 and below 1 (the fraction of rows kept for the test)", options.test));
    if (options.valid + options.test >= 1)
        throw ConfigError(fmt::format("--valid {} --test {}: must be below 1 together (the other rows are for training)",
                                      options.valid, options.test));
    if (options.seed > INT64_MAX) throw ConfigError(fmt::format("--seed {}: must be below 2^63", options.seed));
    for (auto const& source : options.sources)
        if (!std::filesystem::exists(source))
            throw ConfigError(fmt::format("{}: no such file or directory", source.string()));
    require_free(options.out);
}

std::string fit_shards_to_trainers(ImportOptions& options) {
    constexpr std::int64_t k_each = 4;
    if (options.trainers < 1) return "";
    auto const trainers = static_cast<std::int64_t>(options.trainers);
    auto const each = std::max(k_each, (options.shards + trainers - 1) / trainers);
    options.shards = each * trainers;
    return fmt::format(
        "{} shards: {} for each of {} trainers (with {} or more, a trainer that is slower can hold fewer, and other numbers "
        "of trainers are busy too)",
        options.shards, each, trainers, k_each);
}

std::vector<std::int64_t> parse_shape(std::string const& text) {
    std::vector<std::int64_t> out;
    auto const* at = text.data();
    auto const* const end = at + text.size();
    for (;;) {
        std::int64_t size = 0;
        auto const [stop, code] = std::from_chars(at, end, size);
        auto const bad =
            code != std::errc{} || size < 1 || size > 1 << 24 || out.size() == 4 || (stop != end && *stop != 'x');
        if (bad)
            throw ConfigError(
                fmt::format("--shape {}: expected up to four sizes with an x between them, such as 1x8x8", text));
        out.push_back(size);
        if (stop == end) return out;
        at = stop + 1;
    }
}

}  // namespace hopscotch
