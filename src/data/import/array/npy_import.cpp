// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/import/array/array_dataset.hpp"
#include "data/import/array/array_names.hpp"
#include "data/import/array/npz_reader.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

bool is_npz(std::filesystem::path const& path) { return path.extension() == ".npz"; }

std::unique_ptr<ArraySource> open_npy(std::filesystem::path const& path) {
    return std::make_unique<NpyReader>(std::make_unique<FileStream>(path));
}

std::unique_ptr<ArraySource> open_member(std::filesystem::path const& path, std::vector<NpzMember> const& members,
                                         std::string const& name) {
    auto const found = std::find_if(members.begin(), members.end(), [&](auto const& member) { return member.name == name; });
    require(found != members.end(), "the member was found before");
    return std::make_unique<NpyReader>(open_npz_member(path, *found));
}

struct Opened {
    std::vector<ArrayPart> parts;
    std::vector<ArrayPair> pairs;
    std::string chosen;  // why_chosen()
};

Opened open_archives(ImportArraysOptions const& options) {
    Opened out;
    for (auto const& source : options.sources) {
        auto const members = read_npz_directory(source);
        std::vector<std::string> names;
        for (auto const& member : members) names.push_back(member.name);
        out.chosen = why_chosen(options, names, NameMatch::whole);
        for (auto const& pair : pair_arrays(names, NameMatch::whole, options, source.string())) {
            out.parts.push_back(
                {open_member(source, members, pair.features), open_member(source, members, pair.labels), pair.split});
            out.pairs.push_back(pair);
        }
    }
    return out;
}

Opened open_files(ImportArraysOptions const& options) {
    std::vector<std::string> names;
    for (auto const& source : options.sources) names.push_back(source.filename().string());
    auto const path = [&](std::string const& name) {
        return options.sources[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
    };
    Opened out;
    out.pairs = pair_arrays(names, NameMatch::part, options, "npy files");
    out.chosen = why_chosen(options, names, NameMatch::part);
    for (auto const& pair : out.pairs)
        out.parts.push_back({open_npy(path(pair.features)), open_npy(path(pair.labels)), pair.split});
    return out;
}

}  // namespace

ImportReport import_npy_files(ImportArraysOptions const& options) {
    check_import_options(options);
    auto const archives = std::count_if(options.sources.begin(), options.sources.end(), is_npz);
    if (archives > 0 && archives != static_cast<std::ptrdiff_t>(options.sources.size()))
        throw ConfigError("npy and npz files together; import one or several npz, or the npy of features and of labels");
    auto const opened = archives > 0 ? open_archives(options) : open_files(options);
    Json::Array sources;
    for (auto const& source : options.sources) sources.emplace_back(file_name(source));
    auto provenance = Json::object({{"importer", "npy"},
                                    {"sources", std::move(sources)},
                                    {"arrays", arrays_json(opened.pairs)},
                                    {"chosen", opened.chosen}});
    return import_arrays(options, opened.parts, std::move(provenance));
}

}  // namespace hopscotch
