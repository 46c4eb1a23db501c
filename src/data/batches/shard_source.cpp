// SPDX-License-Identifier: Apache-2.0
#include "data/batches/shard_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "data/batches/batches.hpp"
#include "data/dataset/shard_layout.hpp"
#include "data/dataset/window_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {
namespace {

// The part that the three sources share: the place of a pass.
class PassedSource : public ShardSource {
public:
    void begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) override {
        order_ = order;
        cut_ = cut;
        next_ = 0;
    }

protected:
    BatchRange const& next_range() {
        require(next_ < cut_.size(), "the pass has no more batches");
        return cut_[next_++];
    }
    std::span<std::uint32_t const> numbers(BatchRange const& range) const {
        return order_.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.size));
    }

private:
    std::span<std::uint32_t const> order_;
    std::span<BatchRange const> cut_;
    std::size_t next_ = 0;
};

class ShardInMemory : public PassedSource {
public:
    explicit ShardInMemory(std::shared_ptr<Shard const> shard) : shard_(std::move(shard)) {}
    std::int64_t rows() const override { return shard_->rows; }
    std::shared_ptr<Shard const> whole() const override { return shard_; }

    PickedRows next() override {
        auto const picked = numbers(next_range());
        return {*shard_, picked, picked};
    }

private:
    std::shared_ptr<Shard const> shard_;
};

// A batch that had to be copied together.
class BatchShard {
public:
    BatchShard(std::size_t row_bytes, std::size_t targets) : row_bytes_(row_bytes), targets_(targets) {}

    // Room for a batch of these rows; from: the source of its labels, which gives their kind.
    void resize(std::size_t rows, Shard const& from) {
        shard_.rows = static_cast<std::int64_t>(rows);
        shard_.features.own().resize(rows * row_bytes_);
        shard_.labels.resize(from.labels.empty() ? 0 : rows);
        shard_.targets.resize(rows * targets_);
        rows_.resize(rows);
        std::iota(rows_.begin(), rows_.end(), 0U);
    }
    MutableBytes features(std::size_t row, std::size_t rows) {
        return MutableBytes(shard_.features.own()).subspan(row * row_bytes_, rows * row_bytes_);
    }
    void copy_features(std::size_t row, Shard const& from, std::size_t other) {
        std::copy_n(from.features.data() + other * row_bytes_, row_bytes_, features(row, 1).data());
    }
    void copy_labels(std::size_t row, Shard const& from, std::size_t other) {
        if (!shard_.labels.empty()) shard_.labels[row] = from.labels[other];
        if (!shard_.targets.empty()) std::copy_n(&from.targets[other * targets_], targets_, &shard_.targets[row * targets_]);
    }
    PickedRows picked(std::span<std::uint32_t const> numbers) const { return {shard_, rows_, numbers}; }

private:
    std::size_t row_bytes_, targets_;
    Shard shard_;
    std::vector<std::uint32_t> rows_;  // 0, 1, 2 ...
};

std::size_t targets_of(Manifest const& manifest) {
    return has_labels(manifest.task) ? 0 : static_cast<std::size_t>(manifest.outputs);
}

class ShardThroughWindow : public PassedSource {
public:
    ShardThroughWindow(ShardReader reader, Shard labels, Manifest const& manifest, std::int64_t window_rows)
        : reader_(std::move(reader)),
          labels_(std::move(labels)),
          windows_(reader_, labels_, window_rows),
          batch_(reader_.row_bytes(), targets_of(manifest)) {}
    std::int64_t rows() const override { return labels_.rows; }

    void begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) override {
        windows_.end();
        PassedSource::begin(order, cut);
        window_ = nullptr;
        if (cut.empty()) return;
        auto const end = static_cast<std::size_t>(cut.back().first + cut.back().size);
        windows_.begin(order.first(end), static_cast<std::size_t>(cut.front().first));
    }

    PickedRows next() override {
        auto const& range = next_range();
        auto const first = static_cast<std::size_t>(range.first);
        auto const picked = numbers(range);
        advance_to(first);
        if (first + picked.size() > window_->end) return copied_together(first, picked);
        rows_.resize(picked.size());
        std::transform(picked.begin(), picked.end(), rows_.begin(), [&](auto number) { return number - window_->first; });
        return {window_->shard, rows_, picked};
    }

    void end() override {
        window_ = nullptr;
        windows_.release();
    }

private:
    void advance_to(std::size_t position) {
        while (window_ == nullptr || position >= window_->end) {
            window_ = nullptr;  // if the next one cannot be read, this one is gone too
            window_ = &windows_.take();
        }
    }

    // A batch that straddles windows: its rows of one must be saved before the next is taken.
    PickedRows copied_together(std::size_t first, std::span<std::uint32_t const> picked) {
        batch_.resize(picked.size(), labels_);
        for (std::size_t i = 0; i < picked.size(); ++i) {
            advance_to(first + i);
            batch_.copy_features(i, window_->shard, picked[i] - window_->first);
            batch_.copy_labels(i, window_->shard, picked[i] - window_->first);
        }
        return batch_.picked(picked);
    }

    ShardReader reader_;
    Shard labels_;
    WindowReader windows_;  // uses the two above
    Window const* window_ = nullptr;
    std::vector<std::uint32_t> rows_;
    BatchShard batch_;
};

class ShardInFile : public PassedSource {
public:
    ShardInFile(ShardReader reader, Shard labels, Manifest const& manifest)
        : reader_(std::move(reader)), labels_(std::move(labels)), batch_(reader_.row_bytes(), targets_of(manifest)) {}
    std::int64_t rows() const override { return labels_.rows; }

    PickedRows next() override {
        auto const picked = numbers(next_range());
        batch_.resize(picked.size(), labels_);
        for (std::size_t i = 0; i < picked.size();) {
            std::size_t run = 1;  // rows that follow each other in the file, as all do in validation
            while (i + run < picked.size() && picked[i + run] == picked[i] + run) ++run;
            reader_.read(picked[i], static_cast<std::int64_t>(run), batch_.features(i, run));
            i += run;
        }
        for (std::size_t i = 0; i < picked.size(); ++i) batch_.copy_labels(i, labels_, picked[i]);
        return batch_.picked(picked);
    }

private:
    ShardReader reader_;
    Shard labels_;
    BatchShard batch_;
};

}  // namespace

std::unique_ptr<ShardSource> shard_in_memory(Shard shard) {
    return shard_in_memory(std::make_shared<Shard const>(std::move(shard)));
}

std::unique_ptr<ShardSource> shard_in_memory(std::shared_ptr<Shard const> shard) {
    return std::make_unique<ShardInMemory>(std::move(shard));
}

std::unique_ptr<ShardSource> open_shard_source(std::filesystem::path const& directory, ShardFile const& file,
                                               Manifest const& manifest, DataConfig const& config, NeededBy whom) {
    auto const held = whom == NeededBy::this_trainer ? read_shard : map_shard;
    if (config.cache == Cache::all) return shard_in_memory(held(directory, file, manifest));
    auto const path = directory / file.file;
    auto open = Hdf5File::open(path);
    check_layout(open, path, file, manifest);
    auto labels = read_labels(open, directory, file, manifest);
    ShardReader reader(path, std::move(open), manifest);
    if (config.cache == Cache::none) return std::make_unique<ShardInFile>(std::move(reader), std::move(labels), manifest);
    return std::make_unique<ShardThroughWindow>(std::move(reader), std::move(labels), manifest,
                                                rows_shuffled_together(config));
}

}  // namespace hopscotch
