// SPDX-License-Identifier: Apache-2.0
// One dataset of an HDF5 file of another program: any layout, any filter that is installed, any type of number, and texts.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/hdf5_file.hpp"
#include "data/import/array/array_source.hpp"

namespace hopscotch {

// The datasets of a file, in groups too ("train/x"), sorted. DataError if it is not an HDF5 file.
std::vector<std::string> hdf5_datasets(std::filesystem::path const& path);

class Hdf5Array final : public ArraySource {
public:
    // DataError: no such dataset, elements that are not numbers, no rows, a missing filter or file of raw data.
    Hdf5Array(std::filesystem::path path, std::string dataset);

    std::string const& name() const override { return name_; }
    NumberType type() const override { return type_; }  // as read: bfloat16 as float32, float128 as float64
    std::vector<std::int64_t> const& shape() const override { return shape_; }
    void rewind() override { next_row_ = 0; }
    void read(std::int64_t rows, MutableBytes out) override;
    void read_texts(std::int64_t rows, std::vector<std::string>& out) override;
    std::int64_t piece_rows() const override;  // whole chunks: each is unpacked once

private:
    void read_type();
    void read_shape();
    void check_storage();
    void check_filters(Hdf5Id const& properties) const;
    void read_elements(std::int64_t rows, Hdf5Id const& memory_type, void* out);

    std::filesystem::path path_;
    std::string dataset_name_, name_;
    Hdf5Id file_, dataset_, file_type_;
    NumberType type_;
    std::vector<std::int64_t> shape_;
    std::int64_t chunk_rows_ = 1, next_row_ = 0;
};

}  // namespace hopscotch
