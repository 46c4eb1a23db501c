// SPDX-License-Identifier: Apache-2.0
#include "data/import/dataset_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "data/dataset/shard_layout.hpp"
#include "data/dataset/shard_writer.hpp"
#include "data/dataset/source_rows.hpp"
#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_buffers_bytes = 128 << 20;   // all spill buffers together
constexpr std::size_t k_buffer_bytes = 1 << 20;      // one, at most
constexpr std::size_t k_spill_bytes = 4 << 20;       // read from a spill at once
constexpr std::size_t k_report_rows = 256;           // between two calls of progress
constexpr std::size_t k_most_watched_targets = 512;  // targets; a watch takes some 50 kB
using RowPosition = std::uint32_t;

fs::path without_slash(fs::path const& path) { return path.filename().empty() ? path.parent_path() : path; }

fs::path beside(fs::path const& out) {
    auto const name = without_slash(out);
    return name.parent_path() / fmt::format("{}.{}.tmp", name.filename().string(), random_word());
}

// Of a row, in a spill. Targets wait in double, until their mean is known.
std::size_t bytes_of_labels(Manifest const& manifest) {
    return has_labels(manifest.task) ? sizeof(std::int64_t) : sizeof(double) * static_cast<std::size_t>(manifest.outputs);
}

}  // namespace

void require_free(fs::path const& out) {
    if (fs::exists(out) && !(fs::is_directory(out) && fs::is_empty(out)))
        throw ConfigError(
            fmt::format("{}: exists already (an import never overwrites); remove it or choose another --out", out.string()));
}

DatasetWriter::DatasetWriter(fs::path out, Manifest description, Placement placement, Progress progress)
    : out_(std::move(out)),
      unfinished_(beside(out_)),
      manifest_(std::move(description)),
      placement_(std::move(placement)),
      progress_(std::move(progress)),
      row_bytes_(row_bytes(manifest_)),
      label_bytes_(bytes_of_labels(manifest_)),
      record_bytes_(row_bytes_ + label_bytes_ + sizeof(RowPosition)),
      buffer_bytes_(std::min(k_buffer_bytes, k_buffers_bytes / std::max<std::size_t>(placement_.files.size(), 1))),
      record_(record_bytes_),
      spills_(placement_.files.size()),
      stats_(static_cast<std::size_t>(manifest_.row_size()), manifest_.type),
      standardise_(manifest_.task == Task::regression),
      target_stats_(standardise_ ? static_cast<std::size_t>(manifest_.outputs) : 0),
      target_rounding_(std::min(target_stats_.size(), k_most_watched_targets)),
      counts_{&manifest_.class_rows.train, &manifest_.class_rows.valid, &manifest_.class_rows.test} {
    if (manifest_.task == Task::classification || manifest_.task == Task::multilabel)
        for (auto const& file : placement_.files)
            counts_[static_cast<std::size_t>(file.split)]->resize(static_cast<std::size_t>(manifest_.outputs));
    require_free(out_);
    std::error_code refused;
    fs::create_directories(unfinished_, refused);
    if (refused)
        throw ConfigError(fmt::format("{}: cannot be made ({}); choose an --out that can be written", unfinished_.string(),
                                      refused.message()));
}

DatasetWriter::~DatasetWriter() {
    std::error_code ignored;
    fs::remove_all(unfinished_, ignored);
}

fs::path DatasetWriter::spill_path(std::size_t file) const { return unfinished_ / fmt::format("spill-{:05d}", file); }

void DatasetWriter::write_spill(std::size_t file, ByteView bytes) const {
    std::ofstream out(spill_path(file), std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw DataError(fmt::format("{}: cannot be written; check free space", spill_path(file).string()));
}

void DatasetWriter::report() const {
    if (progress_) progress_(static_cast<std::int64_t>(next_row_), static_cast<std::int64_t>(placement_.places.size()));
}

bool DatasetWriter::trains(std::size_t row) const {
    return placement_.files[placement_.places[row].file].split == Split::train;
}

std::span<std::byte> DatasetWriter::begin_record() {
    require(next_row_ < placement_.places.size(), "more rows than were placed");
    if (next_row_ % k_report_rows == 0) report();
    return std::span(record_).first(row_bytes_);
}

void DatasetWriter::add(std::span<float const> features, std::span<double const> labels) {
    auto const row = begin_record();
    if (manifest_.type == FeatureType::uint8) {
        auto* const bytes = reinterpret_cast<std::uint8_t*>(row.data());
        require(features.size() == row.size(), "a row does not have the size of its shape");
        for (std::size_t i = 0; i < row.size(); ++i) bytes[i] = static_cast<std::uint8_t>(features[i]);
        if (trains(next_row_)) stats_.add(std::span<std::uint8_t const>(bytes, row.size()));
    } else {
        require(features.size_bytes() == row.size(), "a row does not have the size of its shape");
        std::memcpy(row.data(), features.data(), row.size());
        if (trains(next_row_)) stats_.add(features);
    }
    append_record(labels);
}

void DatasetWriter::add(std::span<std::uint8_t const> features, std::span<double const> labels) {
    require(manifest_.type == FeatureType::uint8, "bytes are added to a dataset of uint8");
    auto const row = begin_record();
    require(features.size() == row.size(), "a row does not have the size of its shape");
    std::memcpy(row.data(), features.data(), row.size());
    if (trains(next_row_)) stats_.add(features);
    append_record(labels);
}

void DatasetWriter::put_labels(std::span<double const> labels) {
    auto* const to = record_.data() + row_bytes_;
    if (has_labels(manifest_.task)) {
        require(labels.size() == 1, "a row has one class");
        auto const label = static_cast<std::int64_t>(labels[0]);
        if (static_cast<double>(label) != labels[0] || label < 0 || label >= manifest_.outputs)
            throw Error(fmt::format("row {}: {} is not a class (0..{})", next_row_, labels[0], manifest_.outputs - 1));
        std::memcpy(to, &label, sizeof label);
        return;
    }
    require(static_cast<std::int64_t>(labels.size()) == manifest_.outputs, "a row has `outputs` targets");
    std::memcpy(to, labels.data(), labels.size_bytes());
    for (std::size_t i = 0; standardise_ && trains(next_row_) && i < labels.size(); ++i) target_stats_[i].add(labels[i]);
}

void DatasetWriter::put_targets(std::byte const* spilled, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        double target;
        std::memcpy(&target, spilled + i * sizeof target, sizeof target);
        auto const stored = stored_target(manifest_, i, target);
        out[i] = static_cast<float>(stored);
        if (i < target_rounding_.size()) target_rounding_[i].see(stored);
    }
}

void DatasetWriter::came_from(std::int64_t number, std::string_view name) {
    numbers_.push_back(number);
    if (name.empty() && names_.empty()) return;
    names_.resize(numbers_.size());
    names_.back() = name;
}

void DatasetWriter::append_record(std::span<double const> labels) {
    put_labels(labels);
    count(labels);
    auto const place = placement_.places[next_row_++];
    RowPosition const position = place.position;
    std::memcpy(record_.data() + row_bytes_ + label_bytes_, &position, sizeof position);
    auto& buffer = spills_[place.file];
    if (record_bytes_ > buffer_bytes_) return write_spill(place.file, record_);  // large rows, or very many shards
    if (buffer.size() + record_bytes_ > buffer_bytes_) {
        write_spill(place.file, buffer);
        buffer.clear();
    }
    buffer.reserve(buffer_bytes_);
    buffer.insert(buffer.end(), record_.begin(), record_.end());
}

void DatasetWriter::count(std::span<double const> labels) {
    auto& counts = *counts_[static_cast<std::size_t>(placement_.files[placement_.places[next_row_].file].split)];
    if (counts.empty()) return;
    if (manifest_.task == Task::classification) {
        ++counts[static_cast<std::size_t>(labels[0])];
        return;
    }
    for (std::size_t i = 0; i < labels.size(); ++i) counts[i] += labels[i] == 1 ? 1 : 0;
}

void DatasetWriter::decide(std::vector<std::string> const& decisions) {
    manifest_.origin.decisions.insert(manifest_.origin.decisions.end(), decisions.begin(), decisions.end());
}

void DatasetWriter::record(std::string_view key, Json value) { manifest_.origin.provenance[key] = std::move(value); }

// A metric of such a class cannot be computed, so the quality of its predictions is not visible.
void DatasetWriter::decide_about_classes() {
    constexpr std::string_view names[] = {"training", "validation", "test"};
    constexpr std::size_t k_most_named = 10;
    for (std::size_t split = 0; split < counts_.size(); ++split) {
        std::string text;
        std::size_t without = 0;
        for (std::size_t i = 0; i < counts_[split]->size(); ++i) {
            if ((*counts_[split])[i] > 0 || ++without > k_most_named) continue;
            text += fmt::format("{}'{}'", text.empty() ? "" : ", ", output_name(manifest_, i));
        }
        if (without > k_most_named) text += fmt::format(", and {} more", without - k_most_named);
        if (without > 0) decide({fmt::format("no {} row of {} {}", names[split], without == 1 ? "class" : "classes", text)});
    }
}

// Then the accuracy has little meaning.
void DatasetWriter::decide_about_the_largest_class() {
    constexpr double k_nearly_all = 0.9;
    auto const& counts = manifest_.class_rows.train;
    if (manifest_.task != Task::classification || counts.empty()) return;
    auto const largest = std::ranges::max_element(counts);
    auto const share = static_cast<double>(*largest) / static_cast<double>(std::reduce(counts.begin(), counts.end()));
    if (!(share > k_nearly_all)) return;
    decide(
        {fmt::format("{:.0f} % of the training rows have the class '{}': a model that always says so has this accuracy; "
                     "search.metric {}{} tells more",
                     std::floor(100 * share), output_name(manifest_, static_cast<std::size_t>(largest - counts.begin())),
                     k_val_f1, manifest_.outputs == 2 ? fmt::format(" or {}", k_val_auc) : "")});
}

void DatasetWriter::keep_targets() { standardise_ = false; }

void DatasetWriter::decide_about_targets() {
    if (!standardise_) return;
    std::string means;
    for (auto const& stats : target_stats_) {
        manifest_.targets.mean.push_back(stats.mean());
        manifest_.targets.stddev.push_back(stats.stddev());
        constexpr std::size_t k_most_named = 10;
        if (manifest_.targets.mean.size() <= k_most_named)
            means += fmt::format("{}{:.6g} and {:.6g}", means.empty() ? "" : ", ", stats.mean(), stats.stddev());
    }
    decide(
        {fmt::format("targets are stored in deviations from the mean of the training rows (mean and deviation: {}); mae, "
                     "rmse and predictions have the units of the source",
                     means)});
}

void DatasetWriter::decide_about_lost_targets() {
    for (std::size_t i = 0; i < target_rounding_.size(); ++i)
        if (auto const lost = target_rounding_[i].lost(); lost > 0)
            decide(
                {fmt::format("target {}: about {:.2g} % of its different values become equal to another one (float32 has "
                             "24 bits)",
                             output_name(manifest_, i), 100 * lost)});
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

ShardFile DatasetWriter::write_shard(std::size_t file, std::string const& name) {
    auto const rows = static_cast<std::size_t>(placement_.files[file].rows);
    auto const piece_rows = std::clamp<std::size_t>(k_spill_bytes / record_bytes_, 1, std::max<std::size_t>(rows, 1));
    std::vector<std::byte> features(rows * row_bytes_), piece(piece_rows * record_bytes_);
    std::vector<std::int64_t> labels(has_labels(manifest_.task) ? rows : 0);
    std::vector<float> targets(has_labels(manifest_.task) ? 0 : rows * static_cast<std::size_t>(manifest_.outputs));
    auto const width = static_cast<std::size_t>(manifest_.outputs);
    std::ifstream in(spill_path(file), std::ios::binary);
    for (std::size_t done = 0; done < rows;) {
        auto const count = std::min(piece_rows, rows - done);
        if (!in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(count * record_bytes_)))
            throw DataError(fmt::format("{}: cannot be read back; check the disk", spill_path(file).string()));
        for (std::size_t i = 0; i < count; ++i) {
            auto const* const record = piece.data() + i * record_bytes_;
            RowPosition position;
            std::memcpy(&position, record + row_bytes_ + label_bytes_, sizeof position);
            std::span const row(features.data() + position * row_bytes_, row_bytes_);
            std::memcpy(row.data(), record, row_bytes_);
            if (manifest_.type == FeatureType::float32) fill_missing(row);
            if (labels.empty())
                put_targets(record + row_bytes_, std::span(targets).subspan(position * width, width));
            else
                std::memcpy(&labels[position], record + row_bytes_, label_bytes_);
        }
        done += count;
    }
    ShardWriter writer(unfinished_ / name, manifest_, static_cast<std::int64_t>(rows));
    if (has_labels(manifest_.task))
        writer.append(features, labels);
    else
        writer.append(features, targets);
    return writer.finish();
}

// In the order of the shards.
ShardFile DatasetWriter::write_rows() const {
    std::vector<std::size_t> first;  // row of each file
    for (std::size_t rows = 0; auto const& file : placement_.files) {
        first.push_back(rows);
        rows += static_cast<std::size_t>(file.rows);
    }
    auto const& places = placement_.places;
    std::vector<std::int64_t> numbers(places.size());
    std::vector<std::string> names(names_.empty() ? 0 : places.size());
    for (std::size_t row = 0; row < places.size(); ++row) {
        auto const index = first[places[row].file] + places[row].position;
        numbers[index] = numbers_.empty() ? static_cast<std::int64_t>(row) : numbers_[row];
        if (row < names_.size()) names[index] = names_[row];
    }
    return write_source_rows(unfinished_ / "rows.h5", manifest_, numbers, names);
}

Manifest DatasetWriter::finish() {
    require(next_row_ == placement_.places.size(), "fewer rows than were placed");
    require(numbers_.empty() || numbers_.size() == next_row_, "some rows have no number");
    for (std::size_t file = 0; file < spills_.size(); ++file) {
        write_spill(file, spills_[file]);
        spills_[file] = {};
    }
    auto moments = recorded_moments(manifest_, stats_);
    manifest_.features.mean = std::move(moments.mean);
    manifest_.features.stddev = std::move(moments.stddev);
    decide_about_classes();
    decide_about_the_largest_class();
    decide_about_targets();
    constexpr std::string_view names[] = {"train", "valid", "test"};
    std::array const lists{&manifest_.train, &manifest_.valid, &manifest_.test};
    for (std::size_t file = 0; file < placement_.files.size(); ++file) {
        report();
        auto const split = static_cast<std::size_t>(placement_.files[file].split);
        lists[split]->push_back(write_shard(file, fmt::format("{}-{:05d}.h5", names[split], lists[split]->size())));
        fs::remove(spill_path(file));
    }
    decide_about_lost_targets();
    manifest_.source_rows = write_rows();
    write_manifest(unfinished_, manifest_);
    report();
    std::error_code refused;
    fs::rename(unfinished_, without_slash(out_), refused);  // replaces an empty directory
    if (refused)
        throw DataError(
            fmt::format("{}: cannot be renamed to {} ({})", unfinished_.string(), out_.string(), refused.message()));
    return manifest_;
}

}  // namespace hopscotch
