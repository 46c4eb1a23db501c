// SPDX-License-Identifier: Apache-2.0
#include "cli/data/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/clock.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/quantity_text.hpp"
#include "data/dataset/verify.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

void print_split(std::filesystem::path const& directory, Manifest const& manifest, Split split, std::string_view name) {
    auto const s = summarise(directory, manifest, split);
    if (s.shards == 0) return;
    auto const each =
        s.smallest == s.largest ? fmt::format("{}", s.smallest) : fmt::format("{} to {}", s.smallest, s.largest);
    fmt::print("{:<12}{:>10} rows {:>6} shards of {:<16} {:>10}{}\n", name, s.rows, s.shards, each,
               bytes_text(static_cast<std::uint64_t>(s.bytes)),
               s.absent > 0 ? fmt::format("  ({} files are missing)", s.absent) : "");
}

void print_range(std::string_view name, std::vector<double> const& values) {
    if (values.size() == 1) {
        fmt::print("{:<12}{:.4g}\n", name, values[0]);
        return;
    }
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    fmt::print("{:<12}{:.4g} to {:.4g} ({} numbers)\n", name, *low, *high, values.size());
}

std::string named(std::string text, Manifest const& manifest) {
    if (manifest.class_names.empty()) return text;
    auto const shown = std::min<std::size_t>(manifest.class_names.size(), 10);
    auto const first = std::span(manifest.class_names).first(shown);
    return text + fmt::format(" ({}{})", printable(fmt::format("{}", fmt::join(first, ", "))),
                              shown < manifest.class_names.size() ? ", ..." : "");
}

std::string task_text(Manifest const& manifest) {
    if (manifest.task == Task::regression)
        return fmt::format("regression, {} target{}", manifest.outputs, manifest.outputs == 1 ? "" : "s");
    if (manifest.task == Task::multilabel) return named(fmt::format("multilabel, {} labels", manifest.outputs), manifest);
    if (manifest.task == Task::language) return fmt::format("language, {} tokens", manifest.outputs);
    return named(fmt::format("classification, {} classes", manifest.outputs), manifest);
}

// The account of the import. most: this many lines; the others are counted.
void print_decisions(std::vector<std::string> const& decisions, std::size_t most) {
    if (decisions.empty()) return;
    fmt::print("what the import decided\n");
    for (std::size_t i = 0; i < std::min(decisions.size(), most); ++i) fmt::print("  {}\n", printable(decisions[i]));
    if (decisions.size() > most)
        fmt::print("  ... and {} more, which 'hopscotch data inspect' shows\n", decisions.size() - most);
}

// One line a key; on a terminal, long lists (the names of all features) are cut.
void print_provenance(Json const& provenance) {
    if (!provenance.is_object()) return;
    bool const terminal = terminal_of(1).kind == Terminal::Kind::live;
    for (auto const& member : provenance.object()) {
        auto text = member.value.is_string() ? member.value.string() : member.value.dump();
        if (terminal && text.size() > 90) text = text.substr(0, 87) + "... (whole in a pipe)";
        fmt::print("  {:<14}{}\n", printable(member.key), printable(text));
    }
}

void print_links(std::filesystem::path const& directory, Manifest const& manifest) {
    if (auto const links = links_out_of(directory, manifest); !links.empty())
        fmt::print("{:<12}shards are links out of the directory: {}\n", "note", links);
}

void print_dataset(std::filesystem::path const& directory, Manifest const& manifest) {
    fmt::print("{:<12}{}\n", "dataset", directory.string());
    fmt::print("{:<12}{}\n", "task", task_text(manifest));
    fmt::print("{:<12}{} {}\n", "row", fmt::join(manifest.shape, " x "),
               manifest.type == FeatureType::uint8 ? "uint8" : "float32");
    print_split(directory, manifest, Split::train, "train");
    print_split(directory, manifest, Split::valid, "valid");
    print_split(directory, manifest, Split::test, "test");
    print_range("mean", manifest.features.mean);
    print_range("stddev", manifest.features.stddev);
    fmt::print("{:<12}{}\n{:<12}{}\n", "seed", manifest.origin.seed, "hash", to_hex(dataset_hash(manifest)));
}

}  // namespace

int report_import(std::filesystem::path const& directory, ImportReport const& report, double seconds) {
    auto const& manifest = report.manifest;
    constexpr std::size_t k_most_decisions = 30;
    print_dataset(directory, manifest);
    print_decisions(manifest.origin.decisions, k_most_decisions);
    if (auto const* ignored = manifest.origin.provenance.find("ignored_files"); ignored != nullptr && ignored->integer() > 0)
        fmt::print("{:<12}{} files that are not .jpg, .jpeg or .png\n", "ignored", ignored->integer());
    if (report.skipped_files > 0) fmt::print("{:<12}{} files that cannot be decoded\n", "skipped", report.skipped_files);
    for (auto const& file : report.skipped) fmt::print("  {}\n", printable(file));
    if (auto const listed = static_cast<std::int64_t>(report.skipped.size()); report.skipped_files > listed)
        fmt::print("  ... and {} more\n", report.skipped_files - listed);
    auto const rows = manifest.rows(Split::train) + manifest.rows(Split::valid) + manifest.rows(Split::test);
    fmt::print("imported in {:.1f} s ({:.0f} {}/s)\n", seconds, static_cast<double>(rows) / seconds,
               manifest.shape.size() == 3 ? "images" : "rows");
    return 0;
}

int inspect_dataset(std::filesystem::path const& directory) {
    auto const manifest = read_manifest(directory);
    print_dataset(directory, manifest);
    print_links(directory, manifest);
    print_decisions(manifest.origin.decisions, manifest.origin.decisions.size());
    fmt::print("provenance\n");
    print_provenance(manifest.origin.provenance);
    return 0;
}

int verify_dataset(std::filesystem::path const& directory) {
    auto const start = monotonic_s();
    auto const report = verify_files(directory);
    print_links(directory, read_manifest(directory));
    for (auto const& failure : report.failures) fmt::print("{}\n", printable(failure));
    if (!report.failures.empty()) {
        fmt::print("{}: {} failure{}\n", directory.string(), report.failures.size(), report.failures.size() == 1 ? "" : "s");
        return 1;
    }
    fmt::print("{}: ok, {} rows, {} read in {:.2f} s\n", directory.string(), report.rows,
               bytes_text(static_cast<std::uint64_t>(report.bytes)), monotonic_s() - start);
    return 0;
}

}  // namespace hopscotch
