// SPDX-License-Identifier: Apache-2.0
// Arrays in a directory of their own, ready to be imported.
#pragma once
#include <gtest/gtest.h>

#include "data/dataset/verify.hpp"
#include "data/dataset_rows.hpp"
#include "data/import/array/array_import.hpp"
#include "data/npy_files.hpp"
#include "data/support.hpp"

namespace hopscotch {

struct Arrays {
    TemporaryDirectory dir;
    ImportArraysOptions options;

    // An npz of x and y.
    Arrays(std::string const& x, std::string const& y) : Arrays({{"x", x}, {"y", y}}) {}
    explicit Arrays(std::vector<std::pair<std::string, std::string>> const& members) {
        write_text(dir / "a.npz", npz(members, ZipMethod::deflated));
        options.sources = {dir / "a.npz"};
        options.out = dir / "out";
        options.valid = 0.5;
    }
    Manifest run() const {
        auto manifest = import_npy_files(options).manifest;
        EXPECT_EQ(verify_files(options.out).failures, std::vector<std::string>{});
        return manifest;
    }
    template <class Exception = DataError>
    std::string error() const {
        auto const text = thrown<Exception>([&] { import_npy_files(options); }, dir.path());
        EXPECT_FALSE(std::filesystem::exists(options.out));
        return text;
    }
    Rows rows() const { return all_rows(options.out); }
};

}  // namespace hopscotch
