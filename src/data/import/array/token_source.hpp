// SPDX-License-Identifier: Apache-2.0
// A file of tokens as an array of integers: a npy, or any other file, whose bytes are the tokens.
#pragma once
#include <filesystem>
#include <memory>

#include "data/import/array/array_source.hpp"

namespace hopscotch {

// Throws DataError: unreadable, empty, a npy that is not one row of integers.
std::unique_ptr<ArraySource> open_tokens(std::filesystem::path const& path);

bool is_npy(std::filesystem::path const& path);  // by its extension

// The tokens one by one. One that int64 cannot hold is INT64_MAX, which no vocabulary holds either.
class TokenReader {
public:
    explicit TokenReader(ArraySource& source);  // rewinds
    std::int64_t next();

private:
    void refill();

    ArraySource& source_;
    std::vector<std::byte> bytes_;
    std::vector<std::int64_t> piece_;
    std::int64_t left_;
    std::size_t at_ = 0;
};

}  // namespace hopscotch
