// SPDX-License-Identifier: Apache-2.0
// Makes a dataset from arrays: the part that the importers of npy, npz and HDF5 share.
#pragma once
#include <memory>
#include <vector>

#include "data/import/array/array_import.hpp"
#include "data/import/array/array_source.hpp"

namespace hopscotch {

struct ArrayPart {
    std::unique_ptr<ArraySource> features, labels;
    Split split = Split::train;
};

// Imports the rows of all parts in turn. `provenance` names importer, sources and arrays; this function adds the mappings.
// Throws ConfigError, DataError naming file, row and element: shapes that differ, numbers that float32 cannot hold.
ImportReport import_arrays(ImportArraysOptions const& options, std::vector<ArrayPart> const& parts, Json provenance);

}  // namespace hopscotch
