// SPDX-License-Identifier: Apache-2.0
// The strict reader: takes known keys out of a JSON object, checks types and ranges, and collects every problem, so that
// the user sees all of them at once as "file:line:col: /path: problem (why); suggestion".
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

class KeyWatcher;  // core/key_watcher.hpp

// All complaints about one document, in the order of the file.
class Problems {
public:
    struct Entry {
        Position at;
        std::string path, problem;  // path: empty if the problem is about the file as a whole
    };

    // watcher: readers with these problems tell the watcher their keys, and read from the watcher instead of the document.
    explicit Problems(std::string file, KeyWatcher* watcher = nullptr) : file_(std::move(file)), watcher_(watcher) {}
    KeyWatcher* watcher() const { return watcher_; }

    void add(Position at, std::string_view path, std::string_view problem);
    void add(std::string_view problem);  // about the file as a whole: "file: problem"
    bool empty() const { return found_.empty(); }
    std::vector<Entry> const& entries() const { return found_; }  // in the order of add()
    std::string text() const;                                     // a line each
    void throw_if_any() const;                                    // ConfigError(text())

    // For a value that does not come from the file ("--set train.epochs=0", about /train/epochs). Place the value at the
    // returned position: complaints about it then name this source instead of file, line and column.
    Position add_source(std::string name, std::string path);

private:
    struct Source {
        std::string name, path;
    };
    std::string line_of(Entry const& entry) const;

    std::string file_;
    KeyWatcher* watcher_;
    std::vector<Entry> found_;
    std::vector<Source> sources_;
};

// The name of a key, and its meaning in one sentence. Converts from any text, for keys without a description.
struct Key {
    template <std::convertible_to<std::string_view> Text>
    Key(Text const& key, std::string_view what = "") : name(key), meaning(what) {}
    std::string_view name, meaning;
};

// The values that a check accepts, as far as a schema can express them.
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

// The known word nearest to `word` (Damerau-Levenshtein, at most a third of its letters wrong), or empty.
std::string nearest(std::string_view word, std::vector<std::string> const& known);

Check<double> at_least(double low);
Check<double> above(double low);
Check<double> between(double low, double high);       // inclusive
Check<double> up_to(double high, Check<double> low);  // and the other check holds
Check<std::string> one_of(std::vector<std::string> allowed);

// The members of a JSON Schema for values of this type that a check accepts.
Json schema_of(Json type, Allowed const& allowed);

// Reads one object. Each read() marks its key as known and leaves the default in place when the key is absent;
// finish() then reports every key that was not read.
class ObjectReader {
public:
    // path: "" for the document, "/train/optimizer" below. A value that is not an object is reported once.
    ObjectReader(Json const& object, std::string path, Problems& problems);

    void read(Key const& key, bool& out);
    void read(Key const& key, std::optional<bool>& out);  // null: none
    void read(Key const& key, std::int64_t& out, Check<double> const& check = {});
    void read(Key const& key, int& out, Check<double> const& check = {});
    void read(Key const& key, std::optional<std::int64_t>& out, Check<double> const& check = {});  // null: none
    void read(Key const& key, double& out, Check<double> const& check = {});
    void read(Key const& key, std::optional<double>& out, Check<double> const& check = {});  // null: none
    void read(Key const& key, std::string& out, Check<std::string> const& check = {});
    void read(Key const& key, std::vector<std::int64_t>& out, Check<double> const& each = {});
    void read(Key const& key, std::vector<std::string>& out);

    Json const* take(std::string_view key);  // marks the key as known; null if absent
    bool has(std::string_view key) const { return find(key) != nullptr; }
    ObjectReader child(Key const& key);                               // an absent child reads as an empty object
    void missing(std::string_view key, std::string_view suggestion);  // report a required key that is absent
    void problem(std::string_view key, std::string_view text);        // report at that key
    std::string path_of(std::string_view key) const;
    // Keys of the same object that another reader takes. finish() uses them only to correct spelling.
    void stand_beside(std::span<std::string_view const> keys) { beside_.assign(keys.begin(), keys.end()); }
    void finish();

    // For a watcher: describes a key that take() reads. schema: without the description.
    void describe(Key const& key, Json schema);
    bool watched() const { return problems_.watcher() != nullptr; }
    void splits(std::string_view key);

private:
    Json const* find(std::string_view key) const;
    template <class T, class Convert>
    void read_as(Key const& key, T& out, std::string_view wanted, Convert convert);

    Json const& object_;
    std::string path_;
    Problems& problems_;
    std::set<std::string, std::less<>> known_;
    std::vector<std::string> beside_;
};

}  // namespace hopscotch
