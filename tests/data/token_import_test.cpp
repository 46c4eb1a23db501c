// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/dataset/verify.hpp"
#include "data/dataset_rows.hpp"
#include "data/import/array/array_import.hpp"
#include "data/npy_files.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace token_import_test {

struct Tokens {
    TemporaryDirectory dir;
    ImportTokensOptions options;

    Tokens(std::string const& name, std::string const& content) {
        add(name, content);
        options.out = dir / "out";
        options.valid = 0.5;
        options.context = 3;
    }
    void add(std::string const& name, std::string const& content) {
        write_text(dir / name, content);
        options.sources.push_back(dir / name);
    }
    Manifest run() const {
        auto manifest = import_token_files(options).manifest;
        EXPECT_EQ(verify_files(options.out).failures, std::vector<std::string>{});
        return manifest;
    }
    std::string error() const {
        return thrown<DataError>([&] { import_token_files(options); }, dir.path());
    }
};

TEST(TokenImport, bytes_are_tokens) {
    Tokens import("a.txt", "abcdefghij\xFF");  // 11 tokens: 3 rows of 3, a label, and one that is dropped
    auto const manifest = import.run();
    EXPECT_EQ(manifest.task, Task::language);
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{3}));
    EXPECT_EQ(manifest.type, FeatureType::uint8);
    EXPECT_EQ(manifest.outputs, 256);
    EXPECT_EQ(manifest.categories, (std::vector<std::int64_t>{256}));
    EXPECT_EQ(manifest.origin.provenance.at("dropped_tokens").dump(), "[1]");
    EXPECT_EQ(all_rows(import.options.out), (Rows{{97, 98, 99, 100}, {100, 101, 102, 103}, {103, 104, 105, 106}}));
}

TEST(TokenImport, a_row_lies_in_one_file) {
    Tokens import("a.npy", npy<std::uint16_t>("<u2", "(7,)", {0, 1, 2, 300, 4, 5, 6}));
    import.add("b.npy", npy<std::int64_t>("<i8", "(6,)", {10, 11, 12, 13, 14, 15}));
    auto const manifest = import.run();
    EXPECT_EQ(manifest.outputs, 301);
    EXPECT_EQ(manifest.type, FeatureType::float32);
    EXPECT_EQ(manifest.origin.provenance.at("dropped_tokens").dump(), "[0,2]");
    EXPECT_EQ(all_rows(import.options.out), (Rows{{0, 1, 2, 300}, {10, 11, 12, 13}, {300, 4, 5, 6}}));
}

TEST(TokenImport, many_pieces) {
    std::vector<std::uint32_t> tokens(200'001);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint32_t>(i * 31 % 50'000);
    Tokens import("a.npy", npy("<u4", "(200001,)", tokens));
    import.options.context = 100;
    import.run();
    auto const rows = all_rows(import.options.out);
    ASSERT_EQ(rows.size(), 2000U);
    for (auto const& row : rows)
        for (std::size_t i = 1; i < row.size(); ++i)
            ASSERT_EQ(row[i], static_cast<float>((static_cast<std::int64_t>(row[i - 1]) + 31) % 50'000));
}

TEST(TokenImport, bad_tokens_are_named) {
    auto const message = [](std::string const& content, std::int64_t vocabulary) {
        Tokens import("a.npy", content);
        import.options.vocabulary = vocabulary;
        return import.error();
    };
    EXPECT_EQ(message(npy<std::int32_t>("<i4", "(5,)", {0, 1, 2, 3, -4}), 0),
              "a.npy: token -4 at position 4 is negative; tokens are 0 and up");
    EXPECT_EQ(
        message(npy<std::int32_t>("<i4", "(5,)", {0, 1, 2, 3, 4}), 4),
        "a.npy: token 4 at position 4 is not below 4 (--vocabulary); choose a larger --vocabulary, or correct the file");
    EXPECT_EQ(
        message(npy<std::uint64_t>("<u8", "(5,)", {0, 1, UINT64_MAX, 3, 4}), 0),
        "a.npy: token 9223372036854775807 at position 2 is not below 16777216 (the largest vocabulary); choose a larger "
        "--vocabulary, or correct the file");
    EXPECT_EQ(message(npy<float>("<f4", "(2,)", {0, 1}), 0), "a.npy: holds float32; tokens are integers");
    EXPECT_EQ(message(npy<std::int32_t>("<i4", "(1, 2)", {0, 1}), 0),
              "a.npy: its shape is 1x2 (tokens are one row of integers); save array.ravel()");
    EXPECT_EQ(message(npy<std::int32_t>("<i4", "(3,)", {0, 1, 2}), 0),
              "a.npy: 3 tokens (a row needs 4: --context and one more); choose a smaller --context");
    EXPECT_EQ(Tokens("empty.txt", "").error(), "empty.txt: the file is empty");
}

TEST(TokenImport, bad_options) {
    Tokens import("a.txt", "abcdefgh");
    import.options.vocabulary = 1;
    EXPECT_EQ(thrown<ConfigError>([&] { import.run(); }),
              "--vocabulary 1: must be between 2 and 2^24 (0: found in the data)");
    import.options.context = 0;
    EXPECT_EQ(thrown<ConfigError>([&] { import.run(); }), "--context 0: must be between 1 and 1048576 tokens");
}

}  // namespace token_import_test
}  // namespace hopscotch
