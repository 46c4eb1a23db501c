// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.hpp"

#include <algorithm>
#include <array>

namespace hopscotch::fuzz {
namespace {

constexpr char k_raw = '\1';  // a string that begins with it is written without quotes

Json raw(std::string_view token) { return Json(std::string(1, k_raw).append(token)); }

std::string nested(std::string_view open, std::string_view close, std::size_t depth) {
    std::string out;
    for (std::size_t i = 0; i < depth; ++i) out += open;
    out += "1";
    for (std::size_t i = 0; i < depth; ++i) out += close;
    return out;
}

Json odd_token(Rng& rng) {
    static std::vector<std::string> const tokens{"1e999",
                                                 "-1e999",
                                                 "1e-999",
                                                 "-0",
                                                 "-0.0",
                                                 "NaN",
                                                 "Infinity",
                                                 "1e400",
                                                 "1E308",
                                                 "-1E308",
                                                 "5e-324",
                                                 "0x10",
                                                 "01",
                                                 "+1",
                                                 ".5",
                                                 "1.",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "-9223372036854775808",
                                                 "-9223372036854775809",
                                                 "18446744073709551615",
                                                 "18446744073709551616",
                                                 "4294967296",
                                                 "4294967297",
                                                 "2147483648",
                                                 "-2147483649",
                                                 "1e18",
                                                 "1e19",
                                                 "9007199254740993",
                                                 "999999999999999999999999999999999999999999",
                                                 "\"\\u0000\"",
                                                 "\"a\\u0000b\"",
                                                 "\"\\ud800\"",
                                                 "\"\xff\xfe\"",
                                                 "\"\xc0\xaf\"",
                                                 "\"unfinished",
                                                 "'single'",
                                                 "tru",
                                                 "",
                                                 "{",
                                                 "[",
                                                 "}",
                                                 "]",
                                                 ",",
                                                 "{\"a\":1,\"a\":2}",
                                                 "/* */ 1",
                                                 "\"\t\""};
    return raw(any_of(rng, tokens));
}

Json odd_value(Rng& rng) {
    switch (rng.below(14)) {
        case 0: return nullptr;
        case 1: return Json(rng.below(2) == 0);
        case 2: return Json(static_cast<std::int64_t>(odd_number(rng.below(64), rng)));
        case 3: return Json(-static_cast<std::int64_t>(rng.below(1000)));
        case 4: return Json(rng.normal() * std::array{1e-9, 1.0, 1e9, 1e300}[rng.below(4)]);
        case 5: return Json(odd_path(rng));
        case 6: return Json(std::string(std::size_t{1} << rng.below(18), 'x'));
        case 7: return Json(Json::Array{});
        case 8: return Json(Json::Object{});
        case 9: return Json(Json::Array(below(rng, 200), Json(static_cast<std::int64_t>(rng.below(5)))));
        case 10: return raw(nested("[", "]", below(rng, one_in(rng, 20) ? 100000 : 700)));
        case 11: return raw(nested("{\"a\":", "}", below(rng, 700)));
        case 12: return Json(std::string());
        default: return odd_token(rng);
    }
}

std::string odd_key(std::string const& key, Rng& rng) {
    switch (rng.below(8)) {
        case 0: return "";
        case 1: return key + "x";
        case 2: return key.substr(0, key.size() / 2);
        case 3: return odd_path(rng);
        case 4: return std::string(std::size_t{1} << rng.below(18), 'k');
        case 5: return std::string("\0", 1) + key;
        case 6: return key + "." + key;
        default: {
            auto swapped = key;
            if (swapped.size() > 1) std::swap(swapped[0], swapped[1]);
            return swapped;
        }
    }
}

void collect(Json& value, std::vector<Json*>& out) {
    out.push_back(&value);
    if (value.is_array())
        for (auto& item : value.array()) collect(item, out);
    if (value.is_object())
        for (auto& member : value.object()) collect(member.value, out);
}

void change_scalar(Json& value, Rng& rng) {
    if (value.is_integer() && !one_in(rng, 4)) {
        value = Json(static_cast<std::int64_t>(odd_number(static_cast<std::uint64_t>(value.integer()), rng)));
    } else if (value.is_number() && !one_in(rng, 4)) {
        value = Json(value.number() * std::array{-1.0, 0.0, 1e9, 1e-9, 1e300}[rng.below(5)]);
    } else if (value.is_string() && !one_in(rng, 4)) {
        value = one_in(rng, 3) ? Json(odd_path(rng)) : Json(mutated_bytes(value.string(), rng));
        if (value.string().starts_with(k_raw)) value = Json("x");
    } else {
        value = odd_value(rng);
    }
}

void change_array(Json::Array& items, Rng& rng) {
    auto const at = static_cast<std::ptrdiff_t>(below(rng, items.size()));
    switch (rng.below(5)) {
        case 0: items.insert(items.begin() + at, odd_value(rng)); break;
        case 1:
            if (!items.empty()) items.erase(items.begin() + at);
            break;
        case 2: items.clear(); break;
        case 3:
            if (!items.empty()) std::swap(items[below(rng, items.size())], items[static_cast<std::size_t>(at)]);
            break;
        default:
            if (!items.empty()) {
                auto const item = items[static_cast<std::size_t>(at)];
                items.insert(items.end(), one_in(rng, 20) ? 3000 : 1 + below(rng, 5), item);
            }
    }
}

void change_object(Json::Object& members, Rng& rng) {
    if (members.empty()) return members.push_back({odd_key("key", rng), odd_value(rng), {}});
    auto const at = below(rng, members.size());
    auto const other = below(rng, members.size());
    switch (rng.below(6)) {
        case 0: members.erase(members.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: members[at].key = odd_key(members[at].key, rng); break;
        case 2: {
            auto const twice = members[at];  // with another value, or the same
            for (auto copies = one_in(rng, 20) ? 3000 : 1; copies > 0; --copies) members.push_back(twice);
            break;
        }
        case 3: std::swap(members[at].value, members[other].value); break;
        case 4: members.push_back({odd_key(members[at].key, rng), members[other].value, {}}); break;
        default: members[at].key = members[other].key;
    }
}

void change(Json& document, Rng& rng) {
    std::vector<Json*> all;
    collect(document, all);
    auto& value = *any_of(rng, all);
    if (one_in(rng, 5)) {
        value = odd_value(rng);
    } else if (one_in(rng, 12)) {
        value = one_in(rng, 2) ? Json(Json::Array{value}) : Json::object({{"a", value}});
    } else if (one_in(rng, 12)) {
        Json const copy = *any_of(rng, all);  // it may hold `value`, or be held by it
        value = copy;
    } else if (value.is_array()) {
        change_array(value.array(), rng);
    } else if (value.is_object()) {
        change_object(value.object(), rng);
    } else {
        change_scalar(value, rng);
    }
}

void quote(std::string_view text, std::string& out) {
    out += '"';
    for (char const c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20)
            out += std::string("\\u00") + "0123456789abcdef"[c / 16] + "0123456789abcdef"[c % 16];
        else
            out += c;
    }
    out += '"';
}

void render(Json const& value, std::string& out) {
    auto const list = [&](auto const& items, char open, char close, auto const& each) {
        out += open;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out += ',';
            each(items[i]);
        }
        out += close;
    };
    if (value.is_array()) {
        list(value.array(), '[', ']', [&](Json const& item) { render(item, out); });
    } else if (value.is_object()) {
        list(value.object(), '{', '}', [&](Json::Member const& member) {
            quote(member.key, out);
            out += ':';
            render(member.value, out);
        });
    } else if (value.is_string() && value.string().starts_with(k_raw)) {
        out += std::string_view(value.string()).substr(1);
    } else if (value.is_string()) {
        quote(value.string(), out);
    } else {
        out += value.dump();
    }
}

}  // namespace

std::string odd_path(Rng& rng) {
    static std::vector<std::string> const paths{"..",
                                                ".",
                                                "/",
                                                "",
                                                "../outside/secret",
                                                "../../../../../../etc/passwd",
                                                "/etc/passwd",
                                                "/dev/zero",
                                                "/dev/null",
                                                "/proc/self/mem",
                                                "checkpoints/../../outside/secret",
                                                "checkpoints/",
                                                "link",
                                                "link/secret",
                                                "a/../../b",
                                                "~/x",
                                                "$(id)",
                                                "a b\n",
                                                "-rf",
                                                "C:\\x",
                                                "//x",
                                                "./train-00000.h5",
                                                std::string("train-00000.h5\0x", 16),
                                                std::string(5000, 'p')};
    return any_of(rng, paths);
}

std::uint64_t odd_number(std::uint64_t near, Rng& rng) {
    auto const power = std::uint64_t{1} << rng.below(64);
    switch (rng.below(8)) {
        case 0: return 0;
        case 1: return ~std::uint64_t{0};
        case 2: return power;
        case 3: return power - 1;
        case 4: return power + near;
        case 5: return ~near + 1;
        case 6: return near + rng.below(16);
        default: return near - 1 - rng.below(16);
    }
}

std::string rendered(Json const& document) {
    std::string out;
    render(document, out);
    return out;
}

std::string mutated_json(Json document, Rng& rng) {
    for (auto changes = one_in(rng, 3) ? 1 + below(rng, 4) : 1; changes > 0; --changes) change(document, rng);
    auto text = rendered(document);
    return one_in(rng, 8) ? mutated_bytes(std::move(text), rng) : text;
}

std::string mutated_bytes(std::string bytes, Rng& rng) {
    constexpr std::string_view special("\0\1\xFF\x7F\x80\",\n\r'(){}:-9", 18);
    for (auto changes = 1 + below(rng, 4); changes > 0 && !bytes.empty(); --changes) {
        auto const at = below(rng, bytes.size()), length = 1 + below(rng, std::min<std::size_t>(bytes.size() - at, 16));
        switch (rng.below(7)) {
            case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8))); break;
            case 1: bytes[at] = special[below(rng, special.size())]; break;
            case 2: bytes.erase(at, length); break;
            case 3: bytes.insert(at, bytes.substr(below(rng, bytes.size()), length)); break;
            case 4: bytes.replace(at, length, std::string(length, static_cast<char>(rng.next_u32()))); break;
            case 5: bytes.append(bytes.substr(at, length)); break;
            default:
                if (one_in(rng, 4)) bytes.resize(at);
        }
    }
    return bytes;
}

}  // namespace hopscotch::fuzz
