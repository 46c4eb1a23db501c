// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/source_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/file.hpp"
#include "data/dataset/hdf5_file.hpp"

namespace hopscotch {
namespace {

constexpr char const *k_files = "/files", *k_rows = "/rows", *k_numbers = "/numbers", *k_names = "/names";
constexpr auto k_splits = {Split::train, Split::valid, Split::test};

[[noreturn]] void refuse(std::filesystem::path const& path, std::string_view problem) {
    throw DataError(fmt::format("{}: {}; restore it or import the dataset again", path.string(), problem));
}

template <class T>
void write_list(Hdf5File const& file, std::string const& name, ElementType type, T const& list) {
    file.create_dataset(name, {type, {std::ssize(list)}});
    file.write_rows(name, 0, std::ssize(list), std::as_bytes(std::span(list)));
}

// Each text ends in a zero: none has one inside.
void write_texts(Hdf5File const& file, std::string const& name, std::vector<std::string> const& texts) {
    std::string all;
    for (auto const& text : texts) (all += text) += '\0';
    write_list(file, name, ElementType::uint8, all);
}

// A length in the file is not trusted.
template <class T>
T read_list(Hdf5File const& file, std::filesystem::path const& path, std::string const& name, ElementType type) {
    auto const layout = file.layout(name);
    if (layout.type != type || layout.dims.size() != 1)
        refuse(path, fmt::format("'{}' is not a list (of {})", name, element_name(type)));
    file.check_stored(name);
    T out(static_cast<std::size_t>(layout.dims[0]), {});
    file.read_rows(name, 0, layout.dims[0], std::as_writable_bytes(std::span(out)));
    return out;
}

std::vector<std::string> read_texts(Hdf5File const& file, std::filesystem::path const& path, std::string const& name) {
    auto const all = read_list<std::string>(file, path, name, ElementType::uint8);
    std::vector<std::string> out;
    for (std::size_t at = 0; at < all.size();) {
        auto const end = std::min(all.find('\0', at), all.size());
        out.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

}  // namespace

ShardFile write_source_rows(std::filesystem::path const& path, Manifest const& manifest,
                            std::vector<std::int64_t> const& numbers, std::vector<std::string> const& names) {
    std::vector<std::string> files;
    std::vector<std::int64_t> rows;
    for (auto const split : k_splits)
        for (auto const& shard : manifest.files(split)) {
            files.push_back(shard.file);
            rows.push_back(shard.rows);
        }
    auto file = Hdf5File::create(path);
    write_texts(file, k_files, files);
    write_list(file, k_rows, ElementType::int64, rows);
    write_list(file, k_numbers, ElementType::int64, numbers);
    if (!names.empty()) write_texts(file, k_names, names);
    file.close();
    return {path.filename().string(), std::ssize(numbers), hash_file(path)};
}

std::optional<SourceRows> read_source_rows(std::filesystem::path const& directory, Manifest const& manifest) {
    if (!manifest.source_rows) return std::nullopt;
    auto const path = directory / manifest.source_rows->file;
    auto const file = Hdf5File::open(path);
    SourceRows out;
    out.numbers = read_list<std::vector<std::int64_t>>(file, path, k_numbers, ElementType::int64);
    if (std::ssize(out.numbers) != manifest.source_rows->rows)
        refuse(path, fmt::format("{} rows (dataset.json says {})", out.numbers.size(), manifest.source_rows->rows));
    if (file.has(k_names)) out.names = read_texts(file, path, k_names);
    if (!out.names.empty() && out.names.size() != out.numbers.size())
        refuse(path, fmt::format("{} names (for {} rows)", out.names.size(), out.numbers.size()));
    auto const files = read_texts(file, path, k_files);
    auto const rows = read_list<std::vector<std::int64_t>>(file, path, k_rows, ElementType::int64);
    std::map<std::string, std::int64_t> known;
    std::size_t first = 0;
    for (std::size_t i = 0; i < std::min(files.size(), rows.size()); ++i) {
        if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) > out.numbers.size() - first)
            refuse(path, fmt::format("{} rows of {} (of {} in all)", rows[i], files[i], out.numbers.size()));
        out.first[files[i]] = first;
        known[files[i]] = rows[i];
        first += static_cast<std::size_t>(rows[i]);
    }
    for (auto const split : k_splits)
        for (auto const& shard : manifest.files(split))
            if (auto const found = known.find(shard.file); found == known.end() || found->second != shard.rows)
                refuse(path, fmt::format("does not know {} rows of {} (as dataset.json does)", shard.rows, shard.file));
    return out;
}

std::string source_heading(Manifest const& manifest, SourceRows const& rows) {
    if (rows.names.empty()) return "source_row";
    auto const* id = manifest.origin.provenance.find("id");
    return id != nullptr && id->is_string() ? id->string() : "file";
}

}  // namespace hopscotch
