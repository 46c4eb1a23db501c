// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/npy_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "data/import/array/npz_reader.hpp"
#include "data/npy_files.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace npy_reader_test {

std::unique_ptr<NpyReader> open(std::filesystem::path const& path) {
    return std::make_unique<NpyReader>(std::make_unique<FileStream>(path));
}

std::string message(std::string const& content) {
    TemporaryDirectory const dir;
    write_text(dir / "a.npy", content);
    return thrown<DataError>([&] { open(dir / "a.npy"); }, dir.path());
}

std::vector<double> values(ArraySource& source) {
    RowCursor cursor(source);
    std::vector<double> out;
    for (std::int64_t row = 0; row < source.rows(); ++row) {
        auto const bytes = cursor.next();
        visit_type(source.type(), [&](auto element) {
            for (std::size_t i = 0; i < source.row_elements(); ++i)
                out.push_back(static_cast<double>(element_at<decltype(element)>(bytes, i)));
        });
    }
    cursor.finish();
    return out;
}

std::vector<double> values(std::string const& content) {
    TemporaryDirectory const dir;
    write_text(dir / "a.npy", content);
    return values(*open(dir / "a.npy"));
}

template <class T>
void expect_type(std::string const& descr) {
    std::vector<T> const numbers = {0, 1, 2, 100, static_cast<T>(-3), 5};
    std::vector<double> const expected(numbers.begin(), numbers.end());
    auto swapped = numbers;
    for (auto& number : swapped) {
        auto* const bytes = reinterpret_cast<unsigned char*>(&number);
        std::reverse(bytes, bytes + sizeof number);
    }
    for (int version = 1; version <= 3; ++version) {
        EXPECT_EQ(values(npy(sizeof(T) == 1 ? "|" + descr : "<" + descr, "(3, 2)", numbers, version)), expected) << descr;
        EXPECT_EQ(values(npy(">" + descr, "(3, 2)", swapped, version)), expected) << descr;
    }
}

TEST(NpyReader, every_type_and_version_in_both_byte_orders) {
    expect_type<std::uint8_t>("u1");
    expect_type<std::int8_t>("i1");
    expect_type<std::uint16_t>("u2");
    expect_type<std::int16_t>("i2");
    expect_type<std::uint32_t>("u4");
    expect_type<std::int32_t>("i4");
    expect_type<std::uint64_t>("u8");
    expect_type<std::int64_t>("i8");
    expect_type<float>("f4");
    expect_type<double>("f8");
    EXPECT_EQ(values(npy<std::uint8_t>("|b1", "(2,)", {0, 1})), (std::vector<double>{0, 1}));
    EXPECT_EQ(values(npy<std::uint16_t>("<f2", "(6,)", {0, 0x3C00, 0xC000, 0x7BFF, 0x0001, 0x0400})),
              (std::vector<double>{0, 1, -2, 65504, 0x1p-24, 0x1p-14}));
}

TEST(NpyReader, half_numbers_are_exact) {  // against a slow formula, all 65536
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        int const exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
        auto const size = exponent == 0   ? std::ldexp(fraction, -24)
                          : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                          : fraction == 0 ? INFINITY
                                          : NAN;
        auto const expected = static_cast<float>((bits & 0x8000U) != 0 ? -size : size);
        auto const value = to_float(Half{static_cast<std::uint16_t>(bits)});
        if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(value)) << bits;
        else
            EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected)) << bits;
    }
}

struct BadNpy {
    std::string name, content, message;
};

class BadNpys : public ::testing::TestWithParam<BadNpy> {};

TEST_P(BadNpys, are_refused_by_name) { EXPECT_EQ(message(GetParam().content), "a.npy: " + GetParam().message); }

std::string const k_six = std::string(6, '\1');

std::string header(std::string const& descr, std::string const& shape, std::string const& order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadNpys,
    ::testing::Values(
        BadNpy{"empty", "", "not a npy file (it does not begin with \\x93NUMPY); save it again with numpy.save"},
        BadNpy{"text", "1,2,3\n4,5,6\n7,8,9\n",
               "not a npy file (it does not begin with \\x93NUMPY); save it again with numpy.save"},
        BadNpy{"version", npy_with_header("{}", "123456", 4),
               "npy format 4.0 is unknown (1.0, 2.0 and 3.0 are read); save it again with numpy.save"},
        BadNpy{"cut_header", npy_with_header(header("'|u1'", "(3, 2)"), k_six).substr(0, 40),
               "truncated (it ends inside its header); copy or save it again"},
        BadNpy{"truncated", npy_with_header(header("'|u1'", "(4, 2)"), k_six),
               "truncated (6 bytes of data, its header says 8); copy or save it again"},
        BadNpy{"too_long", npy_with_header(header("'|u1'", "(2, 2)"), k_six),
               "too long (6 bytes of data, its header says 4); copy or save it again"},
        BadNpy{"fortran", npy_with_header(header("'|u1'", "(3, 2)", "True"), k_six),
               "is in Fortran order (columns first); save numpy.ascontiguousarray(array) instead"},
        BadNpy{"objects", npy_with_header(header("'|O'", "(3, 2)"), k_six),
               "holds Python objects (dtype '|O'); save numbers, for example array.astype(numpy.float32)"},
        BadNpy{"texts", npy_with_header(header("'<U7'", "(3, 2)"), k_six),
               "holds texts (dtype '<U7'); save numbers, of labels numpy.unique(labels, return_inverse=True)[1]"},
        BadNpy{"structures", npy_with_header(header("[('a', '<f4')]", "(3, 2)"), k_six),
               "holds structures (dtype '|V'); save numbers, for example array.astype(numpy.float32)"},
        BadNpy{"complex", npy_with_header(header("'<c8'", "(3, 2)"), k_six),
               "holds complex numbers (dtype '<c8'); save numbers, for example array.astype(numpy.float32)"},
        BadNpy{"long_double", npy_with_header(header("'<f16'", "(3, 2)"), k_six),
               "holds unknown elements (dtype '<f16'); save numbers, for example array.astype(numpy.float32)"},
        BadNpy{"scalar", npy_with_header(header("'|u1'", "()"), "1"),
               "a single number (its shape is ()); save an array with a row for each example"},
        BadNpy{"no_rows", npy_with_header(header("'|u1'", "(0, 2)"), ""), "the array is empty (a size of its shape is 0)"},
        BadNpy{"overflow", npy_with_header(header("'<f8'", "(4294967296, 4294967296)"), k_six),
               "malformed npy header (more than 2^63 bytes); save it again with numpy.save"},
        BadNpy{"negative", npy_with_header(header("'|u1'", "(-3, 2)"), k_six),
               "malformed npy header (shape has a size that is not a number); save it again with numpy.save"},
        BadNpy{"no_shape", npy_with_header("{'descr': '|u1', 'fortran_order': False}", k_six),
               "malformed npy header (shape is missing); save it again with numpy.save"},
        BadNpy{"unknown_key", npy_with_header("{'descr': '|u1', 'colour': False}", k_six),
               "malformed npy header (unknown key 'colour'); save it again with numpy.save"},
        BadNpy{"open_quote", npy_with_header("{'descr", k_six),
               "malformed npy header (a quote is never closed); save it again with numpy.save"},
        BadNpy{"garbage_behind", npy_with_header(header("'|u1'", "(3, 2)") + "x", k_six),
               "malformed npy header (something stands behind the dictionary); save it again with numpy.save"}),
    [](auto const& row) { return row.param.name; });

TEST(NpzReader, stored_deflated_and_zip64) {
    std::vector<std::int32_t> numbers(30000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * i % 1000);
    std::vector<double> const expected(numbers.begin(), numbers.end());
    TemporaryDirectory const dir;
    for (auto const method : {ZipMethod::stored, ZipMethod::deflated})
        for (auto const size : {ZipSize::zip32, ZipSize::zip64}) {
            auto const content = npy("<i4", "(10000, 3)", numbers);
            write_text(dir / "a.npz", npz({{"y", npy<std::uint8_t>("|u1", "(2,)", {7, 8})}, {"x", content}}, method, size));
            auto const members = read_npz_directory(dir / "a.npz");
            ASSERT_EQ(members.size(), 2U);
            EXPECT_EQ(members[1].name, "x");
            NpyReader x(open_npz_member(dir / "a.npz", members[1]));
            EXPECT_EQ(values(x), expected);
            EXPECT_EQ(values(x), expected) << "a second pass";
            NpyReader y(open_npz_member(dir / "a.npz", members[0]));
            EXPECT_EQ(values(y), (std::vector<double>{7, 8}));
        }
}

std::string npz_message(std::string const& content) {
    TemporaryDirectory const dir;
    write_text(dir / "a.npz", content);
    return thrown<DataError>(
        [&] {
            for (auto const& member : read_npz_directory(dir / "a.npz")) {
                NpyReader reader(open_npz_member(dir / "a.npz", member));
                values(reader);
            }
        },
        dir.path());
}

TEST(NpzReader, damage_is_named) {
    auto const member = npy<std::uint8_t>("|u1", "(400,)", std::vector<std::uint8_t>(400, 9));
    auto const good = npz({{"x", member}}), packed = npz({{"x", member}}, ZipMethod::deflated);
    EXPECT_EQ(npz_message(good), "");
    EXPECT_EQ(npz_message("no archive"),
              "a.npz: not a npz file, or truncated (no end of a zip archive); save it with numpy.savez");
    EXPECT_EQ(npz_message(good.substr(0, 300)),
              "a.npz: not a npz file, or truncated (no end of a zip archive); save it with numpy.savez");
    EXPECT_EQ(npz_message(good.substr(100)), "a.npz: damaged zip archive (it is truncated); copy or save it again");
    auto flipped = good;
    flipped[300] = static_cast<char>(flipped[300] ^ 1);
    EXPECT_EQ(npz_message(flipped), "a.npz:x: damaged zip archive (its checksum is wrong); copy or save it again");
    auto const entry = packed.find("PK\1\2");
    auto other = packed;
    other[entry + 10] = 12;
    EXPECT_EQ(
        npz_message(other),
        "a.npz: 'x' is compressed by method 12 (stored and deflated members are read); save it with numpy.savez_compressed");
    other = packed;
    other[entry + 8] = 1;
    EXPECT_EQ(npz_message(other), "a.npz: 'x' is encrypted; save it without a password");
    other = packed;
    other[entry + 20] = 5;  // fewer packed bytes
    EXPECT_EQ(npz_message(other), "a.npz:x: damaged zip archive (its data ends early); copy or save it again");
    other = good;
    other[good.find("PK\1\2") + 24] ^= 1;
    EXPECT_EQ(npz_message(other), "a.npz:x: damaged zip archive (its two sizes differ); copy or save it again");
}

}  // namespace npy_reader_test
}  // namespace hopscotch
