// SPDX-License-Identifier: Apache-2.0
// Every reader of foreign files over thousands of damaged files: it reads them or refuses them with DataError, and does
// nothing else. fuzz/ looks further, with clang; this runs everywhere.
#include <gtest/gtest.h>

#include <random>

#include "data/input_file.hpp"
#include "data/npy_files.hpp"
#include "data/read_all.hpp"

namespace hopscotch {
namespace mutations_test {

constexpr int k_cases = 1000;  // of each kind

// Flips, cuts, repeats, and overwrites with bytes that mean something to parsers.
std::string mutated(std::string text, std::mt19937_64& random) {
    constexpr std::string_view special("\0\1\xFF\x7F\x80\",\n\r'(){}:-9", 18);
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
    for (auto changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
        auto const at = below(text.size()), length = 1 + below(std::min<std::size_t>(text.size() - at, 16));
        switch (below(5)) {
            case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
            case 1: text[at] = special[below(special.size())]; break;
            case 2: text.erase(at, length); break;
            case 3: text.insert(at, text.substr(below(text.size()), length)); break;
            default: text.replace(at, length, std::string(length, static_cast<char>(random())));
        }
    }
    return text;
}

template <class Read>
void expect_read_or_refused(std::string const& good, Read read) {
    std::mt19937_64 random(7);
    ASSERT_EQ(read(InputFile(good).path()), FileIs::good);
    int refused = 0;
    for (int i = 0; i < k_cases; ++i) {
        auto const bad = mutated(good, random);
        InputFile const file(bad);
        try {
            refused += read(file.path()) == FileIs::refused;
        } catch (std::exception const& error) {
            FAIL() << "case " << i << ": " << error.what() << "\n" << ::testing::PrintToString(bad);
        }
    }
    EXPECT_GT(refused, k_cases / 20);
}

std::string const k_array = npy<float>("<f4", "(5, 2)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});

TEST(Mutations, npy) { expect_read_or_refused(k_array, read_all_npy); }

TEST(Mutations, npz) {
    for (auto const method : {ZipMethod::stored, ZipMethod::deflated})
        for (auto const size : {ZipSize::zip32, ZipSize::zip64})
            expect_read_or_refused(npz({{"x", k_array}, {"y", npy<std::uint8_t>("|u1", "(3,)", {1, 2, 3})}}, method, size),
                                   read_all_npz);
}

TEST(Mutations, csv) {
    expect_read_or_refused("a,b,\"c, d\",y\n1,2.5,red,0\n\"3\",4e3,\"bl\"\"ue\",1\n,6,red,0\n7,-8,?,1\n", read_all_csv);
}

TEST(Mutations, idx) {
    expect_read_or_refused(std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16) + std::string(12, '\7'),
                           read_all_idx);
}

}  // namespace mutations_test
}  // namespace hopscotch
