// SPDX-License-Identifier: Apache-2.0
// Arrays that NumPy and h5py wrote (write_foreign_files.py). Runs only where that Python is.
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/dataset_rows.hpp"
#include "data/import/array/array_import.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace foreign_files_test {

std::filesystem::path foreign() {
    auto const* dir = std::getenv("HOPSCOTCH_FOREIGN_FILES");
    require(dir != nullptr, "HOPSCOTCH_FOREIGN_FILES names the directory that write_foreign_files.py filled");
    return dir;
}

Rows expected(int modulus = 100, int rows = 60) {
    Rows out;
    for (int r = 0; r < rows; ++r) {
        out.emplace_back();
        for (int i = 0; i < 6; ++i) out.back().push_back(static_cast<float>((5 * r + 3 * i) % 100 % modulus));
        out.back().push_back(static_cast<float>(r % 3));
    }
    std::sort(out.begin(), out.end());
    return out;
}

struct Import {
    TemporaryDirectory dir;
    ImportArraysOptions options;
    explicit Import(std::vector<std::string> const& files) {
        for (auto const& file : files) options.sources.push_back(foreign() / file);
        options.out = dir / "out";
    }
    Rows npy() const {
        import_npy_files(options);
        return all_rows(options.out);
    }
    Rows h5() const {
        import_h5_files(options);
        return all_rows(options.out);
    }
    template <class Exception = DataError>
    std::string h5_error() const {
        return thrown<Exception>([&] { import_h5_files(options); }, foreign());
    }
};

TEST(ForeignFiles, npy_of_every_type) {
    int files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(foreign())) {
        auto const name = entry.path().filename().string();
        if (!name.starts_with("npy") || !name.ends_with("features.npy")) continue;
        EXPECT_EQ(Import({name, "npy labels.npy"}).npy(), expected()) << name;
        ++files;
    }
    EXPECT_EQ(files, 23);
}

TEST(ForeignFiles, npy_that_is_refused) {
    EXPECT_EQ(thrown<DataError>([] { Import({"fortran.npy", "npy labels.npy"}).npy(); }, foreign()),
              "fortran.npy: is in Fortran order (columns first); save numpy.ascontiguousarray(array) instead");
    EXPECT_EQ(thrown<DataError>([] { Import({"objects.npy", "npy labels.npy"}).npy(); }, foreign()),
              "objects.npy: holds Python objects (dtype '|O'); save numbers, for example array.astype(numpy.float32)");
}

TEST(ForeignFiles, npz) {
    for (auto const* name : {"stored.npz", "deflated.npz", "zip64.npz"}) EXPECT_EQ(Import({name}).npy(), expected()) << name;
}

TEST(ForeignFiles, h5_of_every_layout) {
    std::vector<std::string> names{"contiguous.h5", "gzip.h5",  "big_endian.h5", "float16.h5",
                                   "float64.h5",    "int64.h5", "virtual.h5"};
    for (auto const& name : names) EXPECT_EQ(Import({name}).h5(), expected()) << name;
    EXPECT_EQ(Import({"bool.h5"}).h5(), expected(2));
    EXPECT_EQ(Import({"many.h5"}).h5(), expected(100, 10'000));
    EXPECT_EQ(Import({"part0.h5", "part1.h5"}).h5(), expected());
}

TEST(ForeignFiles, h5_texts_become_classes) {
    for (auto const* name : {"texts.h5", "fixed_texts.h5"}) {
        Import const import({name});
        EXPECT_EQ(import.h5(), expected()) << name;
        EXPECT_EQ(read_manifest(import.options.out).class_names, (std::vector<std::string>{"ant", "bee", "cat"}));
    }
}

TEST(ForeignFiles, h5_that_is_refused) {
    EXPECT_EQ(Import({"compound.h5"}).h5_error(), "compound.h5:x: holds structures; numbers are needed");
    EXPECT_EQ(Import({"lengths.h5"}).h5_error(),
              "lengths.h5:x has 60 rows and lengths.h5:y has 59 (each row needs its label); choose arrays of one length");
    EXPECT_EQ(Import({"unnamed.h5"}).h5_error<ConfigError>(),
              "unnamed.h5: no features found by name (there is a, b); choose with --features NAME");
    EXPECT_EQ(Import({"virtual_gone.h5"}).h5_error(),
              "virtual_gone.h5:x: its source gone.h5 is missing (a virtual dataset); copy that file too");
    Import chosen({"unnamed.h5"});
    chosen.options.features = "a";
    chosen.options.labels = "/b";
    EXPECT_EQ(chosen.h5(), expected());
}

TEST(ForeignFiles, h5_filters_that_are_missing_are_named) {
    Import const import({"lzf.h5"});
    auto const text = import.h5_error();
    if (text.empty()) {  // the plug-in is installed here
        EXPECT_EQ(all_rows(import.options.out), expected());
    } else {
        EXPECT_EQ(text,
                  "lzf.h5:x: packed with HDF5 filter 32000 (lzf), which is not installed; install the Debian package "
                  "hdf5-plugin-lzf, or save the file with compression='gzip'");
    }
    if (std::filesystem::exists(foreign() / "szip.h5")) {  // not every h5py can write it
        EXPECT_EQ(Import({"szip.h5"}).h5(), expected());
    }
}

}  // namespace foreign_files_test
}  // namespace hopscotch
