// SPDX-License-Identifier: Apache-2.0
// What a reader says of its keys, beside reading them: meaning, type, default and range. A watcher hears it, so that a
// schema and a reference of the keys come from the code that reads them (core/json_reader.hpp; experiment/schema.hpp).
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

// The name of a key, and its meaning in one sentence. Converts from any text, where nobody describes the key.
struct Key {
    template <std::convertible_to<std::string_view> Text>
    Key(Text const& key, std::string_view what = "") : name(key), meaning(what) {}
    std::string_view name, meaning;
};

// The values that a check lets pass, as far as a schema can say it.
struct Allowed {
    std::optional<double> least = {}, above = {}, most = {}, below = {};
    std::vector<std::string> words = {};  // empty: any text
    bool empty_text = true;
};

// Returns why a value is refused ("must be > 0 (got -1)"), or empty.
template <class T>
class Check {
public:
    Check() = default;
    template <std::invocable<T const&> Refuse>
    Check(Refuse refuse, Allowed passing = {}) : allowed(std::move(passing)), refuse_(std::move(refuse)) {}
    std::string operator()(T const& value) const { return refuse_(value); }
    explicit operator bool() const { return static_cast<bool>(refuse_); }

    Allowed allowed;

private:
    std::function<std::string(T const&)> refuse_;
};

// Hears of every key that a reader asks for. The document is empty then; the watcher answers in its place.
class KeyWatcher {
public:
    virtual ~KeyWatcher() = default;

    // object: the path of the object that has the key. schema: members of a JSON Schema, with "default" and "description";
    // "required": true if the key must be given. What is said of a key first holds.
    virtual void key(std::string const& object, std::string_view name, Json schema) = 0;

    // The object has other keys for other values of this one.
    virtual void splits(std::string const& object, std::string_view name) = 0;

    // The object takes any other key, too.
    virtual void open(std::string const& object) = 0;

    virtual Json const* value(std::string const& object, std::string_view name) const = 0;  // null: absent
};

}  // namespace hopscotch
