// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_row_features = 1 << 28;  // sizes of shards stay far below 2^63

constexpr std::string_view k_again = "import the dataset again";

Json to_json(ShardFile const& file) {
    return Json::object({{"file", file.file}, {"rows", file.rows}, {"xxh64", to_hex(file.xxh64)}});
}

Json shards_json(std::vector<ShardFile> const& files) {
    Json::Array out;
    for (auto const& file : files) out.push_back(to_json(file));
    return Json(std::move(out));
}

constexpr std::pair<Task, std::string_view> k_tasks[] = {{Task::classification, "classification"},
                                                         {Task::regression, "regression"},
                                                         {Task::multilabel, "multilabel"},
                                                         {Task::language, "language"}};

Json to_json(Manifest const& manifest) {
    auto out =
        Json::object({{"format", k_dataset_format},
                      {"task", std::string(name_of(manifest.task))},
                      {"shape", manifest.shape},
                      {"type", manifest.type == FeatureType::uint8 ? "uint8" : "float32"},
                      {"outputs", manifest.outputs},
                      {"class_names", manifest.class_names},
                      {"categories", manifest.categories},
                      {"seed", static_cast<std::int64_t>(manifest.origin.seed)},  // from 2^63 on negative, and read back so
                      {"train", shards_json(manifest.train)},
                      {"valid", shards_json(manifest.valid)},
                      {"test", shards_json(manifest.test)},
                      {"mean", manifest.features.mean},
                      {"stddev", manifest.features.stddev}});
    // The hash of an older dataset, which has none of these, stays as it was.
    for (auto const& [key, counts] : {std::pair{"train_counts", &manifest.class_rows.train},
                                      {"valid_counts", &manifest.class_rows.valid},
                                      {"test_counts", &manifest.class_rows.test}})
        if (!counts->empty()) out[key] = *counts;
    if (!manifest.features.offset.empty()) out["feature_offset"] = manifest.features.offset;
    if (!manifest.targets.mean.empty()) out["target_mean"] = manifest.targets.mean;
    if (!manifest.targets.stddev.empty()) out["target_stddev"] = manifest.targets.stddev;
    if (manifest.source_rows) out["source_rows"] = to_json(*manifest.source_rows);
    if (!manifest.origin.decisions.empty()) out["decisions"] = manifest.origin.decisions;
    out["provenance"] = manifest.origin.provenance;
    return out;
}

bool is_list_of_objects(Json const& json) {
    return json.is_array() && !json.array().empty() && json.array().front().is_object();
}

// A line for each key and for each shard: readable, and still short with a thousand means.
std::string pretty(Json const& document) {
    std::string out = "{";
    for (auto const& member : document.object()) {
        out += fmt::format("{}\n  \"{}\": ", out.size() > 1 ? "," : "", member.key);
        if (!is_list_of_objects(member.value)) {
            out += member.value.dump();
            continue;
        }
        std::string lines;
        for (auto const& item : member.value.array()) lines += (lines.empty() ? "\n    " : ",\n    ") + item.dump();
        out += "[" + lines + "\n  ]";
    }
    return out + "\n}\n";
}

// Collects the errors of one dataset.json; `format` is checked before anything else.
class ManifestReader {
public:
    ManifestReader(Json const& document, Problems& problems) : problems_(problems), reader_(document, "", problems) {}

    Manifest read() {
        std::int64_t format = 0;
        reader_.read("format", format);
        read_rows_layout();
        read_shards("train", manifest_.train);
        read_shards("valid", manifest_.valid);
        read_shards("test", manifest_.test);
        if (auto const* rows = reader_.take("source_rows")) manifest_.source_rows = read_file(*rows, "/source_rows");
        std::int64_t seed = 0;
        reader_.read("seed", seed);
        manifest_.origin.seed = static_cast<std::uint64_t>(seed);
        if (auto const* provenance = reader_.take("provenance")) manifest_.origin.provenance = *provenance;
        reader_.read("decisions", manifest_.origin.decisions);
        reader_.finish();
        if (problems_.empty()) check();
        return std::move(manifest_);
    }

private:
    void read_rows_layout() {
        std::string task, type;
        std::vector<std::string> tasks;
        for (auto const& [value, name] : k_tasks) tasks.emplace_back(name);
        need("task", [&](std::string_view key) { reader_.read(key, task, one_of(tasks)); });
        need("type", [&](std::string_view key) { reader_.read(key, type, one_of({"uint8", "float32"})); });
        need("shape", [&](std::string_view key) { reader_.read(key, manifest_.shape, between(1, 1 << 30)); });
        need("outputs", [&](std::string_view key) { reader_.read(key, manifest_.outputs, between(1, 1 << 30)); });
        reader_.read("class_names", manifest_.class_names);
        reader_.read("categories", manifest_.categories, between(0, 1 << 24));
        reader_.read("train_counts", manifest_.class_rows.train, at_least(0));
        reader_.read("valid_counts", manifest_.class_rows.valid, at_least(0));
        reader_.read("test_counts", manifest_.class_rows.test, at_least(0));
        if (reader_.has("feature_offset")) read_numbers("feature_offset", manifest_.features.offset);
        if (reader_.has("target_mean")) read_numbers("target_mean", manifest_.targets.mean);
        if (reader_.has("target_stddev")) read_numbers("target_stddev", manifest_.targets.stddev);
        read_numbers("mean", manifest_.features.mean);
        read_numbers("stddev", manifest_.features.stddev);
        for (auto const& [value, name] : k_tasks)
            if (task == name) manifest_.task = value;
        manifest_.type = type == "uint8" ? FeatureType::uint8 : FeatureType::float32;
    }

    void need(std::string_view key, std::function<void(std::string_view)> const& read) {
        if (reader_.has(key))
            read(key);
        else
            reader_.missing(key, k_again);
    }

    void read_numbers(std::string_view key, std::vector<double>& out) {
        auto const* list = reader_.take(key);
        if (list == nullptr) return reader_.missing(key, k_again);
        if (!list->is_array())
            return reader_.problem(key, fmt::format("expected an array of numbers (got {})", list->kind()));
        for (auto const& item : list->array()) {
            if (!item.is_number())
                return reader_.problem(key, fmt::format("expected numbers (got {}); {}", item.kind(), k_again));
            out.push_back(item.number());
        }
    }

    void read_shards(std::string_view key, std::vector<ShardFile>& out) {
        auto const* list = reader_.take(key);
        if (list == nullptr) return reader_.missing(key, k_again);
        if (!list->is_array())
            return reader_.problem(key, fmt::format("expected an array of shards (got {})", list->kind()));
        for (auto const& item : list->array()) out.push_back(read_file(item, fmt::format("/{}/{}", key, out.size())));
    }

    ShardFile read_file(Json const& item, std::string const& path) {
        ObjectReader reader(item, path, problems_);
        ShardFile file;
        std::string hash;
        reader.read("file", file.file);
        reader.read("rows", file.rows, up_to(UINT32_MAX, at_least(0)));  // rows are counted in 32 bits
        reader.read("xxh64", hash);
        if (file.file.empty() || file.file == "." || file.file == ".." || file.file.find('/') != file.file.npos)
            reader.problem("file", fmt::format("'{}' is not the name of a file beside dataset.json", file.file));
        try {
            file.xxh64 = from_hex(hash);
        } catch (Error const&) {
            reader.problem("xxh64", fmt::format("'{}' is not a hash (a hash has sixteen hex digits)", hash));
        }
        reader.finish();
        return file;
    }

    void check() {
        check_rows(manifest_, problems_);
        if (manifest_.train.empty()) problems_.add("there are no training shards");
        for (auto const split : {Split::train, Split::valid, Split::test}) {
            std::set<std::string> names;
            for (auto const& file : manifest_.files(split))
                if (!names.insert(file.file).second) return problems_.add(fmt::format("names '{}' twice", file.file));
        }
    }

    Manifest manifest_;
    Problems& problems_;
    ObjectReader reader_;
};

}  // namespace

std::string_view name_of(Task task) {
    for (auto const& [value, name] : k_tasks)
        if (value == task) return name;
    return "";
}

std::int64_t Manifest::row_size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Manifest::rows(Split split) const {
    std::int64_t sum = 0;
    for (auto const& file : files(split)) sum += file.rows;
    return sum;
}

std::vector<ShardFile> const& Manifest::files(Split split) const {
    return split == Split::train ? train : split == Split::valid ? valid : test;
}

Manifest read_manifest(std::filesystem::path const& directory) {
    auto const path = directory / "dataset.json";
    std::error_code refused;  // also for a name that is too long
    if (!std::filesystem::exists(directory, refused))
        throw DataError(
            fmt::format("{}: no such dataset directory; make one with 'hopscotch data import'", directory.string()));
    if (!std::filesystem::exists(path, refused))
        throw DataError(
            fmt::format("{}: not a dataset directory (it has no dataset.json); make one with 'hopscotch data import'",
                        directory.string()));
    auto const document = parse_json_or_throw(read_whole(path), path.string());
    auto const* format = document.find("format");
    if (format == nullptr || !format->is_integer())
        throw DataError(fmt::format("{}: not a dataset description (no integer 'format'); {}", path.string(), k_again));
    if (format->integer() != k_dataset_format)
        throw DataError(fmt::format(
            "{}: dataset format {} is not supported (this build reads {}; another version of hopscotch wrote it); import "
            "the dataset again",
            path.string(), format->integer(), k_dataset_format));
    Problems problems(path.string());
    auto manifest = ManifestReader(document, problems).read();
    if (!problems.empty()) throw DataError(problems.text());
    return manifest;
}

void write_manifest(std::filesystem::path const& directory, Manifest const& manifest) {
    fault_point("import.manifest");
    auto const path = directory / "dataset.json";
    auto const unfinished = directory / "dataset.json.tmp";
    std::ofstream out(unfinished, std::ios::binary);
    out << pretty(to_json(manifest));
    out.close();
    if (!out) throw DataError(fmt::format("{}: cannot be written; check free space and permissions", path.string()));
    std::filesystem::rename(unfinished, path);
}

void check_rows(Manifest const& m, Problems& problems) {
    if (m.shape.empty()) problems.add("shape is empty (a row has at least one feature)");
    if (std::ranges::any_of(m.shape, [](auto side) { return side < 1; }) || m.outputs < 1)
        return problems.add("shape or outputs has a number below 1 (a row has at least one feature and one output)");
    if (std::accumulate(m.shape.begin(), m.shape.end(), 1.0, std::multiplies<>()) > k_most_row_features)
        return problems.add(fmt::format("shape says that a row has more than {} features", k_most_row_features));
    auto const scales = static_cast<std::size_t>(m.shape.size() == 3 ? m.shape[0] : m.row_size());
    if (m.features.mean.size() != scales || m.features.stddev.size() != scales)
        problems.add(fmt::format("mean and stddev have {} and {} numbers (the shape asks for {})", m.features.mean.size(),
                                 m.features.stddev.size(), scales));
    for (auto const value : m.features.stddev)
        if (!(value > 0)) return problems.add(fmt::format("stddev {} must be > 0", value));
    if (m.categories.size() > 1 && static_cast<std::int64_t>(m.categories.size()) != m.row_size())
        problems.add(fmt::format("categories has {} numbers (one a feature: {}; or a single one)", m.categories.size(),
                                 m.row_size()));
    auto const outputs = static_cast<std::size_t>(m.outputs);
    for (auto const* counts : {&m.class_rows.train, &m.class_rows.valid, &m.class_rows.test})
        if (!counts->empty() && counts->size() != outputs)
            problems.add(fmt::format("counts of {} classes (there are {})", counts->size(), outputs));
    if (!m.features.offset.empty() && static_cast<std::int64_t>(m.features.offset.size()) != m.row_size())
        problems.add(
            fmt::format("feature_offset has {} numbers (one a feature: {})", m.features.offset.size(), m.row_size()));
    bool const none = m.targets.mean.empty() && m.targets.stddev.empty();
    if (!none && (m.targets.mean.size() != outputs || m.targets.stddev.size() != outputs))
        problems.add(fmt::format("target_mean and target_stddev have {} and {} numbers ({} targets)", m.targets.mean.size(),
                                 m.targets.stddev.size(), outputs));
    for (auto const value : m.targets.stddev)
        if (!(value > 0)) return problems.add(fmt::format("target_stddev {} must be > 0", value));
    if (!m.class_names.empty() && static_cast<std::int64_t>(m.class_names.size()) != m.outputs)
        problems.add(fmt::format("{} class names for {} classes", m.class_names.size(), m.outputs));
}

double stored_target(Manifest const& manifest, std::size_t output, double in_units) {
    if (manifest.targets.mean.empty()) return in_units;
    return (in_units - manifest.targets.mean[output]) / manifest.targets.stddev[output];
}

std::string output_name(Manifest const& manifest, std::size_t output) {
    if (!manifest.class_names.empty()) return manifest.class_names[output];
    auto const* header = manifest.origin.provenance.is_object() ? manifest.origin.provenance.find("header") : nullptr;
    auto const* labels = header != nullptr && *header == Json(true) ? manifest.origin.provenance.find("label") : nullptr;
    if (manifest.task != Task::regression || labels == nullptr) return std::to_string(output);
    if (labels->is_array() && output < labels->array().size()) labels = &labels->array()[output];
    return labels->is_string() ? labels->string() : std::to_string(output);
}

double target_in_units(Manifest const& manifest, std::size_t output, double stored) {
    if (manifest.targets.mean.empty()) return stored;
    return stored * manifest.targets.stddev[output] + manifest.targets.mean[output];
}

std::uint64_t dataset_hash(Manifest const& manifest) {
    auto rows = manifest;
    for (auto* counts : {&rows.class_rows.train, &rows.class_rows.valid, &rows.class_rows.test}) counts->clear();
    rows.origin.decisions.clear();
    rows.source_rows.reset();
    auto const text = to_json(rows).dump();
    return xxh3(std::as_bytes(std::span(text)));
}

}  // namespace hopscotch
