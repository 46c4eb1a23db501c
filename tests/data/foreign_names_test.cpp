// SPDX-License-Identifier: Apache-2.0
// Names of folders, files, arrays and text labels that are not UTF-8, or that would become equal.
#include "data/import/foreign_names.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include "data/image_fixture.hpp"
#include "data/import/array/array_import.hpp"
#include "data/import/image/image_new_rows.hpp"
#include "data/npy_files.hpp"

namespace hopscotch {
namespace foreign_names_test {

using namespace std::string_literals;

TEST(ForeignNames, bytes_that_are_not_utf8_are_shown_as_numbers) {
    EXPECT_EQ(readable_name("Malmö"), "Malmö");
    EXPECT_EQ(readable_name("Malm\xf6"), "Malm\\xf6");
    EXPECT_EQ(readable_name("\xff\xc3\xb6\xf0\x9f"), "\\xffö\\xf0\\x9f");
}

TEST(ForeignNames, class_folders_are_utf8) {
    for (auto const& above : {""s, "train/"s}) {
        Images images;
        images.two_classes(above);
        images.grey(above + "Malm\xf6/a.png", 3, 2, 1);
        EXPECT_EQ(images.error(), (above.empty() ? "in" : "in/train") +
                                      ": the folder name 'Malm\\xf6' is not UTF-8; rename the folder, since folders name "
                                      "the classes"s);
    }
    Images good;
    good.two_classes();
    good.grey("Malmö/a.png", 3, 2, 1);
    EXPECT_EQ(good.run().manifest.class_names, (std::vector<std::string>{"Malmö", "cat", "dog"}));
}

TEST(ForeignNames, image_files_are_named_readably_in_messages) {
    Images images;
    images.two_classes();
    write_text(images.in("cat/\xe5.png"), "x");
    EXPECT_TRUE(images.error().starts_with("in/cat/\\xe5.png: neither JPEG nor PNG")) << images.error();
}

TEST(ForeignNames, an_id_of_a_new_image_is_utf8) {
    Images images;
    images.two_classes();
    auto const manifest = images.run().manifest;
    images.grey(
        "cat/s\xfc"
        "d.png",
        3, 2, 1);
    EXPECT_EQ(
        thrown<DataError>([&] { new_images(images.in(""), manifest); }, images.dir.path()),
        "in/: the file name 'cat/s\\xfcd.png' is not UTF-8; rename the file or its folder, since the name stands beside "
        "its prediction");
}

std::string npz_error(std::vector<std::pair<std::string, std::string>> const& members) {
    TemporaryDirectory const dir;
    write_text(dir / "a.npz", npz(members));
    ImportArraysOptions options;
    options.sources = {dir / "a.npz"};
    options.out = dir / "out";
    return thrown<DataError>([&] { import_npy_files(options); }, dir.path());
}

TEST(ForeignNames, arrays_of_an_archive) {
    auto const array = npy<float>("<f4", "(2,)", {0, 1});
    EXPECT_EQ(npz_error({{"x", array}, {"\xe9tiquettes", array}}),
              "a.npz: the name of an array, '\\xe9tiquettes' is not UTF-8; save it again with numpy.savez");
    EXPECT_EQ(npz_error({{"x", array}, {"y", array}, {"x", array}}),
              "a.npz: has two arrays named 'x'; save it again with other names");
    EXPECT_EQ(npz_error({{"x", array}, {"y", npy<std::uint32_t>("<U1", "(2,)", {97, 98})}}),
              "a.npz:y: holds texts (dtype '<U1'); save numbers, of labels numpy.unique(labels, return_inverse=True)[1]");
}

// Labels of four rows in an HDF5 file, as fixed texts of 6 bytes, or of any length.
class Hdf5Labels {
public:
    Hdf5Labels(std::vector<std::string> const& labels, H5T_str_t padding, H5T_cset_t characters, bool fixed = true) {
        auto const file = H5Fcreate((dir_ / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        float const numbers[4] = {1, 2, 3, 4};
        write(file, "x", H5T_NATIVE_FLOAT, numbers);
        auto const type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, fixed ? 6 : H5T_VARIABLE);
        H5Tset_strpad(type, padding);
        H5Tset_cset(type, characters);
        std::string all;
        std::vector<char const*> pointers;
        for (auto const& label : labels) {
            all += label + std::string(6 - label.size(), padding == H5T_STR_SPACEPAD ? ' ' : '\0');
            pointers.push_back(label.c_str());
        }
        write(file, "y", type, fixed ? static_cast<void const*>(all.data()) : pointers.data());
        H5Tclose(type);
        H5Fclose(file);
        options_.sources = {dir_ / "a.h5"};
        options_.out = dir_ / "out";
        options_.valid = 0;
    }
    std::vector<std::string> classes() const { return import_h5_files(options_).manifest.class_names; }
    std::string error() const {
        return thrown<DataError>([&] { classes(); }, dir_.path());
    }

private:
    static void write(hid_t file, char const* name, hid_t type, void const* data) {
        hsize_t const rows = 4;
        auto const space = H5Screate_simple(1, &rows, nullptr);
        auto const set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        H5Dclose(set);
        H5Sclose(space);
    }
    TemporaryDirectory dir_;
    ImportArraysOptions options_;
};

TEST(ForeignNames, text_labels_of_hdf5_are_utf8_whatever_their_type_says) {
    for (auto const characters : {H5T_CSET_ASCII, H5T_CSET_UTF8})
        for (auto const padding : {H5T_STR_NULLPAD, H5T_STR_NULLTERM, H5T_STR_SPACEPAD})
            for (bool const fixed : {true, false}) {
                EXPECT_EQ(Hdf5Labels({"a", "b",
                                      "s\xfc"
                                      "d",
                                      "s\xf6"
                                      "d"},
                                     padding, characters, fixed)
                              .error(),
                          "a.h5:y: row 2: the label 's\\xfcd' is not UTF-8; save the labels as UTF-8, for example with "
                          "h5py.string_dtype('utf-8')");
                EXPECT_EQ(Hdf5Labels({"a", "b", "süd", "süd"}, padding, characters, fixed).classes(),
                          (std::vector<std::string>{"a", "b", "süd"}));
            }
}

TEST(ForeignNames, text_labels_never_merge) {
    for (auto const padding : {H5T_STR_NULLPAD, H5T_STR_SPACEPAD})
        EXPECT_EQ(Hdf5Labels({"a\0b"s, "a\0c"s, "d", "d"}, padding, H5T_CSET_ASCII).error(),
                  "a.h5:y: row 0: the label 'a' goes on behind a NUL character; correct it");
    EXPECT_EQ(Hdf5Labels({"a", "a ", " a", "a  "}, H5T_STR_NULLPAD, H5T_CSET_ASCII).classes(),
              (std::vector<std::string>{" a", "a", "a ", "a  "}));
    EXPECT_EQ(Hdf5Labels({"a", "a ", " a", "a  "}, H5T_STR_NULLTERM, H5T_CSET_UTF8, false).classes(),
              (std::vector<std::string>{" a", "a", "a ", "a  "}));
}

TEST(ForeignNames, class_names_of_cifar) {
    TemporaryDirectory const dir;
    std::string batch;
    for (int i = 0; i < 10; ++i) batch += static_cast<char>(i) + std::string(3072, 'x');
    write_text(dir / "data_batch_1.bin", batch);
    ImportOptions options;
    options.sources = {dir / "data_batch_1.bin"};
    options.out = dir / "out";
    for (auto const& [bad, why] :
         {std::pair{"K\xe4se\n"s, "batches.meta.txt: the class name 'K\\xe4se' is not UTF-8; save the file as UTF-8"s},
          {"a\n"s, "batches.meta.txt: two classes are named 'a'; correct it or remove it"s}}) {
        write_text(dir / "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\n" + bad);
        EXPECT_EQ(thrown<DataError>([&] { import_cifar_files(options); }, dir.path()), why);
    }
}

}  // namespace foreign_names_test
}  // namespace hopscotch
