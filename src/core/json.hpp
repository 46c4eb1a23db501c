// SPDX-License-Identifier: Apache-2.0
// A JSON value that knows its position in its file, so that later errors can name file, line and column.
// Parsing is strict (duplicate keys are an error); numbers that are not finite are written as null.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hopscotch {

struct Position {
    int line = 0;  // from 1; 0: not from a file
    int column = 0;
};

class Problems;

class Json {
public:
    using Array = std::vector<Json>;
    struct Member;
    using Object = std::vector<Member>;  // in the order of the file

    Json();  // null
    Json(std::nullptr_t);
    Json(bool v);
    Json(int v);
    Json(std::int64_t v);
    Json(std::uint64_t v);  // throws Error above 2^63 - 1: larger numbers, as hashes, go as text
    Json(double v);
    Json(char const* v);
    Json(std::string v);
    Json(std::string_view v);
    Json(Array v);
    Json(Object v);
    template <class T>
    Json(std::vector<T> const& v);

    // Json::object({{"lr", 0.1}, {"name", "sgd"}})
    static Json object(std::initializer_list<std::pair<std::string, Json>> members);

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    bool is_bool() const { return std::holds_alternative<bool>(value_); }
    bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
    bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
    bool is_string() const { return std::holds_alternative<std::string>(value_); }
    bool is_array() const { return std::holds_alternative<Array>(value_); }
    bool is_object() const { return std::holds_alternative<Object>(value_); }
    std::string_view kind() const;  // "null", "a boolean", "an integer", "a number", "a string", "an array", "an object"

    // Throw Error unless the value is of that kind; number() takes integers too.
    bool boolean() const;
    std::int64_t integer() const;
    double number() const;
    std::string const& string() const;
    Array const& array() const;
    Array& array();
    Object const& object() const;
    Object& object();

    Json const* find(std::string_view key) const;        // null if this is not an object or has no such key
    Json const& at(std::string_view key) const;          // throws Error that names the key
    Json& operator[](std::string_view key);              // null becomes an object; a missing key is added
    void set(std::string_view dotted_path, Json value);  // "train.optimizer.lr"; makes the objects on the way

    bool operator==(Json const& other) const;  // values only, not positions; 1 == 1.0
    std::string dump(int indent = -1) const;   // -1: one line

    Position at_position() const { return position_; }
    void place(Position position) { position_ = position; }

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
    Position position_;
};

struct Json::Member {
    std::string key;
    Json value;
    Position key_position;
};

// After Member, which must be complete here (clang asks for it).
inline Json::Json() = default;
inline Json::Json(std::nullptr_t) {}
inline Json::Json(bool v) : value_(v) {}
inline Json::Json(int v) : value_(static_cast<std::int64_t>(v)) {}
inline Json::Json(std::int64_t v) : value_(v) {}
inline Json::Json(double v) : value_(v) {}
inline Json::Json(char const* v) : value_(std::string(v)) {}
inline Json::Json(std::string v) : value_(std::move(v)) {}
inline Json::Json(std::string_view v) : value_(std::string(v)) {}
inline Json::Json(Array v) : value_(std::move(v)) {}
template <class T>
Json::Json(std::vector<T> const& v) : value_(Array(v.begin(), v.end())) {}

// Reports syntax errors and duplicate keys to problems. Null after a syntax error.
Json parse_json(std::string_view text, Problems& problems);

// Of JSON with `//` comments and with commas after the last member, which people write by hand. Both become blanks, so that
// positions stay. Everything else stays as it is.
std::string plain_json(std::string text);

// True if the text is one number beyond the range of double, such as 1e999.
bool is_number_too_large(std::string_view text);

// For files that hopscotch itself wrote. Throws DataError "<name>:<line>:<col>: ...".
Json parse_json_or_throw(std::string_view text, std::string_view name);

}  // namespace hopscotch
