// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/verify.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "data/dataset/shard_writer.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace verify_test {

class Verify : public ::testing::Test {
protected:
    Verify() {
        std::string text = "a,b,y\n";
        for (int i = 0; i < 40; ++i) text += std::to_string(i) + ".5,1," + std::to_string(i % 2) + "\n";
        write_text(dir_ / "a.csv", text);
        ImportCsvOptions options;
        options.sources = {dir_ / "a.csv"};
        options.out = data();
        options.shards = 2;
        import_csv_files(options);
    }
    std::filesystem::path data() const { return dir_ / "data"; }

    std::vector<std::string> failures() const {
        auto out = verify_files(data()).failures;
        for (auto& failure : out)
            if (auto const prefix = data().string() + "/"; failure.starts_with(prefix)) failure.erase(0, prefix.size());
        return out;
    }

    // Rewrites a training shard with given rows and records its hash, as a careless program might.
    void replace_shard(std::vector<float> const& features, std::vector<std::int64_t> const& labels) {
        auto manifest = read_manifest(data());
        std::filesystem::remove(data() / "train-00001.h5");
        ShardWriter writer(data() / "train-00001.h5", manifest, static_cast<std::int64_t>(labels.size()));
        writer.append(std::as_bytes(std::span(features)), labels);
        auto const file = writer.finish();
        manifest.train[1].xxh64 = file.xxh64;
        write_manifest(data(), manifest);
    }

    TemporaryDirectory dir_;
};

TEST_F(Verify, a_good_dataset_has_no_failures) {
    auto const report = verify_files(data());
    EXPECT_EQ(report.failures, std::vector<std::string>{});
    EXPECT_EQ(report.rows, 40);
    auto const manifest = read_manifest(data());
    auto const train = summarise(data(), manifest, Split::train), valid = summarise(data(), manifest, Split::valid);
    EXPECT_EQ(train.rows, 32);
    EXPECT_EQ(train.shards, 2);
    EXPECT_EQ(train.smallest, 16);
    EXPECT_EQ(valid.rows, 8);
    auto const rows = static_cast<std::int64_t>(std::filesystem::file_size(data() / "rows.h5"));
    EXPECT_EQ(train.bytes + valid.bytes + rows, report.bytes);
}

TEST_F(Verify, finds_a_flipped_byte) {
    auto bytes = read_bytes(data() / "valid-00001.h5");
    bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
    write_text(data() / "valid-00001.h5", bytes);
    auto const found = failures();
    ASSERT_GE(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("valid-00001.h5: hash is ")) << found[0];
    EXPECT_TRUE(found[0].ends_with("; restore the file, or import the dataset again")) << found[0];
}

TEST_F(Verify, finds_all_bad_values_with_file_and_row) {
    std::vector<float> features(32, 1.0F);
    std::vector<std::int64_t> labels(16, 1);
    features[7] = std::numeric_limits<float>::quiet_NaN();
    features[20] = std::numeric_limits<float>::infinity();
    labels[15] = 2;
    labels[0] = -1;
    replace_shard(features, labels);
    EXPECT_EQ(failures(),
              (std::vector<std::string>{"train-00001.h5: row 3: element 1 of '/features' is nan (not a finite number)",
                                        "train-00001.h5: row 10: element 0 of '/features' is inf (not a finite number)",
                                        "train-00001.h5: row 0: label -1 is out of range (dataset.json says 2 classes)",
                                        "train-00001.h5: row 15: label 2 is out of range (dataset.json says 2 classes)"}));
}

TEST_F(Verify, counts_what_it_does_not_spell_out) {
    replace_shard(std::vector<float>(32, 1.0F), std::vector<std::int64_t>(16, 9));
    auto const found = failures();
    ASSERT_EQ(found.size(), 11U);
    EXPECT_EQ(found.back(), "train-00001.h5: 6 more rows with bad values");
}

TEST_F(Verify, finds_wrong_counts_and_missing_files_and_goes_on) {
    replace_shard(std::vector<float>(34, 1.0F), std::vector<std::int64_t>(17, 0));
    std::filesystem::remove(data() / "train-00000.h5");
    EXPECT_EQ(failures(),
              (std::vector<std::string>{
                  "train-00000.h5: no such file (named in dataset.json); restore it or import the dataset again",
                  "train-00001.h5: dataset '/features' is float32 [17, 2] (dataset.json says float32 [16, 2]); import the "
                  "dataset again"}));
    auto const manifest = read_manifest(data());
    EXPECT_EQ(summarise(data(), manifest, Split::train).absent, 1);
}

TEST_F(Verify, finds_statistics_that_are_not_those_of_the_training_rows) {
    auto manifest = read_manifest(data());
    manifest.features.mean[0] *= 1.00001;  // within the tolerance
    write_manifest(data(), manifest);
    EXPECT_EQ(failures(), std::vector<std::string>{});
    manifest.features.stddev[1] = 2;  // of a constant
    write_manifest(data(), manifest);
    EXPECT_EQ(failures(),
              (std::vector<std::string>{data().string() + ": mean and stddev of feature 1 are 1 and 1 (dataset.json "
                                                          "says 1 and 2); import the dataset again"}));
    manifest.features.stddev[1] = 1;
    manifest.features.mean[0] *= 1.001;
    write_manifest(data(), manifest);
    EXPECT_EQ(failures().size(), 1U);
}

// What is found in a dataset of one training shard, whose rows have one feature and two targets.
std::vector<std::string> failures_of(Manifest manifest, std::vector<float> const& features,
                                     std::vector<float> const& targets) {
    TemporaryDirectory const dir;
    manifest.shape = {1};
    manifest.outputs = 2;
    manifest.features.mean = {0};
    manifest.features.stddev = {1};
    ShardWriter writer(dir / "train-00000.h5", manifest, static_cast<std::int64_t>(features.size()));
    writer.append(std::as_bytes(std::span(features)), std::span<float const>(targets));
    manifest.train = {writer.finish()};
    write_manifest(dir.path(), manifest);
    auto out = verify_files(dir.path()).failures;
    for (auto& failure : out) failure.erase(0, dir.path().string().size() + 1);
    return out;
}

TEST(VerifyTasks, labels_of_a_multilabel_are_0_or_1) {
    Manifest manifest;
    manifest.task = Task::multilabel;
    EXPECT_EQ(failures_of(manifest, {-1, 1}, {0, 1, 1, 1}), std::vector<std::string>{});
    EXPECT_EQ(failures_of(manifest, {-1, 1}, {0, 1, 0.5F, 1}),
              (std::vector<std::string>{"train-00000.h5: row 1: element 0 of '/labels' is 0.5 (multilabel: 0 or 1)"}));
    manifest.task = Task::regression;
    EXPECT_EQ(failures_of(manifest, {-1, 1}, {0, 1, 0.5F, 1}), std::vector<std::string>{});
}

TEST(VerifyTasks, categories_are_integers_in_their_range) {
    Manifest manifest;
    manifest.task = Task::regression;
    manifest.categories = {3};
    EXPECT_EQ(failures_of(manifest, {0, 1, 2}, std::vector<float>(6)), std::vector<std::string>{});
    EXPECT_EQ(failures_of(manifest, {0, 3, 1.5F, -1}, std::vector<float>(8)),
              (std::vector<std::string>{
                  "train-00000.h5: row 1: element 0 of '/features' is 3 (dataset.json says a category, 0 to 2)",
                  "train-00000.h5: row 2: element 0 of '/features' is 1.5 (dataset.json says a category, 0 to 2)",
                  "train-00000.h5: row 3: element 0 of '/features' is -1 (dataset.json says a category, 0 to "
                  "2)"}));
}

TEST_F(Verify, links_out_of_the_directory_are_noticed) {
    auto const manifest = read_manifest(data());
    EXPECT_EQ(links_out_of(data(), manifest), "");
    std::filesystem::rename(data() / "train-00000.h5", data() / "real.h5");
    std::filesystem::create_symlink("real.h5", data() / "train-00000.h5");
    EXPECT_EQ(links_out_of(data(), manifest), "") << "a link that stays inside";
    for (std::string const name : {"train-00000.h5", "train-00001.h5"}) {
        std::filesystem::remove(data() / name);
        std::filesystem::create_symlink(data() / "../a.csv", data() / name);
    }
    EXPECT_EQ(links_out_of(data(), manifest),
              "train-00000.h5 leads to " + std::filesystem::canonical(dir_ / "a.csv").string() + " (and 1 more)");
}

}  // namespace verify_test
}  // namespace hopscotch
