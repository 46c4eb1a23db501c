// SPDX-License-Identifier: Apache-2.0
#include "data/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/hdf5_file.hpp"
#include "data/shard_layout.hpp"
#include "data/shard_writer.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_piece_bytes = 4 << 20;
constexpr std::int64_t k_spelled_out = 10;  // failures of values in one file

class FileVerifier {
public:
    FileVerifier(std::filesystem::path path, Manifest const& manifest, VerifyReport& report)
        : path_(std::move(path)), manifest_(manifest), report_(report) {}

    void verify(ShardFile const& file) try {
        if (std::filesystem::exists(path_)) {
            report_.bytes += static_cast<std::int64_t>(std::filesystem::file_size(path_));
            if (auto const hash = hash_file(path_); hash != file.xxh64)
                fail(
                    fmt::format("hash is {} (dataset.json says {}) the file was changed", to_hex(hash), to_hex(file.xxh64)));
        }
        auto const open = Hdf5File::open(path_);
        check_layout(open, path_, file, manifest_);
        auto const piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(k_piece_bytes / row_bytes(manifest_)));
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
        if (manifest_.type == FeatureType::float32) check_finite(open, "/features", first, rows, manifest_.row_size());
        if (manifest_.type == FeatureType::uint8) read<std::uint8_t>(open, "/features", first, rows, manifest_.row_size());
        if (manifest_.task == Task::regression) return check_finite(open, "/labels", first, rows, manifest_.outputs);
        auto const labels = read<std::int64_t>(open, "/labels", first, rows, 1);
        for (std::int64_t i = 0; i < rows; ++i)
            if (auto const label = labels[static_cast<std::size_t>(i)]; label < 0 || label >= manifest_.outputs)
                fail_row(first + i,
                         fmt::format("label {} is out of range (dataset.json says {} classes)", label, manifest_.outputs));
    }

    // One failure for each row, naming its first bad element.
    void check_finite(Hdf5File const& open, std::string const& name, std::int64_t first, std::int64_t rows,
                      std::int64_t width) {
        auto const values = read<float>(open, name, first, rows, width);
        for (std::int64_t i = 0; i < rows; ++i) {
            auto const row = std::span(values).subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
            auto const bad = std::find_if_not(row.begin(), row.end(), [](float value) { return std::isfinite(value); });
            if (bad != row.end())
                fail_row(first + i,
                         fmt::format("element {} of '{}' is {} (not a finite number)", bad - row.begin(), name, *bad));
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
    std::int64_t bad_values_ = 0;
};

}  // namespace

VerifyReport verify_files(std::filesystem::path const& directory) {
    auto const manifest = read_manifest(directory);
    VerifyReport report;
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split)) FileVerifier(directory / file.file, manifest, report).verify(file);
    return report;
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
