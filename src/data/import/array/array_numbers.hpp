// SPDX-License-Identifier: Apache-2.0
// Features as float32: the offsets that keep large numbers of tables apart, and the loss without an offset.
#pragma once
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "data/import/array/array_dataset.hpp"
#include "data/import/number_range.hpp"

namespace hopscotch {

// By feature (Manifest::feature_offset), of all rows of all parts; empty: none. For rows of rank 1 that have no ids. Reads
// the arrays once if one of them has float64 or integers of 32 bits or more, else nothing.
std::vector<double> find_offsets(std::vector<ArrayPart> const& parts, std::size_t row_rank);

class FloatRows {
public:
    // offsets: find_offsets(), which must outlive this. row_rank: 1 watches each feature, others all elements together.
    FloatRows(std::vector<double> const& offsets, std::size_t row_rank) : offsets_(offsets), by_feature_(row_rank == 1) {}

    // Less the offsets, exactly. Throws DataError naming row and element for a number that float32 cannot hold.
    void read(ArraySource const& features, ByteView row, std::int64_t number, std::span<float> out);

    std::vector<std::string> decisions() const;  // offsets and losses

private:
    void watch(std::size_t feature, double exact);

    std::vector<double> const& offsets_;
    bool by_feature_;
    std::deque<RoundingWatch> watches_;
};

}  // namespace hopscotch
