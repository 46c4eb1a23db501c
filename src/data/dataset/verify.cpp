// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "data/dataset/feature_stats.hpp"
#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/shard_layout.hpp"
#include "data/dataset/source_rows.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_verified_bytes = 4 << 20;
constexpr std::int64_t k_spelled_out = 10;  // failures of values in one file
constexpr double k_tolerance = 1e-4;        // of mean and stddev, relative; sums depend on the order of the rows

std::string wrong_hash(std::filesystem::path const& path, std::uint64_t found, std::uint64_t said) {
    return fmt::format("{}: hash is {} (dataset.json says {}); restore the file, or import the dataset again", path.string(),
                       to_hex(found), to_hex(said));
}

class FileVerifier {
public:
    // stats: collects the rows, made with the first of them; null: the rows are not collected.
    FileVerifier(std::filesystem::path path, Manifest const& manifest, VerifyReport& report,
                 std::optional<FeatureStats>* stats)
        : path_(std::move(path)), manifest_(manifest), report_(report), stats_(stats) {}

    void verify(ShardFile const& file) try {
        if (std::error_code refused; std::filesystem::is_regular_file(path_, refused)) {
            check_length(path_, file, manifest_);
            report_.bytes += static_cast<std::int64_t>(std::filesystem::file_size(path_));
            if (auto const hash = hash_file(path_); hash != file.xxh64)
                report_.failures.push_back(wrong_hash(path_, hash, file.xxh64));
        }
        auto const open = Hdf5File::open(path_);
        check_layout(open, path_, file, manifest_);
        if (stats_ != nullptr && !*stats_) stats_->emplace(static_cast<std::size_t>(manifest_.row_size()), manifest_.type);
        auto const piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(k_verified_bytes / row_bytes(manifest_)));
        for (std::int64_t first = 0; first < file.rows; first += piece)
            check_rows(open, first, std::min(piece, file.rows - first));
        report_.rows += file.rows;
        if (bad_values_ > k_spelled_out) fail(fmt::format("{} more rows with bad values", bad_values_ - k_spelled_out));
    } catch (DataError const& error) {
        report_.failures.emplace_back(error.what());  // names the file itself
    }

private:
    void fail(std::string_view problem) { report_.failures.push_back(fmt::format("{}: {}", path_.string(), problem)); }

    void fail_row(std::int64_t row, std::string_view problem) {
        if (++bad_values_ <= k_spelled_out) fail(fmt::format("row {}: {}", row, problem));
    }

    void check_rows(Hdf5File const& open, std::int64_t first, std::int64_t rows) {
        if (manifest_.type == FeatureType::float32)
            check_features(read<float>(open, "/features", first, rows, manifest_.row_size()), first);
        else
            check_features(read<std::uint8_t>(open, "/features", first, rows, manifest_.row_size()), first);
        if (!has_labels(manifest_.task)) return check_targets(open, first, rows);
        auto const labels = read<std::int64_t>(open, "/labels", first, rows, 1);
        for (std::int64_t i = 0; i < rows; ++i)
            if (auto const label = labels[static_cast<std::size_t>(i)]; label < 0 || label >= manifest_.outputs)
                fail_row(first + i, fmt::format("label {} is out of range (dataset.json says {} {})", label,
                                                manifest_.outputs, classes_word(manifest_.task)));
    }

    // One failure for each row, naming its first bad element.
    template <class T>
    void check_features(std::vector<T> const& values, std::int64_t first) {
        auto const width = static_cast<std::size_t>(manifest_.row_size());
        for (std::size_t i = 0; i * width < values.size(); ++i) {
            auto const row = std::span(values).subspan(i * width, width);
            if (stats_ != nullptr) (*stats_)->add(row);
            auto const place = first + static_cast<std::int64_t>(i);
            if (check_finite(row, "/features", place)) check_categories(row, place);
        }
    }

    template <class T>
    bool check_finite(std::span<T const> row, std::string_view name, std::int64_t place) {
        if constexpr (std::is_integral_v<T>) return true;
        auto const bad = std::find_if_not(row.begin(), row.end(), [](auto value) { return std::isfinite(value); });
        if (bad == row.end()) return true;
        fail_row(place, fmt::format("element {} of '{}' is {} (not a finite number)", bad - row.begin(), name, *bad));
        return false;
    }

    template <class T>
    void check_categories(std::span<T const> row, std::int64_t place) {
        auto const& categories = manifest_.categories;
        for (std::size_t i = 0; i < row.size() && !categories.empty(); ++i) {
            auto const count = categories[categories.size() == 1 ? 0 : i];
            auto const value = static_cast<double>(row[i]);
            if (count == 0 || (value >= 0 && value < static_cast<double>(count) && value == std::floor(value))) continue;
            return fail_row(place, fmt::format("element {} of '/features' is {} (dataset.json says a category, 0 to {})", i,
                                               row[i], count - 1));
        }
    }

    void check_targets(Hdf5File const& open, std::int64_t first, std::int64_t rows) {
        auto const values = read<float>(open, "/labels", first, rows, manifest_.outputs);
        auto const width = static_cast<std::size_t>(manifest_.outputs);
        for (std::size_t i = 0; i * width < values.size(); ++i) {
            auto const row = std::span(values).subspan(i * width, width);
            auto const place = first + static_cast<std::int64_t>(i);
            if (!check_finite(row, "/labels", place) || manifest_.task != Task::multilabel) continue;
            auto const bad = std::find_if_not(row.begin(), row.end(), [](float value) { return value == 0 || value == 1; });
            if (bad != row.end())
                fail_row(place, fmt::format("element {} of '/labels' is {} (multilabel: 0 or 1)", bad - row.begin(), *bad));
        }
    }

    template <class T>
    std::vector<T> read(Hdf5File const& open, std::string const& name, std::int64_t first, std::int64_t rows,
                        std::int64_t width) const {
        std::vector<T> values(static_cast<std::size_t>(rows * width));
        open.read_rows(name, first, rows, std::as_writable_bytes(std::span(values)));
        return values;
    }

    std::filesystem::path path_;
    Manifest const& manifest_;
    VerifyReport& report_;
    std::optional<FeatureStats>* stats_;
    std::int64_t bad_values_ = 0;
};

// Only if all rows are there and sound: otherwise the difference would only repeat earlier failures.
void check_moments(std::filesystem::path const& directory, Manifest const& manifest, FeatureStats const& stats,
                   VerifyReport& report) {
    auto const found = recorded_moments(manifest, stats);
    for (std::size_t i = 0; i < found.mean.size(); ++i) {
        auto const off = [&](double is, double says) {  // a mean near 0 is as exact as its stddev
            return std::abs(is - says) > k_tolerance * std::max(std::abs(is), found.stddev[i]);
        };
        if (!off(found.mean[i], manifest.features.mean[i]) && !off(found.stddev[i], manifest.features.stddev[i])) continue;
        return report.failures.push_back(
            fmt::format("{}: mean and stddev of {} {} are {:.6g} and {:.6g} (dataset.json says {:.6g} and {:.6g}); import "
                        "the dataset again",
                        directory.string(), manifest.shape.size() == 3 ? "channel" : "feature", i, found.mean[i],
                        found.stddev[i], manifest.features.mean[i], manifest.features.stddev[i]));
    }
}

void verify_source_rows(std::filesystem::path const& directory, Manifest const& manifest, VerifyReport& report) try {
    auto const path = directory / manifest.source_rows->file;
    read_source_rows(directory, manifest);
    report.bytes += static_cast<std::int64_t>(std::filesystem::file_size(path));
    if (auto const hash = hash_file(path); hash != manifest.source_rows->xxh64)
        report.failures.push_back(wrong_hash(path, hash, manifest.source_rows->xxh64));
} catch (DataError const& error) {
    report.failures.emplace_back(error.what());
}

}  // namespace

VerifyReport verify_files(std::filesystem::path const& directory) {
    auto const manifest = read_manifest(directory);
    VerifyReport report;
    std::optional<FeatureStats> stats;
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split))
            FileVerifier(directory / file.file, manifest, report, split == Split::train ? &stats : nullptr).verify(file);
    if (manifest.source_rows) verify_source_rows(directory, manifest, report);
    if (report.failures.empty() && stats) check_moments(directory, manifest, *stats, report);
    return report;
}

std::string links_out_of(std::filesystem::path const& directory, Manifest const& manifest) {
    namespace fs = std::filesystem;
    std::error_code refused;
    auto const home = fs::weakly_canonical(directory, refused);
    std::string first;
    int more = 0;
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split)) {
            if (!fs::is_symlink(directory / file.file, refused)) continue;
            auto const target = fs::weakly_canonical(directory / file.file, refused);
            if (refused || target.parent_path() == home) continue;
            if (!first.empty())
                ++more;
            else
                first = fmt::format("{} leads to {}", file.file, target.string());
        }
    return more == 0 ? first : fmt::format("{} (and {} more)", first, more);
}

SplitSummary summarise(std::filesystem::path const& directory, Manifest const& manifest, Split split) {
    SplitSummary out;
    for (auto const& file : manifest.files(split)) {
        out.smallest = out.shards == 0 ? file.rows : std::min(out.smallest, file.rows);
        out.largest = std::max(out.largest, file.rows);
        out.rows += file.rows;
        ++out.shards;
        std::error_code refused;
        auto const bytes = std::filesystem::file_size(directory / file.file, refused);
        if (refused)
            ++out.absent;
        else
            out.bytes += static_cast<std::int64_t>(bytes);
    }
    return out;
}

}  // namespace hopscotch
