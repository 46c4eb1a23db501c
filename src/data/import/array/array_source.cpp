// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_converted_bytes = 1 << 20;
constexpr std::int64_t k_most_piece_rows = 4096;
constexpr std::size_t k_largest_row = 1 << 30;

}  // namespace

std::string name_of(NumberType type) {
    switch (type.kind) {
        case NumberKind::boolean: return "bool";
        case NumberKind::text: return "text";
        case NumberKind::unsigned_integer: return fmt::format("uint{}", type.bytes * 8);
        case NumberKind::integer: return fmt::format("int{}", type.bytes * 8);
        case NumberKind::real: return fmt::format("float{}", type.bytes * 8);
    }
    return "";
}

void ArraySource::read_texts(std::int64_t, std::vector<std::string>&) { throw Error(name() + ": holds no texts"); }

std::size_t ArraySource::row_elements() const {
    std::size_t out = 1;
    for (std::size_t i = 1; i < shape().size(); ++i) out *= static_cast<std::size_t>(shape()[i]);
    return out;
}

std::int64_t ArraySource::piece_rows() const {
    auto const rows = static_cast<std::int64_t>(k_converted_bytes / std::max<std::size_t>(row_bytes(), 1));
    return std::clamp<std::int64_t>(rows, 1, k_most_piece_rows);
}

RowCursor::RowCursor(ArraySource& source) : source_(source), left_(source.rows()) {
    if (source_.row_bytes() > k_largest_row)
        throw DataError(fmt::format("{}: {} bytes a row (at most 1 GiB); is the first size of its shape the number of rows?",
                                    source_.name(), source_.row_bytes()));
    source_.rewind();
}

void RowCursor::refill() {
    require(left_ > 0, "no row is left");
    in_piece_ = std::min(left_, source_.piece_rows());
    left_ -= in_piece_;
    at_ = 0;
    if (source_.type().kind == NumberKind::text) {
        texts_.clear();
        return source_.read_texts(in_piece_, texts_);
    }
    piece_.resize(static_cast<std::size_t>(in_piece_) * source_.row_bytes());
    source_.read(in_piece_, piece_);
}

ByteView RowCursor::next() {
    if (at_ == in_piece_) refill();
    auto const bytes = source_.row_bytes();
    return ByteView(piece_).subspan(static_cast<std::size_t>(at_++) * bytes, bytes);
}

std::string const& RowCursor::next_text() {
    if (at_ == in_piece_) refill();
    return texts_[static_cast<std::size_t>(at_++)];
}

float to_float(Half half) {
    auto const sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    auto const exponent = (half.bits >> 10) & 0x1FU;
    auto const fraction = static_cast<std::uint32_t>(half.bits & 0x3FFU);
    if (exponent == 0) {  // zero and subnormal numbers: fraction * 2^-24
        auto const value = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -value : value;
    }
    auto const wide = exponent == 31 ? 255U : exponent + 112U;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace hopscotch
