// SPDX-License-Identifier: Apache-2.0
// The features of rows: in memory of their own, or in a file that is mapped.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/mapped_file.hpp"

namespace hopscotch {

class RowBytes {
public:
    RowBytes() = default;
    explicit RowBytes(std::vector<std::byte> own) : own_(std::move(own)) {}
    explicit RowBytes(std::shared_ptr<MappedFile const> file) : file_(std::move(file)) {}

    std::vector<std::byte>& own() { return own_; }  // of rows in memory of their own
    std::byte const* data() const { return file_ ? file_->bytes().data() : own_.data(); }
    std::size_t size() const { return file_ ? file_->bytes().size() : own_.size(); }
    std::byte const* begin() const { return data(); }
    std::byte const* end() const { return data() + size(); }
    std::byte const& operator[](std::size_t i) const { return data()[i]; }

private:
    std::vector<std::byte> own_;
    std::shared_ptr<MappedFile const> file_;
};

}  // namespace hopscotch
