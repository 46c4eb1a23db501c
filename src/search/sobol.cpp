// SPDX-License-Identifier: Apache-2.0
#include "search/sobol.hpp"

#include <array>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "search/draw.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

// new-joe-kuo-6.21201: degree and coefficients of a primitive polynomial, first direction numbers.
struct Direction {
    unsigned degree, coefficients;
    std::array<std::uint32_t, 7> first;
};

constexpr std::array<Direction, k_sobol_dimensions - 1> k_directions{{{1, 0, {1}},
                                                                      {2, 1, {1, 3}},
                                                                      {3, 1, {1, 3, 1}},
                                                                      {3, 2, {1, 1, 1}},
                                                                      {4, 1, {1, 1, 3, 3}},
                                                                      {4, 4, {1, 3, 5, 13}},
                                                                      {5, 2, {1, 1, 5, 5, 17}},
                                                                      {5, 4, {1, 1, 5, 5, 5}},
                                                                      {5, 7, {1, 1, 7, 11, 19}},
                                                                      {5, 11, {1, 1, 5, 1, 1}},
                                                                      {5, 13, {1, 1, 1, 3, 11}},
                                                                      {5, 14, {1, 3, 5, 5, 31}},
                                                                      {6, 1, {1, 3, 3, 9, 7, 49}},
                                                                      {6, 13, {1, 1, 1, 15, 21, 21}},
                                                                      {6, 16, {1, 3, 1, 13, 27, 49}},
                                                                      {6, 19, {1, 1, 1, 15, 7, 5}},
                                                                      {6, 22, {1, 3, 1, 15, 13, 25}},
                                                                      {6, 25, {1, 1, 5, 5, 19, 61}},
                                                                      {7, 1, {1, 3, 7, 11, 23, 15, 103}},
                                                                      {7, 4, {1, 3, 7, 13, 13, 15, 69}}}};

using Matrix = std::array<std::uint32_t, 32>;  // a column of generator bits for every bit of the index

Matrix matrix_of(std::size_t dimension) {
    Matrix v{};
    if (dimension == 0) {
        for (unsigned i = 0; i < 32; ++i) v[i] = 1U << (31 - i);
        return v;
    }
    auto const& [s, a, first] = k_directions.at(dimension - 1);
    for (unsigned i = 0; i < 32; ++i) {
        if (i < s) {
            v[i] = first[i] << (31 - i);
            continue;
        }
        v[i] = v[i - s] ^ (v[i - s] >> s);
        for (unsigned k = 1; k < s; ++k)
            if ((a >> (s - 1 - k) & 1U) != 0) v[i] ^= v[i - k];
    }
    return v;
}

std::uint32_t reversed(std::uint32_t x) {
    std::uint32_t out = 0;
    for (int i = 0; i < 32; ++i) out |= (x >> i & 1U) << (31 - i);
    return out;
}

class Sobol : public Sampler {
public:
    Sobol(Experiment const& experiment, Space const& space) : experiment_(experiment), space_(space), fresh_(space) {
        for (std::size_t i = 0; i < space.parameters.size(); ++i) {
            bool const searched = space.parameters[i].values.size() > 1;
            dimension_.push_back(searched ? used_++ : 0);
        }
        require(used_ <= k_sobol_dimensions, "more keys than Sobol dimensions");
    }

    // A forbidden or known configuration leaves its point out.
    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        return fresh_.find(history, [&] { return at(next_++); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    Assignment at(std::uint32_t index) const {
        Assignment out;
        for (auto i : space_.order)
            if (is_active(space_.parameters[i], out))
                out.emplace_back(space_.parameters[i].path, value_at(space_.parameters[i], place(index, dimension_[i])));
        return in_order(space_, out);
    }

    double place(std::uint32_t index, std::size_t dimension) const {
        auto const key = stream_key(static_cast<std::uint64_t>(experiment_.seed), Purpose::search,
                                    {-1, static_cast<std::int64_t>(dimension)});  // a stream that is not a trial's
        auto const point = owen_scrambled(sobol_point(index, dimension), static_cast<std::uint32_t>(key));
        return (static_cast<double>(point) + 0.5) * 0x1p-32;
    }

    Experiment const& experiment_;
    Space const& space_;
    Fresh fresh_;
    std::vector<std::size_t> dimension_;  // by parameter
    std::size_t used_ = 0;
    std::uint32_t next_ = 0;
};

}  // namespace

std::uint32_t sobol_point(std::uint32_t index, std::size_t dimension) {
    static auto const matrices = [] {
        std::array<Matrix, k_sobol_dimensions> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = matrix_of(i);
        return all;
    }();
    std::uint32_t out = 0;
    for (auto const* column = matrices.at(dimension).data(); index != 0; index >>= 1U, ++column)
        if ((index & 1U) != 0) out ^= *column;
    return out;
}

std::uint32_t owen_scrambled(std::uint32_t point, std::uint32_t key) {
    auto x = reversed(point);
    x += key;
    x ^= x * 0x6c50b47cU;
    x ^= x * 0xb82f1e52U;
    x ^= x * 0xc7afe638U;
    x ^= x * 0x8d22f6e6U;
    return reversed(x);
}

std::unique_ptr<Sampler> make_sobol(Experiment const& experiment, Space const& space) {
    return std::make_unique<Sobol>(experiment, space);
}

}  // namespace hopscotch
