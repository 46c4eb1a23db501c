// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "data/shard_layout.hpp"
#include "data/shard_writer.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_buffers_bytes = 128 << 20;  // all spill buffers together
constexpr std::size_t k_piece_rows = 4096;          // read from a spill at once

// A spilled row: [features | position | label]. Spills never outlive the process, so the layout is the machine's.
struct RecordTail {
    double label = 0;
    std::uint32_t position = 0;
};

fs::path beside(fs::path const& out) {
    auto const name = out.filename().empty() ? out.parent_path() : out;
    return name.parent_path() / fmt::format("{}.{}.tmp", name.filename().string(), getpid());
}

}  // namespace

void require_free(fs::path const& out) {
    if (fs::exists(out) && !(fs::is_directory(out) && fs::is_empty(out)))
        throw ConfigError(
            fmt::format("{}: exists already (an import never overwrites) remove it or choose another --out", out.string()));
}

DatasetWriter::DatasetWriter(fs::path out, Manifest description, Placement placement)
    : out_(std::move(out)),
      unfinished_(beside(out_)),
      manifest_(std::move(description)),
      placement_(std::move(placement)),
      row_bytes_(row_bytes(manifest_)),
      record_bytes_(row_bytes_ + sizeof(RecordTail)),
      buffer_bytes_(std::clamp(k_buffers_bytes / placement_.rows.size(), record_bytes_,
                               std::max<std::size_t>(1 << 20, record_bytes_))),
      spills_(placement_.rows.size()),
      stats_(static_cast<std::size_t>(manifest_.row_size())) {
    require_free(out_);
    std::error_code refused;
    fs::create_directories(unfinished_, refused);
    if (refused)
        throw ConfigError(fmt::format("{}: cannot be made ({}) choose an --out that can be written", unfinished_.string(),
                                      refused.message()));
}

DatasetWriter::~DatasetWriter() {
    std::error_code ignored;
    fs::remove_all(unfinished_, ignored);
}

fs::path DatasetWriter::spill_path(std::size_t file) const { return unfinished_ / fmt::format("spill-{:05d}", file); }

void DatasetWriter::flush(std::size_t file) {
    auto& buffer = spills_[file].buffer;
    std::ofstream out(spill_path(file), std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<char const*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
    out.close();
    if (!out) throw DataError(fmt::format("{}: cannot be written; check free space", spill_path(file).string()));
    buffer.clear();
}

void DatasetWriter::add(std::span<float const> features, double label) {
    require(next_row_ < placement_.places.size(), "more rows than were placed");
    auto const place = placement_.places[next_row_++];
    auto& spill = spills_[place.file];
    if (spill.buffer.size() + record_bytes_ > buffer_bytes_) flush(place.file);
    auto const at = spill.buffer.size();
    spill.buffer.resize(at + record_bytes_);
    auto* record = spill.buffer.data() + at;
    if (manifest_.type == FeatureType::uint8)
        for (std::size_t i = 0; i < features.size(); ++i) record[i] = static_cast<std::byte>(features[i]);
    else
        std::memcpy(record, features.data(), row_bytes_);
    RecordTail const tail{label, place.position};
    std::memcpy(record + row_bytes_, &tail, sizeof tail);
    ++spill.rows;
    if (place.file < static_cast<std::size_t>(placement_.shards)) stats_.add(features);
}

void DatasetWriter::fill_missing(std::span<std::byte> row) const {
    for (std::size_t i = 0; i < row.size() / sizeof(float); ++i) {
        float value;
        std::memcpy(&value, row.data() + i * sizeof value, sizeof value);
        if (!std::isnan(value)) continue;
        value = static_cast<float>(stats_.mean()[i]);
        std::memcpy(row.data() + i * sizeof value, &value, sizeof value);
    }
}

ShardFile DatasetWriter::write_shard(std::size_t file, std::string const& name) const {
    auto const rows = static_cast<std::size_t>(placement_.rows[file]);
    std::vector<std::byte> features(rows * row_bytes_), piece(k_piece_rows * record_bytes_);
    std::vector<std::int64_t> labels(manifest_.task == Task::classification ? rows : 0);
    std::vector<float> targets(manifest_.task == Task::regression ? rows : 0);
    std::ifstream in(spill_path(file), std::ios::binary);
    for (std::size_t done = 0; done < rows;) {
        auto const count = std::min(k_piece_rows, rows - done);
        if (!in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(count * record_bytes_)))
            throw DataError(fmt::format("{}: cannot be read back; check the disk", spill_path(file).string()));
        for (std::size_t i = 0; i < count; ++i) {
            auto const* record = piece.data() + i * record_bytes_;
            RecordTail tail;
            std::memcpy(&tail, record + row_bytes_, sizeof tail);
            std::span const row(features.data() + tail.position * row_bytes_, row_bytes_);
            std::memcpy(row.data(), record, row_bytes_);
            if (manifest_.type == FeatureType::float32) fill_missing(row);
            if (manifest_.task == Task::classification)
                labels[tail.position] = static_cast<std::int64_t>(tail.label);
            else
                targets[tail.position] = static_cast<float>(tail.label);
        }
        done += count;
    }
    ShardWriter writer(unfinished_ / name, manifest_, placement_.rows[file]);
    if (manifest_.task == Task::classification)
        writer.append(features, labels);
    else
        writer.append(features, targets);
    return writer.finish();
}

Manifest DatasetWriter::finish() {
    require(next_row_ == placement_.places.size(), "fewer rows than were placed");
    auto const shards = static_cast<std::size_t>(placement_.shards);
    for (std::size_t file = 0; file < spills_.size(); ++file) {
        flush(file);
        spills_[file].buffer = {};
    }
    auto const channels = manifest_.shape.size() == 3;
    auto const run = channels ? static_cast<std::size_t>(manifest_.shape[1] * manifest_.shape[2]) : std::size_t{1};
    auto moments = stats_.moments(run);
    manifest_.mean = std::move(moments.mean);
    manifest_.stddev = std::move(moments.stddev);
    for (std::size_t file = 0; file < spills_.size(); ++file) {
        auto& list = file < shards ? manifest_.train : manifest_.valid;
        list.push_back(write_shard(file, fmt::format("{}-{:05d}.h5", file < shards ? "train" : "valid", list.size())));
        fs::remove(spill_path(file));
    }
    write_manifest(unfinished_, manifest_);
    std::error_code refused;
    fs::rename(unfinished_, out_.filename().empty() ? out_.parent_path() : out_, refused);  // replaces an empty directory
    if (refused)
        throw DataError(
            fmt::format("{}: cannot be renamed to {} ({})", unfinished_.string(), out_.string(), refused.message()));
    return manifest_;
}

}  // namespace hopscotch
