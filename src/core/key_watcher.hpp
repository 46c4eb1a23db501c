// SPDX-License-Identifier: Apache-2.0
// Receives what readers declare about their keys: meaning, type, default and range. So a schema and a reference of the keys
// come from the code that reads them (experiment/schema.hpp).
#pragma once
#include <string>
#include <string_view>

#include "core/json.hpp"

namespace hopscotch {

// Hears of every key that a reader asks for. The document is empty then; the watcher answers in its place.
class KeyWatcher {
public:
    virtual ~KeyWatcher() = default;

    // object: the path of the object that has the key. schema: members of a JSON Schema, with "default" and "description";
    // "required": true if the key must be given. The first call for a key counts.
    virtual void key(std::string const& object, std::string_view name, Json schema) = 0;

    // The object has other keys for other values of this one.
    virtual void splits(std::string const& object, std::string_view name) = 0;

    // The object takes any other key, too.
    virtual void open(std::string const& object) = 0;

    virtual Json const* value(std::string const& object, std::string_view name) const = 0;  // null: absent
};

}  // namespace hopscotch
