// SPDX-License-Identifier: Apache-2.0
#include "data/batches/shard_source.hpp"
#include "data/batches/batches.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/rng.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"
#include "data/dataset/shard_layout.hpp"
#include "data/dataset/shard_writer.hpp"
#include "data/support.hpp"
#include "experiment/config.hpp"

namespace hopscotch {
namespace shard_source_test {

using Order = std::vector<std::uint32_t>;

std::uint32_t between(Rng& rng, std::uint32_t low, std::uint32_t high) { return low + rng.below(high - low + 1); }

Manifest random_manifest(Rng& rng) {
    Manifest m;
    m.task = static_cast<Task>(rng.below(4));
    m.type = rng.below(2) == 0 ? FeatureType::uint8 : FeatureType::float32;
    m.outputs = between(rng, 1, 5);
    for (auto n = between(rng, 1, 3); n > 0; --n) m.shape.push_back(between(rng, 1, 9));
    return m;
}

// Random rows, kept in memory as the truth that every source must deliver.
Shard random_rows(Manifest const& m, std::int64_t rows, Rng& rng) {
    Shard shard;
    shard.rows = rows;
    shard.features.own().resize(static_cast<std::size_t>(rows) * row_bytes(m));
    for (auto& byte : shard.features.own()) byte = static_cast<std::byte>(rng.below(256));
    if (has_labels(m.task))
        for (std::int64_t i = 0; i < rows; ++i) shard.labels.push_back(rng.below(static_cast<std::uint32_t>(m.outputs)));
    else
        for (std::int64_t i = 0; i < rows * m.outputs; ++i) shard.targets.push_back(static_cast<float>(rng.normal()));
    return shard;
}

ShardFile write(std::filesystem::path const& path, Manifest const& m, Shard const& shard) {
    ShardWriter writer(path, m, shard.rows);
    if (has_labels(m.task))
        writer.append(shard.features, shard.labels);
    else
        writer.append(shard.features, shard.targets);
    return writer.finish();
}

Order random_order(std::int64_t rows, std::int64_t window, Rng& rng) {
    UnitAddress const address{rng.next_u64(), TrialId(1), 2, ShardId(3)};
    Order order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0U);
    switch (rng.below(6)) {
        case 0: return shuffled_rows(rows, address, window);
        case 1: return shuffled_rows(rows, address, between(rng, 1, static_cast<std::uint32_t>(rows)));  // other windows
        case 2: return shuffled_rows(rows, address);
        case 3: std::reverse(order.begin(), order.end()); return order;
        case 4:  // some rows twice, some never
            for (auto& row : order) row = rng.below(static_cast<std::uint32_t>(rows));
            return order;
        default: return order;
    }
}

template <class Values>
::testing::AssertionResult same_row(Values const& a, std::size_t row, Values const& b, std::size_t other,
                                    std::size_t width) {
    if (a.size() < (row + 1) * width || b.size() < (other + 1) * width) return ::testing::AssertionFailure() << "too short";
    auto const equal = std::memcmp(a.data() + row * width, b.data() + other * width, width * sizeof(*a.data())) == 0;
    return equal ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "row " << row << " is not row " << other;
}

void expect_rows(PickedRows const& picked, std::span<std::uint32_t const> wanted, Shard const& truth, Manifest const& m) {
    ASSERT_EQ(picked.rows.size(), wanted.size());
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), picked.numbers.begin(), picked.numbers.end()));
    auto const outputs = static_cast<std::size_t>(m.outputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const row = picked.rows[i];
        ASSERT_LT(row, picked.shard.rows);
        ASSERT_TRUE(same_row(picked.shard.features, row, truth.features, wanted[i], row_bytes(m)));
        ASSERT_TRUE(has_labels(m.task) ? same_row(picked.shard.labels, row, truth.labels, wanted[i], 1)
                                       : same_row(picked.shard.targets, row, truth.targets, wanted[i], outputs));
    }
}

struct Pass {
    Order order;
    std::vector<BatchRange> cut;
    std::span<std::uint32_t const> batch(std::size_t i) const {
        return std::span(order).subspan(static_cast<std::size_t>(cut[i].first), static_cast<std::size_t>(cut[i].size));
    }
};

struct Batches {
    std::size_t first = 0;        // a unit that is resumed begins here
    std::size_t last = SIZE_MAX;  // a pass that is left early ends here
};

void expect_pass(ShardSource& source, Pass const& pass, Shard const& truth, Manifest const& m, Batches part = {}) {
    source.begin(pass.order, std::span(pass.cut).subspan(part.first));
    for (auto i = part.first; i < std::min(part.last, pass.cut.size()); ++i) {
        SCOPED_TRACE(i);
        expect_rows(source.next(), pass.batch(i), truth, m);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

std::vector<DataConfig> all_caches(std::int64_t window) {
    std::vector<DataConfig> out(3);
    out[0].cache = Cache::all;
    out[1].cache = Cache::window;
    out[2].cache = Cache::none;
    for (auto& config : out) config.shuffle_rows = window;
    return out;
}

class RandomPasses : public ::testing::TestWithParam<int> {};

TEST_P(RandomPasses, deliver_the_same_rows_through_every_cache) {
    TemporaryDirectory const dir;
    Rng rng(static_cast<std::uint64_t>(GetParam()));
    auto const m = random_manifest(rng);
    auto const rows = static_cast<std::int64_t>(between(rng, 1, 300));
    auto const truth = random_rows(m, rows, rng);
    auto const file = write(dir / "train-00000.h5", m, truth);
    auto const window = static_cast<std::int64_t>(between(rng, 1, 70));
    std::vector<Pass> passes(4);
    for (auto& pass : passes) {
        pass.order = random_order(rows, window, rng);
        pass.cut = batches(rows, between(rng, 1, 90), rng.below(2) == 0 ? LastBatch::keep : LastBatch::drop);
    }
    for (auto const& config : all_caches(window)) {
        SCOPED_TRACE(static_cast<int>(config.cache));
        auto const source = open_shard_source(dir.path(), file, m, config);
        ASSERT_EQ(source->rows(), rows);
        for (auto const& pass : passes) {
            auto const middle = rng.below(static_cast<std::uint32_t>(pass.cut.size()));
            expect_pass(*source, pass, truth, m, {0, middle});  // left early
            expect_pass(*source, pass, truth, m, {middle});     // resumed
            expect_pass(*source, pass, truth, m);
            ASSERT_THROW(source->next(), Error);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPasses, ::testing::Range(0, 60));

struct Example {
    Manifest manifest;
    Shard truth;
    ShardFile file;
    Pass pass;
};

// A thousand rows of a kilobyte in windows of ten.
Example example(TemporaryDirectory const& dir) {
    Example out;
    out.manifest.shape = {1024};
    out.manifest.type = FeatureType::uint8;
    out.manifest.outputs = 3;
    Rng rng(5);
    out.truth = random_rows(out.manifest, 1000, rng);
    out.file = write(dir / "train-00000.h5", out.manifest, out.truth);
    out.pass = {shuffled_rows(1000, {1, TrialId(1), 0, ShardId(0)}, 10), batches(1000, 7, LastBatch::keep)};
    return out;
}

TEST(ShardSource, holds_no_more_than_it_promises) {
    TemporaryDirectory const dir;
    auto const e = example(dir);
    for (auto const& config : all_caches(10)) {
        auto const source = open_shard_source(dir.path(), e.file, e.manifest, config);
        source->begin(e.pass.order, e.pass.cut);
        for (auto const& range : e.pass.cut) {
            auto const& shard = source->next().shard;
            auto const most = config.cache == Cache::all ? 1000 : config.cache == Cache::window ? 10 : range.size;
            ASSERT_LE(shard.rows, most);
            ASSERT_EQ(shard.features.size(), static_cast<std::size_t>(shard.rows) * 1024);
        }
    }
}

TEST(ShardSource, a_pass_ends_early_wherever_it_stands) {
    TemporaryDirectory const dir;
    auto const e = example(dir);
    auto const config = all_caches(10)[1];
    auto const source = open_shard_source(dir.path(), e.file, e.manifest, config);
    for (std::size_t last = 0; last < e.pass.cut.size(); last += 3)
        expect_pass(*source, e.pass, e.truth, e.manifest, {0, last});
    source->begin(e.pass.order, {});
    EXPECT_THROW(source->next(), Error);
    for (std::size_t last = 0; last < 20; ++last)  // the destructor ends a pass as well
        expect_pass(*open_shard_source(dir.path(), e.file, e.manifest, config), e.pass, e.truth, e.manifest, {0, last});
}

// Reads a pass to its end; batches before a failure must be right.
void read_until_it_throws(ShardSource& source, Example const& e) {
    source.begin(e.pass.order, e.pass.cut);
    for (std::size_t i = 0; i < e.pass.cut.size(); ++i) expect_rows(source.next(), e.pass.batch(i), e.truth, e.manifest);
}

TEST(ShardSource, a_file_that_is_cut_off_while_it_is_read_is_named) {
    TemporaryDirectory const dir;
    auto const e = example(dir);
    auto const path = dir / e.file.file;
    auto const bytes = read_bytes(path);
    for (auto const cache : {Cache::window, Cache::none}) {
        DataConfig config;
        config.cache = cache;
        config.shuffle_rows = 10;
        auto const source = open_shard_source(dir.path(), e.file, e.manifest, config);
        std::filesystem::resize_file(path, bytes.size() / 2);
        auto const text = thrown<DataError>([&] { read_until_it_throws(*source, e); }, dir.path());
        EXPECT_TRUE(text.starts_with("train-00000.h5: rows ")) << text;
        EXPECT_TRUE(
            text.ends_with(" of '/features' cannot be read (the file ends before them); restore it or import the "
                           "dataset again"))
            << text;
        EXPECT_THROW(source->next(), Error);  // again, and without waiting for a thread that has ended
        write_text(path, bytes);
        expect_pass(*source, e.pass, e.truth, e.manifest);
    }
}

TEST(ShardSource, batches_that_are_left_out_are_not_read) {
    TemporaryDirectory const dir;
    auto e = example(dir);
    e.pass.cut = batches(1000, 50, LastBatch::keep);
    for (auto const& config : all_caches(10)) {
        auto const source = open_shard_source(dir.path(), e.file, e.manifest, config);
        auto const bytes = read_bytes(dir / e.file.file);
        std::filesystem::resize_file(dir / e.file.file, bytes.size() / 2);  // rows from about 500 on are gone
        Pass first_half{e.pass.order, e.pass.cut}, second_half = first_half;
        std::iota(first_half.order.begin(), first_half.order.end(), 0U);
        second_half.order.assign(first_half.order.rbegin(), first_half.order.rend());
        first_half.cut.resize(8);
        expect_pass(*source, first_half, e.truth, e.manifest);
        expect_pass(*source, second_half, e.truth, e.manifest, {12});
        write_text(dir / e.file.file, bytes);
    }
}

TEST(ShardSource, bad_files_are_refused_when_they_are_opened) {
    TemporaryDirectory const dir;
    auto e = example(dir);
    auto shorter = e.file;
    shorter.rows = 999;
    e.truth.labels[17] = 3;
    auto const bad = write(dir / "bad.h5", e.manifest, e.truth);
    for (auto const& config : all_caches(0)) {
        auto const error = [&](ShardFile const& file) {
            return thrown<DataError>([&] { open_shard_source(dir.path(), file, e.manifest, config); }, dir.path());
        };
        EXPECT_NE(error(shorter).find("dataset.json says uint8 [999, 1024]"), std::string::npos) << error(shorter);
        EXPECT_TRUE(error(bad).starts_with("bad.h5: row 17: label 3 is out of range")) << error(bad);
        EXPECT_TRUE(error({"none.h5", 5, 0}).starts_with("none.h5: no such file")) << error({"none.h5", 5, 0});
    }
}

// Shards of other programs: pieces all over the file, or numbers in the other byte order.
void write_as_others_do(std::filesystem::path const& path, Shard const& truth, Manifest const& m, hid_t type, bool chunked) {
    auto const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    auto const put = [&](char const* name, std::vector<hsize_t> const& dims, hid_t stored, hid_t native, void const* data) {
        auto const space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
        auto const properties = H5Pcreate(H5P_DATASET_CREATE);
        std::vector<hsize_t> chunk(dims.size(), 3);
        if (chunked) H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
        auto const set = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        EXPECT_GE(H5Dwrite(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
        H5Dclose(set);
        H5Pclose(properties);
        H5Sclose(space);
    };
    auto const rows = static_cast<hsize_t>(truth.rows);
    put("features", {rows, static_cast<hsize_t>(m.row_size())}, type, H5T_NATIVE_FLOAT, truth.features.data());
    put("labels", {rows}, H5T_NATIVE_INT64, H5T_NATIVE_INT64, truth.labels.data());
    H5Fclose(file);
}

TEST(ShardSource, other_layouts_and_byte_orders_are_read_through_hdf5) {
    TemporaryDirectory const dir;
    Manifest m;
    m.shape = {6};
    m.outputs = 3;
    Rng rng(8);
    auto truth = random_rows(m, 50, rng);
    std::vector<float> values(300);
    for (auto& value : values) value = static_cast<float>(rng.normal());
    std::memcpy(truth.features.own().data(), values.data(), truth.features.size());
    Pass const pass{shuffled_rows(50, {1, TrialId(1), 0, ShardId(0)}, 20), batches(50, 8, LastBatch::keep)};
    for (bool const chunked : {true, false}) {
        write_as_others_do(dir / "train-00000.h5", truth, m, chunked ? H5T_IEEE_F32LE : H5T_IEEE_F32BE, chunked);
        EXPECT_FALSE(Hdf5File::open(dir / "train-00000.h5").offset_of_rows("/features").has_value());
        for (auto const& config : all_caches(20))
            for (auto const whom : {NeededBy::this_trainer, NeededBy::all_trainers})
                expect_pass(*open_shard_source(dir.path(), {"train-00000.h5", 50, 0}, m, config, whom), pass, truth, m);
    }
    write(dir / "ours.h5", m, truth);
    EXPECT_TRUE(Hdf5File::open(dir / "ours.h5").offset_of_rows("/features").has_value());
}

// A sound HDF5 file whose /labels are something else.
std::string refusal_of_labels(std::string const& what) {
    TemporaryDirectory const dir;
    Manifest m;
    m.shape = {2};
    m.outputs = 3;
    Rng rng(1);
    auto const truth = random_rows(m, 8, rng);
    write(dir / "secret.h5", m, truth);
    auto file = write(dir / "train-00000.h5", m, truth);
    auto const path = dir / "train-00000.h5";
    auto const open = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(open, "labels", H5P_DEFAULT);
    hsize_t rows = 8;
    if (what == "huge") {
        rows = 1ULL << 31;
        file.rows = 1LL << 31;
        H5Ldelete(open, "features", H5P_DEFAULT);
    }
    auto const put = [&](char const* name, int rank) {
        hsize_t const dims[] = {rows, 2};
        auto const space = H5Screate_simple(rank, dims, nullptr);
        auto const properties = H5Pcreate(H5P_DATASET_CREATE);
        if (what == "raw") H5Pset_external(properties, (dir / "secret.h5").c_str(), 0, H5F_UNLIMITED);
        if (what == "virtual") H5Pset_virtual(properties, space, (dir / "secret.h5").c_str(), "/labels", space);
        H5Dclose(H5Dcreate2(open, name, rank == 1 ? H5T_NATIVE_INT64 : H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties,
                            H5P_DEFAULT));
        H5Pclose(properties);
        H5Sclose(space);
    };
    if (what == "huge") put("features", 2);
    if (what == "external")
        H5Lcreate_external((dir / "secret.h5").c_str(), "/labels", open, "labels", H5P_DEFAULT, H5P_DEFAULT);
    else if (what == "soft")
        H5Lcreate_soft("/features", open, "labels", H5P_DEFAULT, H5P_DEFAULT);
    else
        put("labels", 1);
    H5Fclose(open);
    return thrown<DataError>([&] { check_shard(dir.path(), file, m); }, dir.path());
}

TEST(ShardSource, no_dataset_leads_out_of_its_file) {
    for (auto const* link : {"external", "soft"})
        EXPECT_EQ(
            refusal_of_labels(link),
            "train-00000.h5: '/labels' is a link to another place (hopscotch reads only this file); import the dataset "
            "again");
    for (auto const* storage : {"raw", "virtual"})
        EXPECT_EQ(
            refusal_of_labels(storage),
            "train-00000.h5: the rows of '/labels' are kept in another file (hopscotch reads only this one); import the "
            "dataset again");
}

TEST(ShardSource, no_memory_is_taken_for_rows_that_are_not_there) {
    auto const said = refusal_of_labels("huge");
    EXPECT_TRUE(said.starts_with("train-00000.h5: '/features' is not whole (0 bytes for rows of 17179869184)")) << said;
}

}  // namespace shard_source_test
}  // namespace hopscotch
