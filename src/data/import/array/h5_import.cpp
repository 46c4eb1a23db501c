// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.hpp"
#include "data/import/array/array_dataset.hpp"
#include "data/import/array/array_names.hpp"
#include "data/import/array/hdf5_array.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {

ImportReport import_h5_files(ImportArraysOptions const& options) {
    check_import_options(options);
    std::vector<ArrayPart> parts;
    std::vector<ArrayPair> arrays;
    Json::Array sources;
    std::string chosen;
    for (auto const& source : options.sources) {
        auto const names = hdf5_datasets(source);
        chosen = why_chosen(options, names, NameMatch::whole);
        for (auto const& pair : pair_arrays(names, NameMatch::whole, options, source.string())) {
            parts.push_back({std::make_unique<Hdf5Array>(source, pair.features),
                             std::make_unique<Hdf5Array>(source, pair.labels), pair.split});
            arrays.push_back(pair);
        }
        sources.emplace_back(file_name(source));
    }
    auto provenance = Json::object(
        {{"importer", "h5"}, {"sources", std::move(sources)}, {"arrays", arrays_json(arrays)}, {"chosen", chosen}});
    return import_arrays(options, parts, std::move(provenance));
}

}  // namespace hopscotch
