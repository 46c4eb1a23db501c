// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "core/error.hpp"
#include "data/import/array/array_import.hpp"
#include "data/import/dataset_writer.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

// A record: labels (the last one is the class), then 3 x 32 x 32 bytes.
struct CifarKind {
    std::string_view name, names_file;
    std::int64_t classes = 0;
    std::size_t label_bytes = 0;
    std::size_t record_bytes() const { return label_bytes + 3 * 32 * 32; }
};
constexpr CifarKind k_cifar10{"CIFAR-10", "batches.meta.txt", 10, 1};
constexpr CifarKind k_cifar100{"CIFAR-100", "fine_label_names.txt", 100, 2};

struct CifarFile {
    fs::path path;
    Split split = Split::train;
    std::vector<std::uint8_t> labels;
};

std::vector<fs::path> cifar_files_in(fs::path const& directory) {
    std::vector<fs::path> out;
    for (auto const* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                             "data_batch_5.bin", "test_batch.bin", "train.bin", "test.bin"})
        if (fs::exists(directory / name)) out.push_back(directory / name);
    if (out.empty())
        throw DataError(
            fmt::format("{}: neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100) is here; name the "
                        "files themselves",
                        directory.string()));
    return out;
}

std::vector<fs::path> cifar_files_of(ImportOptions const& options) {
    if (options.sources.size() == 1 && fs::is_directory(options.sources[0])) return cifar_files_in(options.sources[0]);
    return options.sources;
}

// The usual names tell the format; for other files the size does.
CifarKind kind_of(std::vector<fs::path> const& files) {
    std::optional<CifarKind> out;
    for (auto const& file : files) {
        auto const name = file.filename().string();
        auto const size = fs::is_regular_file(file) ? fs::file_size(file) : 0;
        auto const hundred = name == "train.bin" || name == "test.bin";
        auto const ten = name.starts_with("data_batch") || name.starts_with("test_batch");
        auto const by_size = size % k_cifar10.record_bytes() == 0 ? k_cifar10 : k_cifar100;
        auto const kind = hundred ? k_cifar100 : ten ? k_cifar10 : by_size;
        if (size == 0 || size % kind.record_bytes() != 0)
            throw DataError(
                fmt::format("{}: {} bytes, no whole number of records ({} bytes each for {}); is the file truncated?",
                            file.string(), size, kind.record_bytes(), kind.name));
        if (out && out->name != kind.name)
            throw DataError(
                fmt::format("{}: {} ({} is {}); import them apart", file.string(), kind.name, files[0].string(), out->name));
        out = kind;
    }
    return *out;
}

// Calls visit(label, pixels) for each record.
template <class Visit>
void for_each_record(fs::path const& path, CifarKind const& kind, Visit visit) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> record(kind.record_bytes());
    for (auto left = fs::file_size(path) / record.size(); left > 0; --left) {
        if (!in.read(record.data(), static_cast<std::streamsize>(record.size())))
            throw DataError(fmt::format("{}: cannot be read; check the disk and its permissions", path.string()));
        auto const* const bytes = reinterpret_cast<std::uint8_t const*>(record.data());
        visit(bytes[kind.label_bytes - 1], std::span(bytes, record.size()).subspan(kind.label_bytes));
    }
}

CifarFile read_labels(fs::path const& path, CifarKind const& kind) {
    CifarFile out{path, path.filename().string().starts_with("test") ? Split::test : Split::train, {}};
    for_each_record(path, kind, [&](std::uint8_t label, auto) {
        if (label >= kind.classes)
            throw DataError(
                fmt::format("{}: record {}: label {} is out of range ({} has {} classes); is the file of another format?",
                            path.string(), out.labels.size(), label, kind.name, kind.classes));
        out.labels.push_back(label);
    });
    return out;
}

// The file beside the batches; empty if there is none.
std::vector<std::string> class_names(fs::path const& directory, CifarKind const& kind) {
    auto const path = directory / kind.names_file;
    std::ifstream in(path);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) {
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty()) continue;
        require_utf8(line, path.string(), "the class name", "save the file as UTF-8");
        if (std::ranges::find(out, line) != out.end())
            throw DataError(fmt::format("{}: two classes are named '{}'; correct it or remove it", path.string(), line));
        out.push_back(line);
    }
    if (!out.empty() && static_cast<std::int64_t>(out.size()) != kind.classes)
        throw DataError(fmt::format("{}: {} names ({} has {} classes); correct it or remove it", path.string(), out.size(),
                                    kind.name, kind.classes));
    return out;
}

Manifest describe(ImportOptions const& options, std::vector<fs::path> const& files, CifarKind const& kind) {
    Json::Array names;
    for (auto const& file : files) names.emplace_back(file_name(file));
    Manifest out;
    out.shape = {3, 32, 32};
    out.type = FeatureType::uint8;
    out.outputs = kind.classes;
    out.class_names = class_names(files[0].parent_path(), kind);
    out.origin.seed = options.seed;
    out.origin.provenance = Json::object({{"importer", "cifar"},
                                          {"format", std::string(kind.name)},
                                          {"sources", std::move(names)},
                                          {"valid", options.valid},
                                          {"test", options.test},
                                          {"stratify", options.stratify}});
    return out;
}

Placement place(ImportOptions const& options, std::vector<CifarFile> const& files, CifarKind const& kind) {
    std::vector<std::uint32_t> classes;
    std::vector<Split> splits;
    for (auto const& file : files) {
        classes.insert(classes.end(), file.labels.begin(), file.labels.end());
        splits.insert(splits.end(), file.labels.size(), file.split);
    }
    SplitOptions const split{options.shards, options.valid, options.test, options.stratify, options.seed};
    return place_rows(classes, static_cast<std::size_t>(kind.classes), split, splits);
}

std::vector<std::string> decisions(std::vector<CifarFile> const& files, Manifest const& description, CifarKind const& kind) {
    std::vector<std::string> out{fmt::format("the format is {}, by the names and sizes of the files", kind.name)};
    for (auto const& file : files)
        out.push_back(fmt::format("{} rows of {}{}", file.labels.size(), file_name(file.path),
                                  file.split == Split::train ? "" : ", as the test split of the source"));
    auto const unnamed = description.class_names.empty();
    out.push_back(fmt::format("{} classes, {} {}{}", kind.classes, unnamed ? "without names, since" : "with the names of",
                              kind.names_file, unnamed ? " is not beside the files" : ""));
    if (kind.label_bytes > 1) out.push_back("the label is the fine one; the coarse one is not used");
    return out;
}

}  // namespace

ImportReport import_cifar_files(ImportOptions const& options) {
    check_import_options(options);
    auto const paths = cifar_files_of(options);
    auto const kind = kind_of(paths);
    std::vector<CifarFile> files;
    for (auto const& path : paths) files.push_back(read_labels(path, kind));
    auto const description = describe(options, paths, kind);
    DatasetWriter writer(options.out, description, place(options, files, kind), options.progress);
    writer.decide(decisions(files, description, kind));
    for (auto const& file : files)
        for_each_record(file.path, kind, [&](std::uint8_t label, auto pixels) {
            std::array const target{static_cast<double>(label)};
            writer.add(pixels, target);
        });
    return {writer.finish(), 0, {}, 0};
}

}  // namespace hopscotch
