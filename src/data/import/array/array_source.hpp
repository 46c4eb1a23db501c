// SPDX-License-Identifier: Apache-2.0
// One array of a foreign file (a npy, a member of a npz, an HDF5 dataset), read in row order with memory for one piece.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/byte_view.hpp"

namespace hopscotch {

enum class NumberKind { boolean, unsigned_integer, integer, real, text };

struct NumberType {
    NumberKind kind = NumberKind::real;
    std::size_t bytes = 4;  // of an element; 0 for texts
    bool is_integer() const { return kind == NumberKind::unsigned_integer || kind == NumberKind::integer; }
    bool operator==(NumberType const&) const = default;
};

std::string name_of(NumberType type);  // "float32"

class ArraySource {
public:
    virtual ~ArraySource() = default;
    virtual std::string const& name() const = 0;  // for messages: "a.npy", "a.npz:x", "a.h5:/x"
    virtual NumberType type() const = 0;
    virtual std::vector<std::int64_t> const& shape() const = 0;  // rows first; never empty

    virtual void rewind() = 0;  // to row 0
    // The next rows, in C order and this machine's byte order. Throws DataError: truncated, damaged, a missing filter.
    virtual void read(std::int64_t rows, MutableBytes out) = 0;
    virtual void read_texts(std::int64_t rows, std::vector<std::string>& out);  // if the type is text
    // Call after the last row. DataError if the file goes on, or its checksum is wrong.
    virtual void finish() {}
    virtual std::int64_t piece_rows() const;  // best number of rows to read at once

    std::int64_t rows() const { return shape().front(); }
    std::size_t row_elements() const;
    std::size_t row_bytes() const { return row_elements() * type().bytes; }
};

// Reads a source piece by piece and hands out one row at a time.
class RowCursor {
public:
    explicit RowCursor(ArraySource& source);  // rewinds; DataError for rows of more than 1 GiB
    ByteView next();                          // the next row's bytes, valid until the next call
    std::string const& next_text();
    void finish() { source_.finish(); }

private:
    void refill();

    ArraySource& source_;
    std::vector<std::byte> piece_;
    std::vector<std::string> texts_;
    std::int64_t left_ = 0, in_piece_ = 0, at_ = 0;
};

// IEEE 754 binary16.
struct Half {
    std::uint16_t bits = 0;
};
float to_float(Half half);

// Calls with a value of the C++ type: visit_type(type, [](auto element) { using T = decltype(element); ... }).
template <class Visit>
decltype(auto) visit_type(NumberType type, Visit visit) {
    bool const is_signed = type.kind == NumberKind::integer;
    switch (type.kind) {
        case NumberKind::real: return type.bytes == 2 ? visit(Half{}) : type.bytes == 4 ? visit(float{}) : visit(double{});
        case NumberKind::boolean: return visit(std::uint8_t{});
        default: break;
    }
    switch (type.bytes) {
        case 1: return is_signed ? visit(std::int8_t{}) : visit(std::uint8_t{});
        case 2: return is_signed ? visit(std::int16_t{}) : visit(std::uint16_t{});
        case 4: return is_signed ? visit(std::int32_t{}) : visit(std::uint32_t{});
        default: return is_signed ? visit(std::int64_t{}) : visit(std::uint64_t{});
    }
}

// A row's elements as they are: float for real16, the exact integer for integers.
template <class T>
auto element_at(ByteView row, std::size_t index) {
    T value;
    std::memcpy(&value, row.data() + index * sizeof value, sizeof value);
    if constexpr (std::is_same_v<T, Half>)
        return to_float(value);
    else
        return value;
}

}  // namespace hopscotch
