// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft-07) of a document, from the code that reads the document: the readers run with a watcher instead of
// a document, once for every kind of thing that has keys of its own, and the watcher notes the keys that they ask for.
#pragma once
#include <functional>
#include <string>

#include "core/json_reader.hpp"

namespace hopscotch {

using Readers = std::function<void(Problems&)>;  // all readers of one document, for the watcher of the problems

Json experiment_schema(Readers const& readers);

// The reference of all keys, as Markdown: a list for each object of the document.
std::string schema_markdown(Json const& schema);

}  // namespace hopscotch
