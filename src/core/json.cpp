// SPDX-License-Identifier: Apache-2.0
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {
namespace {

// An input iterator that counts lines and columns: nlohmann's SAX interface gives no positions.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = char const*;
    using reference = char const&;

    CountingIterator(char const* at, std::size_t* offset) : at_(at), offset_(offset) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*offset_;
        return *this;
    }
    CountingIterator operator++(int) {
        auto before = *this;
        ++*this;
        return before;
    }
    bool operator==(CountingIterator const& other) const { return at_ == other.at_; }

private:
    char const* at_;
    std::size_t* offset_;
};

constexpr std::size_t k_deepest = 500;

std::string too_large(std::string_view number) {
    return fmt::format("{} is too large for a number (at most about 1.8e308); write a smaller one", number.substr(0, 40));
}

// Builds the tree from SAX events. `offset` is just after the token that an event reports (one further for numbers).
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Builder(std::string_view text, std::size_t const& offset, Problems& problems)
        : text_(text), offset_(offset), problems_(problems), line_starts_{0} {
        for (std::size_t i = 0; i < text.size(); ++i)
            if (text[i] == '\n') line_starts_.push_back(i + 1);
    }

    bool null() override { return add(Json()); }
    bool boolean(bool v) override { return add(Json(v)); }
    bool number_integer(number_integer_t v) override { return add(Json(static_cast<std::int64_t>(v))); }
    bool number_unsigned(number_unsigned_t v) override {
        return v > static_cast<number_unsigned_t>(INT64_MAX) ? add(Json(static_cast<double>(v)))
                                                             : add(Json(static_cast<std::int64_t>(v)));
    }
    bool number_float(number_float_t v, string_t const&) override { return add(Json(v)); }
    bool string(string_t& v) override { return add(Json(v)); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(Json(Json::Object{})); }
    bool start_array(std::size_t) override { return open(Json(Json::Array{})); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& v) override {
        auto const at = token_start();
        if (auto const [first, is_new] = lines_of_keys_.back().try_emplace(v, at.line); !is_new)
            problems_.add(at, path() + "/" + v,
                          fmt::format("duplicate key (first at line {}); remove one of the two", first->second));
        stack_.back()->object().push_back({v, Json(), at});
        return true;
    }
    bool parse_error(std::size_t position, std::string const& token, nlohmann::json::exception const& error) override {
        std::string what = error.what();
        if (what.find("number overflow") != what.npos) {
            problems_.add(token_start(), path_of_next(), too_large(token));
            return false;
        }
        if (auto colon = what.rfind("syntax error"); colon != what.npos) what = what.substr(colon);
        if (what.find("ill-formed UTF-8") != what.npos)
            what = "is not UTF-8 (this byte belongs to another encoding); save the file as UTF-8";
        if (text_.find_first_not_of(" \t\r\n") == text_.npos) what = "the file is empty (expected one JSON object)";
        problems_.add(place(position > 0 ? position - 1 : 0), path(), what);
        return false;
    }

    Json root;

private:
    Position place(std::size_t offset) const {
        offset = std::min(offset, text_.size());
        auto const next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
        return {static_cast<int>(next - line_starts_.begin()), static_cast<int>(offset - *(next - 1)) + 1};
    }
    // Where the token that ends at offset_ began: scan back over it. Strings may hold escaped quotes.
    Position token_start() const {
        std::size_t end = std::min(offset_, text_.size());
        while (end > 0 && std::string_view(" \t\r\n,:]}").find(text_[end - 1]) != std::string_view::npos &&
               text_[end - 1] != '"')
            --end;
        if (end == 0) return place(0);
        std::size_t start = end - 1;
        if (text_[start] == '"') {
            do --start;
            while (start > 0 && !(text_[start] == '"' && !escaped(start)));
        } else if (text_[start] != '{' && text_[start] != '[') {
            while (start > 0 && std::string_view(" \t\r\n,:[{").find(text_[start - 1]) == std::string_view::npos) --start;
        }
        return place(start);
    }
    bool escaped(std::size_t at) const {
        std::size_t slashes = 0;
        while (at > slashes && text_[at - 1 - slashes] == '\\') ++slashes;
        return slashes % 2 == 1;
    }
    // Of the innermost open object or array. Inside an open array its last element is the one that is open.
    std::string path() const {
        std::string out;
        for (std::size_t i = 0; i + 1 < stack_.size(); ++i)
            out += stack_[i]->is_object() ? fmt::format("/{}", stack_[i]->object().back().key)
                                          : fmt::format("/{}", stack_[i]->array().size() - 1);
        return out;
    }
    // Of the value that comes next.
    std::string path_of_next() const {
        if (stack_.empty()) return "";
        auto const& open = *stack_.back();
        return fmt::format("{}/{}", path(),
                           open.is_object() ? open.object().back().key : std::to_string(open.array().size()));
    }
    Json* put(Json value) {
        value.place(token_start());
        if (stack_.empty()) return &(root = std::move(value));
        auto& parent = *stack_.back();
        if (parent.is_array()) return &parent.array().emplace_back(std::move(value));
        return &(parent.object().back().value = std::move(value));
    }
    bool add(Json value) {
        put(std::move(value));
        return true;
    }
    bool open(Json value) {
        if (stack_.size() >= k_deepest) {  // every later walk over the tree is recursive
            problems_.add(token_start(), path(), fmt::format("nested too deeply (more than {} levels)", k_deepest));
            return false;
        }
        stack_.push_back(put(std::move(value)));  // a parent's vector does not grow while its child is open
        lines_of_keys_.emplace_back();
        return true;
    }
    bool close() {
        stack_.pop_back();
        lines_of_keys_.pop_back();
        return true;
    }

    std::string_view text_;
    std::size_t const& offset_;
    Problems& problems_;
    std::vector<std::size_t> line_starts_;
    std::vector<Json*> stack_;
    std::vector<std::unordered_map<std::string, int>> lines_of_keys_;  // of each open object
};

nlohmann::ordered_json to_nlohmann(Json const& json) {
    if (json.is_bool()) return json.boolean();
    if (json.is_integer()) return json.integer();
    if (json.is_number()) return json.number();  // nlohmann writes null for numbers that are not finite
    if (json.is_string()) return json.string();
    if (json.is_array()) {
        auto out = nlohmann::ordered_json::array();
        for (auto const& item : json.array()) out.push_back(to_nlohmann(item));
        return out;
    }
    if (json.is_object()) {
        auto out = nlohmann::ordered_json::object();
        for (auto const& member : json.object()) out[member.key] = to_nlohmann(member.value);
        return out;
    }
    return nullptr;
}

template <class T, class Variant>
auto& expect(Variant& value, std::string_view wanted, Json const& json) {
    auto* held = std::get_if<T>(&value);
    if (held == nullptr) [[unlikely]]  // the text is made only then
        require(false, fmt::format("expected {} (got {})", wanted, json.kind()));
    return *held;
}

}  // namespace

Json::Json(Object v) : value_(std::move(v)) {}
Json::Json(std::uint64_t v) : value_(static_cast<std::int64_t>(v)) {
    require(v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
            fmt::format("{} is too large for a number of JSON (at most 2^63 - 1); write text", v));
}

Json Json::object(std::initializer_list<std::pair<std::string, Json>> members) {
    Object out;
    for (auto const& [key, value] : members) out.push_back({key, value, {}});
    return Json(std::move(out));
}

std::string_view Json::kind() const {
    constexpr std::string_view names[] = {"null",     "a boolean", "an integer", "a number",
                                          "a string", "an array",  "an object"};
    return names[value_.index()];
}

bool Json::boolean() const { return expect<bool>(value_, "a boolean", *this); }
std::int64_t Json::integer() const { return expect<std::int64_t>(value_, "an integer", *this); }
double Json::number() const {
    return is_integer() ? static_cast<double>(integer()) : expect<double>(value_, "a number", *this);
}
std::string const& Json::string() const { return expect<std::string>(value_, "a string", *this); }
Json::Array const& Json::array() const { return expect<Array>(value_, "an array", *this); }
Json::Array& Json::array() { return expect<Array>(value_, "an array", *this); }
Json::Object const& Json::object() const { return expect<Object>(value_, "an object", *this); }
Json::Object& Json::object() { return expect<Object>(value_, "an object", *this); }

Json const* Json::find(std::string_view key) const {
    if (!is_object()) return nullptr;
    for (auto const& member : object())
        if (member.key == key) return &member.value;
    return nullptr;
}

Json const& Json::at(std::string_view key) const {
    auto const* found = find(key);
    if (found == nullptr) [[unlikely]]
        require(false, fmt::format("key '{}' is missing", key));
    return *found;
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) value_ = Object{};
    for (auto& member : object())
        if (member.key == key) return member.value;
    return object().emplace_back(Member{std::string(key), Json(), {}}).value;
}

void Json::set(std::string_view dotted_path, Json value) {
    auto const dot = dotted_path.find('.');
    auto& child = (*this)[dotted_path.substr(0, dot)];
    if (dot == dotted_path.npos) {
        auto const position = child.position_;
        child = std::move(value);
        if (child.position_.line == 0) child.position_ = position;
    } else {
        if (!child.is_object()) child = Json(Object{});
        child.set(dotted_path.substr(dot + 1), std::move(value));
    }
}

bool Json::operator==(Json const& other) const {
    if (is_number() && other.is_number()) {
        if (is_integer() && other.is_integer()) return integer() == other.integer();
        return number() == other.number();
    }
    if (is_array() && other.is_array()) return array() == other.array();
    if (is_object() && other.is_object()) {
        if (object().size() != other.object().size()) return false;
        for (auto const& member : object()) {
            auto const* match = other.find(member.key);
            if (match == nullptr || !(*match == member.value)) return false;
        }
        return true;
    }
    if (value_.index() != other.value_.index()) return false;
    if (is_bool()) return boolean() == other.boolean();
    return is_null() || string() == other.string();
}

std::string Json::dump(int indent) const {
    return to_nlohmann(*this).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json parse_json(std::string_view text, Problems& problems) {
    std::size_t offset = 0;
    std::size_t unused = 0;
    Builder builder(text, offset, problems);
    bool const complete = nlohmann::json::sax_parse(CountingIterator(text.data(), &offset),
                                                    CountingIterator(text.data() + text.size(), &unused), &builder);
    return complete ? std::move(builder.root) : Json();
}

bool is_number_too_large(std::string_view text) {
    Problems told("");
    parse_json(text, told);
    return told.entries().size() == 1 && told.entries().front().problem == too_large(text);
}

std::string plain_json(std::string text) {
    bool in_string = false;
    char before = '\0';  // the last character that is neither space nor comment
    std::size_t comma = text.npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
            continue;
        }
        if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
            for (; i < text.size() && text[i] != '\n' && text[i] != '\r'; ++i) text[i] = ' ';
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
        if ((c == '}' || c == ']') && comma != text.npos) text[comma] = ' ';
        bool const behind_member = before != ',' && before != '{' && before != '[' && before != ':' && before != '\0';
        comma = c == ',' && behind_member ? i : text.npos;
        before = c;
        in_string = c == '"';
    }
    return text;
}

Json parse_json_or_throw(std::string_view text, std::string_view name) {
    Problems problems{std::string(name)};
    auto json = parse_json(text, problems);
    if (!problems.empty()) throw DataError(problems.text());
    return json;
}

}  // namespace hopscotch
