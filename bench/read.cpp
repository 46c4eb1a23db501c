// SPDX-License-Identifier: Apache-2.0
// The speed at which each cache of data.cache delivers raw rows, beside the speed of the simplest code. In every pair, the
// consumer copies each batch out once, into the same memory, so that only the way to the rows differs.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "bench/benches.hpp"
#include "bench/median.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/scratch_directory.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard_layout.hpp"
#include "data/dataset/shard_reader.hpp"
#include "data/dataset/shard_writer.hpp"
#include "experiment/config.hpp"

namespace hopscotch {
namespace {

struct BenchReadOptions {
    std::string dir;         // a dataset whose first training shard is read; empty: one is made for it, and removed
    double megabytes = 256;  // of that one
    std::int64_t batch_size = 128;
    int repeats = 5;
};

using RowOrder = std::span<std::uint32_t const>;

constexpr std::int64_t k_windows = 4;  // that the shard is read in: larger than a CPU cache, as those of training are

// Colour images of 32 x 32, random bytes.
Manifest write_images(std::filesystem::path const& directory, double megabytes) {
    Manifest m;
    m.shape = {3, 32, 32};
    m.type = FeatureType::uint8;
    m.outputs = 10;
    m.features.mean.assign(3, 0);
    m.features.stddev.assign(3, 1);
    auto const rows = std::max<std::int64_t>(100, std::llround(megabytes * 1e6 / static_cast<double>(row_bytes(m))));
    ShardWriter writer(directory / "train-00000.h5", m, rows);
    Rng rng(1);
    std::vector<std::uint32_t> piece;
    for (std::int64_t first = 0; first < rows; first += 1024) {
        auto const count = static_cast<std::size_t>(std::min<std::int64_t>(1024, rows - first));
        piece.resize(count * row_bytes(m) / sizeof(std::uint32_t));
        for (auto& word : piece) word = rng.next_u32();
        writer.append(std::as_bytes(std::span(piece)), std::vector<std::int64_t>(count, 0));
    }
    m.train = {writer.finish()};
    return m;
}

class ReadBench {
public:
    ReadBench(std::filesystem::path const& directory, Manifest const& manifest, std::int64_t batch_size)
        : file_(manifest.train.front()),
          row_bytes_(row_bytes(manifest)),
          window_rows_((file_.rows + k_windows - 1) / k_windows),
          cut_(batches(file_.rows, batch_size, LastBatch::keep)),
          path_(directory / file_.file),
          plain_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
        auto const offset = Hdf5File::open(path_).offset_of_rows("/features");
        if (!offset || !plain_)
            throw DataError(
                fmt::format("{}: its rows do not lie in one block (nothing to compare with); take a dataset that "
                            "'hopscotch data import' made",
                            path_.string()));
        offset_ = *offset;
        DataConfig config;
        config.shuffle_rows = window_rows_;
        for (auto const cache : {Cache::all, Cache::window, Cache::none}) {
            config.cache = cache;
            sources_.push_back(open_shard_source(directory, file_, manifest, config));
        }
        memory_ = read_shard(directory, file_, manifest);
        batch_.resize(at(batch_size + 1) * row_bytes_);
        window_.resize(at(window_rows_) * row_bytes_);
    }

    std::vector<std::uint32_t> order() const { return shuffled_rows(file_.rows, k_unit); }
    std::vector<std::uint32_t> order_in_windows() const { return shuffled_rows(file_.rows, k_unit, window_rows_); }

    // A pass over the shard in GB/s: through a source, and by hand.
    double through(Cache cache, RowOrder order) {
        auto& source = *sources_[static_cast<std::size_t>(cache)];
        return rate([&] {
            source.begin(order, cut_);
            for (std::size_t batch = 0; batch < cut_.size(); ++batch) {
                auto const picked = source.next();
                copy_out(picked.shard.features.data(), picked.rows);
            }
        });
    }
    double from_memory(RowOrder order) {
        return rate([&] {
            for (auto const& range : cut_) copy_out(memory_.features.data(), order.subspan(at(range.first), at(range.size)));
        });
    }
    double from_memory_in_sequence() {
        return rate([&] {
            for (auto const& range : cut_)
                std::memcpy(batch_.data(), memory_.features.data() + at(range.first) * row_bytes_,
                            at(range.size) * row_bytes_);
        });
    }
    double from_file(RowOrder order) {
        return rate([&] {
            for (std::size_t position = 0; position < order.size();) {
                auto const first = order[position] / window_rows_ * window_rows_;
                auto const rows = std::min(window_rows_, file_.rows - first);
                read_plainly(first, rows);
                copy_window(order.subspan(position, at(rows)), static_cast<std::uint32_t>(first));
                position += at(rows);
            }
        });
    }

    std::int64_t window_rows() const { return window_rows_; }
    std::size_t row_size() const { return row_bytes_; }
    double gigabytes() const { return static_cast<double>(file_.rows) * static_cast<double>(row_bytes_) / 1e9; }

private:
    static constexpr UnitAddress k_unit{1, TrialId(0), 0, ShardId(0)};
    static std::size_t at(std::int64_t rows) { return static_cast<std::size_t>(rows); }

    double rate(std::function<void()> const& work) const {
        auto const start = monotonic_s();
        work();
        return gigabytes() / (monotonic_s() - start);
    }

    void copy_out(std::byte const* features, std::span<std::uint32_t const> rows) {
        auto* out = batch_.data();
        for (auto const row : rows) {
            std::memcpy(out, features + row * row_bytes_, row_bytes_);
            out += row_bytes_;
        }
    }

    void copy_window(std::span<std::uint32_t const> numbers, std::uint32_t first) {
        rows_.resize(numbers.size());
        std::transform(numbers.begin(), numbers.end(), rows_.begin(), [&](auto number) { return number - first; });
        for (auto const& range : batches(static_cast<std::int64_t>(rows_.size()), cut_.front().size, LastBatch::keep))
            copy_out(window_.data(), std::span(rows_).subspan(at(range.first), at(range.size)));
    }

    void read_plainly(std::int64_t first, std::int64_t rows) {
        auto rest = MutableBytes(window_).first(at(rows) * row_bytes_);
        for (auto place = offset_ + first * static_cast<std::int64_t>(row_bytes_); !rest.empty();) {
            auto const got = ::pread(plain_.handle(), rest.data(), rest.size(), place);
            if (got <= 0) throw DataError(fmt::format("{}: cannot be read; check the disk", path_.string()));
            rest = rest.subspan(static_cast<std::size_t>(got));
            place += got;
        }
    }

    ShardFile file_;
    std::size_t row_bytes_;
    std::int64_t window_rows_, offset_ = 0;
    std::vector<BatchRange> cut_;
    std::filesystem::path path_;
    UniqueHandle<int, CloseFile> plain_;
    std::vector<std::unique_ptr<ShardSource>> sources_;
    Shard memory_;
    std::vector<std::byte> batch_, window_;
    std::vector<std::uint32_t> rows_;
};

struct ReadColumn {  // GB/s by repeat
    std::vector<double> rates;
    double typical() const { return median(rates); }
    double against(ReadColumn const& other) const {  // of each repeat, whose two were measured one after the other
        std::vector<double> ratios;
        for (std::size_t i = 0; i < rates.size(); ++i) ratios.push_back(rates[i] / other.rates[i]);
        return median(ratios);
    }
};

struct Table {
    ReadColumn all, memory, sequence, window, file, none;
};

Table measure(ReadBench& bench, int repeats) {
    auto const order = bench.order();
    auto const in_windows = bench.order_in_windows();
    Table table;
    for (int repeat = -1; repeat < repeats; ++repeat) {  // the first warms memory and page cache
        std::pair<ReadColumn*, double> const rates[] = {
            {&table.all, bench.through(Cache::all, order)},     {&table.memory, bench.from_memory(order)},
            {&table.sequence, bench.from_memory_in_sequence()}, {&table.window, bench.through(Cache::window, in_windows)},
            {&table.file, bench.from_file(in_windows)},         {&table.none, bench.through(Cache::none, order)}};
        for (auto const& [column, rate] : rates)
            if (repeat >= 0) column->rates.push_back(rate);
    }
    return table;
}

void print(ReadBench const& bench, Table const& table, BenchReadOptions const& options) {
    fmt::print(
        "{{\"bench\": \"read\", \"megabytes\": {:.1f}, \"row_bytes\": {}, \"batch\": {}, \"window_rows\": {}, "
        "\"all_gb_per_s\": {:.2f}, \"memcpy_gb_per_s\": {:.2f}, \"all_over_memcpy\": {:.2f}, "
        "\"memcpy_in_sequence_gb_per_s\": {:.2f}, "
        "\"window_gb_per_s\": {:.2f}, \"pread_gb_per_s\": {:.2f}, \"window_over_pread\": {:.2f}, "
        "\"none_gb_per_s\": {:.2f}, \"none_over_pread\": {:.2f}, ",
        1e3 * bench.gigabytes(), bench.row_size(), options.batch_size, bench.window_rows(), table.all.typical(),
        table.memory.typical(), table.all.against(table.memory), table.sequence.typical(), table.window.typical(),
        table.file.typical(), table.window.against(table.file), table.none.typical(), table.none.against(table.file));
    fmt::print(
        "\"compared\": \"raw bytes per second, every batch copied out once, row by row; memcpy: the same rows in the same "
        "order from one block of memory; in sequence: the bytes of a batch at once, in the order of the file; pread: each "
        "window by one call from the page cache, then its rows in the same order, one thread; none: single rows in random "
        "order; medians of {} interleaved repeats\"}}\n",
        options.repeats);
}

int bench_read_command(BenchReadOptions const& options) {
    if (options.repeats < 1 || options.batch_size < 1 || !(options.megabytes > 0))
        throw ConfigError("bench read: --repeats, --batch and --megabytes must be above 0");
    ScratchDirectory const temporary;
    auto const directory = options.dir.empty() ? temporary.path() : std::filesystem::path(options.dir);
    auto const manifest = options.dir.empty() ? write_images(directory, options.megabytes) : read_manifest(directory);
    if (manifest.train.empty()) throw DataError(fmt::format("{}: has no training shard", directory.string()));
    ReadBench bench(directory, manifest, options.batch_size);
    print(bench, measure(bench, options.repeats), options);
    return 0;
}

}  // namespace

Work add_bench_read(Command command) {
    auto const read = std::make_shared<BenchReadOptions>();
    command.add_option("--dir", read->dir, "Read the first training shard of this dataset (default: make one)")
        .type_name("DATASET");
    command.add_option("--megabytes", read->megabytes, "Size of the shard that is made").shows_default();
    command.add_option("--batch", read->batch_size, "Rows of a batch").shows_default();
    command.add_option("--repeats", read->repeats, "Number of interleaved repeats; medians are printed").shows_default();
    return on_first_rank([read] { return bench_read_command(*read); });
}

}  // namespace hopscotch
