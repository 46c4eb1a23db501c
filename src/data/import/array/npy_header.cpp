// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/npy_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <optional>

#include "core/error.hpp"

namespace hopscotch {
namespace {

static_assert(std::endian::native == std::endian::little, "byte orders below are relative to a little-endian machine");

constexpr std::string_view k_magic = "\x93NUMPY";
constexpr std::size_t k_longest_header = 1 << 20;
constexpr std::size_t k_most_dimensions = 32;  // of NumPy before 2.0
constexpr std::string_view k_save_again = "save it again with numpy.save";

// The few Python literals that NumPy writes: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class LiteralReader {
public:
    LiteralReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    [[noreturn]] void fail(std::string_view what) const {
        throw DataError(fmt::format("{}: malformed npy header ({}); {}", name_, what, k_save_again));
    }

    void skip_blanks() {
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    }
    bool accept(char c) {
        skip_blanks();
        if (text_.empty() || text_.front() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail(fmt::format("a '{}' is missing", c));
    }

    std::string_view string() {
        auto const quote = accept('\'') ? '\'' : '"';
        if (quote == '"') expect('"');
        auto const end = text_.find(quote);
        if (end == text_.npos) fail("a quote is never closed");
        auto const out = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return out;
    }

    bool boolean() {
        skip_blanks();
        for (std::string_view const word : {"True", "False"}) {
            if (!text_.starts_with(word)) continue;
            text_.remove_prefix(word.size());
            return word == "True";
        }
        fail("fortran_order is neither True nor False");
    }

    std::vector<std::int64_t> tuple() {
        std::vector<std::int64_t> out;
        expect('(');
        while (!accept(')')) {
            std::int64_t size = 0;
            auto const [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
            if (code != std::errc{} || size < 0) fail("shape has a size that is not a number");
            text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
            accept('L');  // Python 2
            out.push_back(size);
            if (out.size() > k_most_dimensions) fail("more than 32 dimensions");
            if (accept(',')) continue;
            expect(')');
            break;
        }
        return out;
    }

    bool at_list() { return accept('['); }
    bool only_blanks() {
        skip_blanks();
        return text_.empty();
    }

private:
    std::string_view text_, name_;
};

[[noreturn]] void refuse_type(std::string_view descr, std::string_view name) {
    auto const kind = descr.size() > 1 ? descr[1] : '?';
    auto const what = kind == 'O'                  ? "Python objects"
                      : kind == 'U' || kind == 'S' ? "texts"
                      : kind == 'c'                ? "complex numbers"
                      : kind == 'M' || kind == 'm' ? "dates"
                      : kind == 'V'                ? "structures"
                                                   : "unknown elements";
    auto const cure = kind == 'U' || kind == 'S' ? "of labels numpy.unique(labels, return_inverse=True)[1]"
                                                 : "for example array.astype(numpy.float32)";
    throw DataError(fmt::format("{}: holds {} (dtype '{}'); save numbers, {}", name, what, descr, cure));
}

std::optional<NumberKind> kind_of(char c) {
    switch (c) {
        case 'b': return NumberKind::boolean;
        case 'u': return NumberKind::unsigned_integer;
        case 'i': return NumberKind::integer;
        case 'f': return NumberKind::real;
        default: return std::nullopt;
    }
}

void read_type(std::string_view descr, std::string_view name, NpyHeader& out) {
    auto const kind = descr.size() == 3 ? kind_of(descr[1]) : std::nullopt;
    auto const bytes = kind ? static_cast<std::size_t>(descr[2] - '0') : 0;
    auto const known = std::string_view("<>|=").find(descr.empty() ? ' ' : descr[0]) != std::string_view::npos;
    auto const fits = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    if (!kind || !known || !fits || (*kind == NumberKind::boolean && bytes != 1) ||
        (*kind == NumberKind::real && bytes == 1))
        refuse_type(descr, name);
    out.type = {*kind, bytes};
    out.swapped = descr[0] == '>' && bytes > 1;
}

void check_shape(std::string_view name, NpyHeader& out) {
    std::uint64_t bytes = out.type.bytes;
    bool overflows = false;
    for (auto n : out.shape) overflows = overflows || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes);
    if (overflows || bytes > INT64_MAX)
        throw DataError(fmt::format("{}: malformed npy header (more than 2^63 bytes); {}", name, k_save_again));
    if (out.shape.empty())
        throw DataError(
            fmt::format("{}: a single number (its shape is ()); save an array with a row for each example", name));
    for (auto n : out.shape)
        if (n == 0) throw DataError(fmt::format("{}: the array is empty (a size of its shape is 0)", name));
    out.data_bytes = bytes;
}

void read_member(LiteralReader& in, std::string_view key, std::string_view name, NpyHeader& out, bool& fortran) {
    if (key == "descr") {
        if (in.at_list()) refuse_type("|V", name);
        read_type(in.string(), name, out);
    } else if (key == "fortran_order") {
        fortran = in.boolean();
    } else if (key == "shape") {
        out.shape = in.tuple();
    } else {
        in.fail(fmt::format("unknown key '{}'", key));
    }
}

}  // namespace

std::size_t npy_header_bytes(std::string_view prefix, std::string_view name) {
    if (!prefix.starts_with(k_magic) || prefix.size() < k_npy_prefix)
        throw DataError(fmt::format("{}: not a npy file (it does not begin with \\x93NUMPY); {}", name, k_save_again));
    auto const byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(prefix[i])); };
    if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
        throw DataError(fmt::format("{}: npy format {}.{} is unknown (1.0, 2.0 and 3.0 are read); {}", name, byte(6),
                                    byte(7), k_save_again));
    auto const text = byte(8) | byte(9) << 8 | (byte(6) > 1 ? byte(10) << 16 | byte(11) << 24 : 0);
    if (text > k_longest_header)
        throw DataError(fmt::format("{}: malformed npy header ({} bytes long); {}", name, text, k_save_again));
    return (byte(6) > 1 ? 12 : 10) + text;
}

NpyHeader parse_npy_header(std::string_view header, std::string_view name) {
    NpyHeader out;
    out.header_bytes = header.size();
    LiteralReader in(header.substr(header[6] > 1 ? 12 : 10), name);
    bool fortran = false;
    std::string seen;
    in.expect('{');
    while (!in.accept('}')) {
        auto const key = in.string();
        seen += std::string(key) + " ";
        in.expect(':');
        read_member(in, key, name, out, fortran);
        if (in.accept(',')) continue;
        in.expect('}');
        break;
    }
    if (!in.only_blanks()) in.fail("something stands behind the dictionary");
    for (std::string const key : {"descr ", "fortran_order ", "shape "})
        if (seen.find(key) == seen.npos) in.fail(fmt::format("{}is missing", key));
    if (fortran && out.shape.size() > 1)
        throw DataError(
            fmt::format("{}: is in Fortran order (columns first); save numpy.ascontiguousarray(array) instead", name));
    check_shape(name, out);
    return out;
}

}  // namespace hopscotch
