// SPDX-License-Identifier: Apache-2.0
// Products of the lean step have the bits of a plain loop, write nothing beside their result, and read nothing beside their
// factors.
#include "model/lean/products.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/cpu_features.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace lean_products_test {

// Floats that end where the process may not read.
class Guarded {
public:
    Guarded(std::size_t floats, Rng& rng) {
        auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        auto const bytes = (floats * sizeof(float) + page - 1) / page * page;
        size_ = bytes + page;
        memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto* const at = static_cast<std::byte*>(memory_);
        EXPECT_EQ(mprotect(at + bytes, page, PROT_NONE), 0);
        values_ = {reinterpret_cast<float*>(at + bytes) - floats, floats};
        for (auto& value : values_) value = static_cast<float>(rng.normal());
    }
    ~Guarded() { munmap(memory_, size_); }
    Guarded(Guarded const&) = delete;
    Guarded& operator=(Guarded const&) = delete;
    float* data() const { return values_.data(); }
    std::span<float> values() const { return values_; }

private:
    void* memory_;
    std::size_t size_;
    std::span<float> values_;
};

float element(MatrixView const& matrix, std::int64_t i, std::int64_t j) {
    return matrix.data[i * matrix.row + j * matrix.column];
}

// before: what out had, for a product that goes on.
void expect_plain_loop(Product const& p, Guarded const& out, std::vector<float> const& before = {}) {
    auto const group = p.groups.size == 0 ? p.k : p.groups.size;
    for (std::int64_t i = 0; i < p.m; ++i)
        for (std::int64_t j = 0; j < p.n; ++j) {
            auto sum = p.first == nullptr ? 0.0F : p.first[j];
            if (p.more) sum = before[static_cast<std::size_t>(i * p.n + j)];
            for (std::int64_t k = 0; k < p.k; ++k) {
                MatrixView const a{p.a.data + k / group * p.groups.step, p.a.row, p.a.column};
                sum = std::fma(element(a, i, k % group), element(p.b, k, j), sum);
            }
            auto const& found = out.values()[static_cast<std::size_t>(i * p.n + j)];
            ASSERT_EQ(std::memcmp(&found, &sum, sizeof sum), 0)
                << p.m << " x " << p.k << " x " << p.n << " at " << i << ", " << j << ": " << found << " and " << sum;
        }
}

struct Way {
    char const* name;
    void (*multiply)(Product const&);
    bool CpuFeatures::* feature;
};
void PrintTo(Way const& way, std::ostream* out) { *out << way.name; }

class LeanProducts : public ::testing::TestWithParam<Way> {
    void SetUp() override {
        if (!(cpu_features().*GetParam().feature)) GTEST_SKIP() << "needs a CPU with " << GetParam().name;
    }
};

TEST_P(LeanProducts, HaveTheBitsOfAPlainLoop) {
    Rng rng(1);
    for (int round = 0; round < 300; ++round) {
        auto const most_k = round % 3 == 0 ? 700U : 20U;
        auto const most_n = round % 4 == 0 ? 5U : 70U;
        std::int64_t const m = 1 + rng.below(30), n = 1 + rng.below(most_n), k = 1 + rng.below(most_k);
        auto const size = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); };
        Guarded const a(size(m, k), rng), b(size(k, n), rng), first(size(1, n), rng), out(size(m, n), rng);
        bool const turn_a = rng.below(2) == 1, turn_b = rng.below(2) == 1;
        Product product{.m = m, .n = n, .k = k, .a = by_rows(a.data(), k), .b = by_rows(b.data(), n)};
        if (turn_a) product.a = transposed(by_rows(a.data(), m));
        if (turn_b) product.b = transposed(by_rows(b.data(), k));
        if (rng.below(2) == 1) product.first = first.data();
        product.out = out.data();
        GetParam().multiply(product);
        ASSERT_NO_FATAL_FAILURE(expect_plain_loop(product, out));
    }
}

// The rows of the left factor are windows of an image with `channels` floats a pixel: they overlap.
TEST_P(LeanProducts, GroupsOfColumnsAndSumsThatGoOn) {
    Rng rng(4);
    for (int round = 0; round < 200; ++round) {
        std::int64_t const most = round % 4 == 0 ? 90 : 6, channels = 1 + rng.below(static_cast<std::uint32_t>(most));
        std::int64_t const kernel = 1 + rng.below(5), width = kernel + rng.below(9), height = kernel + rng.below(4);
        auto const windows = (height - kernel) * width + width - kernel + 1, n = std::int64_t{1} + rng.below(20);
        auto const k = kernel * kernel * channels;
        Guarded const image(static_cast<std::size_t>(width * height * channels), rng);
        Guarded const b(static_cast<std::size_t>(k * n), rng), out(static_cast<std::size_t>(windows * n), rng);
        std::vector<float> const before(out.values().begin(), out.values().end());
        Product const product{.m = windows,
                              .n = n,
                              .k = k,
                              .a = by_rows(image.data(), channels),
                              .b = by_rows(b.data(), n),
                              .out = out.data(),
                              .groups = {kernel * channels, width * channels},
                              .more = round % 2 == 1};
        GetParam().multiply(product);
        ASSERT_NO_FATAL_FAILURE(expect_plain_loop(product, out, before));
    }
}

TEST_P(LeanProducts, AnyProductMayGoOn) {
    Rng rng(5);
    for (int round = 0; round < 100; ++round) {
        std::int64_t const m = 1 + rng.below(30), n = 1 + rng.below(40), k = 1 + rng.below(20);
        Guarded const a(static_cast<std::size_t>(m * k), rng), b(static_cast<std::size_t>(k * n), rng);
        Guarded const out(static_cast<std::size_t>(m * n), rng);
        std::vector<float> const before(out.values().begin(), out.values().end());
        Product const product{
            .m = m, .n = n, .k = k, .a = by_rows(a.data(), k), .b = by_rows(b.data(), n), .out = out.data(), .more = true};
        GetParam().multiply(product);
        ASSERT_NO_FATAL_FAILURE(expect_plain_loop(product, out, before));
    }
}

TEST_P(LeanProducts, AnEmptySumIsTheFirstValue) {
    Rng rng(2);
    Guarded const nothing(0, rng), first(19, rng), out(3 * 19, rng);
    GetParam().multiply({.m = 3,
                         .n = 19,
                         .k = 0,
                         .a = by_rows(nothing.data(), 0),
                         .b = by_rows(nothing.data(), 19),
                         .first = first.data(),
                         .out = out.data()});
    for (std::size_t i = 0; i < out.values().size(); ++i) EXPECT_EQ(out.values()[i], first.values()[i % 19]);
}

TEST_P(LeanProducts, WriteNothingBesideTheResult) {
    Rng rng(3);
    std::vector<float> out(5 * 21 + 32, 7.0F), a(5 * 4, 1.0F), b(4 * 21, 1.0F);
    GetParam().multiply(
        {.m = 5, .n = 21, .k = 4, .a = by_rows(a.data(), 4), .b = by_rows(b.data(), 21), .out = out.data() + 16});
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i < 16 || i >= 16 + 5 * 21 ? 7.0F : 4.0F) << i;
}

INSTANTIATE_TEST_SUITE_P(EachWidth, LeanProducts,
                         ::testing::Values(Way{"AVX2", multiply_avx2, &CpuFeatures::avx2},
                                           Way{"AVX-512", multiply_avx512, &CpuFeatures::avx512},
                                           Way{"AVX2, by choice", multiply, &CpuFeatures::avx2}));

}  // namespace lean_products_test
}  // namespace hopscotch
