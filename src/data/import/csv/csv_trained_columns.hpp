// SPDX-License-Identifier: Apache-2.0
// The columns of the table that a model was trained on, as best/model.json has them. Private to the reader of new rows.
#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "data/import/csv/csv_columns.hpp"

namespace hopscotch {

struct Manifest;

constexpr std::size_t k_nowhere = std::numeric_limits<std::size_t>::max();

// A column of the training table, and where it is now.
struct TrainedColumn {
    CsvColumn column;
    std::size_t cell = k_nowhere;
    float mean = 0;  // of the training rows
};

// Throws DataError if they do not fit the rows: the file has been changed.
std::vector<TrainedColumn> columns_of(Manifest const& trained);

std::vector<std::string> texts_of(Json const& list);           // of a text, or of a list of texts
std::string text_in(Json const& table, std::string_view key);  // empty: there is none
char delimiter_of(Json const& table);

}  // namespace hopscotch
