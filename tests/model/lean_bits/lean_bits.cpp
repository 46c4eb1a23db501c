// SPDX-License-Identifier: Apache-2.0
// Prints a hash of what every function of the lean step's arithmetic makes of the same numbers (tests/model/lean_bits.sh).
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "../update_now.hpp"
#include "model/lean/columns.hpp"
#include "model/lean/elements.hpp"
#include "model/lean/losses.hpp"
#include "model/lean/pooling.hpp"
#include "model/lean/products.hpp"
#include "model/lean/update.hpp"

namespace hopscotch {
namespace {

std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a

template <class Value>
void add(std::span<Value> values) {
    auto const bytes = std::as_bytes(values);
    for (auto const byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
}
void add(double value) { add(std::span(&value, 1)); }
void show(char const* name) { std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash)); }

// About as many of each size from 1/1000 to 10, of either sign.
std::vector<float> numbers(std::size_t n, std::uint64_t seed) {
    std::vector<float> out;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        auto const size = static_cast<float>(seed >> 40) / 16777216.0F, sign = (seed >> 39 & 1) != 0 ? -1.0F : 1.0F;
        out.push_back(sign * (0.001F + size * size * size * 10.0F));
    }
    return out;
}

void products() {
    for (auto const& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {7, 19, 300}, {32, 64, 64}, {13, 10, 600}}) {
        auto const a = numbers(static_cast<std::size_t>(m * k), 1), b = numbers(static_cast<std::size_t>(k * n), 2);
        auto const first = numbers(static_cast<std::size_t>(n), 3);
        std::vector<float> out(static_cast<std::size_t>(m * n));
        multiply({.m = m,
                  .n = n,
                  .k = k,
                  .a = by_rows(a.data(), k),
                  .b = by_rows(b.data(), n),
                  .first = first.data(),
                  .out = out.data()});
        add(std::span(out));
        multiply({.m = m,
                  .n = n,
                  .k = k,
                  .a = transposed(by_rows(a.data(), m)),
                  .b = transposed(by_rows(b.data(), k)),
                  .first = nullptr,
                  .out = out.data()});
        add(std::span(out));
    }
    show("products");
}

constexpr std::int64_t k_rows = 37, k_columns = 21, k_values = k_rows * k_columns;

void elements() {
    auto const x = numbers(k_values, 4);
    std::vector<float> out(k_values), sums(k_columns);
    for (auto const kind : {Activation::relu, Activation::tanh}) {
        out = x;
        activate(kind, out.data(), k_values);
        add(std::span(out));
        auto gradient = numbers(k_values, 5);
        activate_backward(kind, out.data(), gradient.data(), k_values);
        add(std::span(gradient));
    }
    draw_mask(99, 1, 0.25, out.data(), k_values);
    add(std::span(out));
    multiply_values(x.data(), x.data(), out.data(), k_values);
    add_scaled(x.data(), 0.3F, out.data(), k_values);
    mix(out.data(), x.data(), 0.1F, k_values);
    scale(out.data(), k_values, 0.7F);
    add(sum_of_squares(out.data(), k_values));
    clamp(out.data(), k_values, 1);
    add(std::span(out));
    sum_columns(x.data(), k_rows, k_columns, sums.data());
    add(std::span(sums));
    show("elements");
}

void columns() {
    Columns const shape{k_rows, k_columns};
    auto x = numbers(k_values, 6), gradient = numbers(k_values, 7), out = x;
    auto const a = numbers(k_columns, 8), b = numbers(k_columns, 9), c = numbers(k_columns, 10);
    std::vector<double> sums(k_columns);
    add_columns(shape, x.data(), sums.data());
    add_products(shape, x.data(), gradient.data(), sums.data());
    add(std::span(sums));
    centre(shape, a.data(), b.data(), x.data());
    spread(shape, x.data(), b.data(), c.data(), out.data());
    add(std::span(out));
    through_norm(shape, {a.data(), b.data(), c.data()}, x.data(), gradient.data());
    add(std::span(gradient));
    show("columns");
}

void losses() {
    LossShape const shape{k_rows, k_columns};
    auto const outputs = numbers(k_values, 11), targets = numbers(k_values, 12), weights = numbers(k_columns, 13);
    std::vector<float> gradient(k_values), answers(k_values), positive;
    for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = targets[i] > 0 ? 1.0F : 0.0F;
    for (auto const weight : weights) positive.push_back(weight * weight);
    std::vector<std::int64_t> labels;
    for (std::int64_t r = 0; r < k_rows; ++r) labels.push_back(r * 5 % k_columns);
    auto const take = [&](double loss) {
        add(loss);
        add(std::span(gradient));
    };
    for (double const smoothing : {0.0, 0.1})
        for (float const* of_class : {static_cast<float const*>(nullptr), static_cast<float const*>(positive.data())}) {
            take(cross_entropy(shape, outputs.data(), labels.data(), {of_class, smoothing}, gradient.data()));
            take(binary_cross_entropy(shape, outputs.data(), answers.data(), of_class, gradient.data()));
        }
    using enum TargetError::Kind;
    for (auto const kind : {squared, huber, absolute, quantile})
        take(target_error({kind, 0.7F}, shape, outputs.data(), targets.data(), gradient.data()));
    show("losses");
}

void updates() {
    constexpr std::size_t n = 1003;
    auto const now = some_update();
    for (auto const rule :
         {UpdateRule::sgd, UpdateRule::adam, UpdateRule::adamw, UpdateRule::rmsprop, UpdateRule::adagrad}) {
        auto parameters = numbers(n, 14), averaged = numbers(n, 15);
        auto const gradient = numbers(n, 16);
        std::vector<float> mean(n), square(n), momentum(n);
        FlatUpdate update;
        update.rule = rule;
        update.nesterov = true;
        update.parameters = parameters.data();
        update.gradient = gradient.data();
        update.mean = mean.data();
        update.square = square.data();
        update.momentum = momentum.data();
        update.averaged = averaged.data();
        update.size = n;
        update.decayed = 700;
        for (int step = 0; step < 3; ++step) update_all(update, now);
        add(std::span(parameters));
        add(std::span(averaged));
    }
    show("updates");
}

// A convolution of two images, pooling, and the way back of a gradient.
void images() {
    constexpr std::int64_t channels = 5, kernel = 3, side = 12, out = 11, windows = (side - kernel) * (side + 1) + 1;
    Pooling const pooling{(side - 2) / 2, (side - 2) / 2, out, side};
    auto const x = numbers(side * side * channels, 21), weight = numbers(kernel * kernel * channels * out, 22);
    std::vector<float> large((side - 2) * side * out + k_pooling_slack), pooled(5 * 5 * out + k_pooling_slack);
    std::vector<float> back(large.size()), gradient(kernel * channels * out);
    std::vector<std::int32_t> picks(pooled.size());
    for (int image = 0; image < 2; ++image) {
        multiply({.m = windows,
                  .n = out,
                  .k = kernel * kernel * channels,
                  .a = by_rows(x.data(), channels),
                  .b = by_rows(weight.data(), out),
                  .out = large.data(),
                  .groups = {kernel * channels, side * channels}});
        max_pool(pooling, large.data(), pooled.data(), picks.data());
        spread_picked(pooling, pooled.data(), picks.data(), back.data());
        multiply({.m = kernel * channels,
                  .n = out,
                  .k = windows,
                  .a = {x.data(), 1, channels},
                  .b = by_rows(back.data(), out),
                  .out = gradient.data(),
                  .more = image > 0});
    }
    add(std::span(pooled).first(5 * 5 * out));
    add(std::span(back).first((side - 2) * side * out));
    add(std::span(gradient));
    show("images");
}

}  // namespace
}  // namespace hopscotch

int main() {
    hopscotch::products();
    hopscotch::elements();
    hopscotch::columns();
    hopscotch::losses();
    hopscotch::updates();
    hopscotch::images();
}
