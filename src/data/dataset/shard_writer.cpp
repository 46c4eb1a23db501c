// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard_writer.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/file.hpp"
#include "data/dataset/shard_layout.hpp"

namespace hopscotch {

ShardWriter::ShardWriter(std::filesystem::path path, Manifest const& manifest, std::int64_t rows)
    : path_(std::move(path)),
      row_bytes_(row_bytes(manifest)),
      outputs_(static_cast<std::size_t>(manifest.outputs)),
      rows_(rows),
      task_(manifest.task),
      file_(Hdf5File::create(path_)) {
    fault_point("import.shard");
    file_.create_dataset("/features", features_layout(manifest, rows));
    file_.create_dataset("/labels", labels_layout(manifest, rows));
}

void ShardWriter::append(ByteView features, std::span<std::int64_t const> labels) {
    require(has_labels(task_), "labels appended to a shard of targets");
    append_rows(features, std::as_bytes(labels), labels.size());
}

void ShardWriter::append(ByteView features, std::span<float const> targets) {
    require(!has_labels(task_), "targets appended to a shard of labels");
    require(targets.size() % outputs_ == 0, "targets are not whole rows");
    append_rows(features, std::as_bytes(targets), targets.size() / outputs_);
}

void ShardWriter::append_rows(ByteView features, ByteView labels, std::size_t rows) {
    require(features.size() == rows * row_bytes_, "features and labels have different numbers of rows");
    auto const count = static_cast<std::int64_t>(rows);
    require(written_ + count <= rows_, fmt::format("{}: more rows than the {} announced", path_.string(), rows_));
    file_.write_rows("/features", written_, count, features);
    file_.write_rows("/labels", written_, count, labels);
    written_ += count;
}

ShardFile ShardWriter::finish() {
    require(written_ == rows_, fmt::format("{}: {} of {} rows written", path_.string(), written_, rows_));
    file_.close();
    return {path_.filename().string(), rows_, hash_file(path_)};
}

}  // namespace hopscotch
