// SPDX-License-Identifier: Apache-2.0
#include "search/parzen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "search/normal.hpp"

namespace hopscotch {
namespace {

constexpr double k_far = 8;  // standard deviations: a kernel gives nothing there that the prior's would not drown
constexpr double k_nothing = -std::numeric_limits<double>::infinity();

// The larger gap to a neighbour; the bounds count as neighbours of one that is alone.
std::vector<double> neighbour_gaps(std::vector<double> const& mu, double low, double high) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < mu.size(); ++i) order.emplace_back(mu[i], i);
    std::sort(order.begin(), order.end());
    std::vector<double> out(mu.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        double const here = order[i].first;
        bool const alone = order.size() == 1;
        double const left = i > 0 ? here - order[i - 1].first : alone ? here - low : 0;
        double const right = i + 1 < order.size() ? order[i + 1].first - here : alone ? high - here : 0;
        out[order[i].second] = std::max(left, right);
    }
    return out;
}

}  // namespace

std::vector<double> parzen_weights(std::size_t observations) {
    std::vector<double> out(observations, 1.0);
    if (observations < 25) return out;
    auto const old = observations - 25;
    auto const n = static_cast<double>(observations);
    for (std::size_t i = 0; i < old; ++i)
        out[i] = old == 1 ? 1 / n : std::lerp(1 / n, 1.0, static_cast<double>(i) / static_cast<double>(old - 1));
    return out;
}

Parzen::Parzen(std::vector<Axis> axes, std::vector<std::vector<double>> const& rows, Weights weights)
    : axes_(std::move(axes)),
      weights_(weights == Weights::equal ? std::vector<double>(rows.size(), 1.0) : parzen_weights(rows.size())) {
    weights_.push_back(1);
    double const sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    for (auto& weight : weights_) weight /= sum;
    for (auto weight : weights_) log_weights_.push_back(std::log(weight));
    for (std::size_t key = 0; key < axes_.size(); ++key) kernels_.push_back(kernels_of(key, rows));
}

Parzen::Kernels Parzen::kernels_of(std::size_t key, std::vector<std::vector<double>> const& rows) const {
    auto const& axis = axes_[key];
    Kernels out;
    for (auto const& row : rows) out.mu.push_back(axis.categories > 0 ? row[key] : scaled(axis, row[key]));
    if (axis.categories > 0) return out;
    double const low = scaled(axis, axis.low), high = scaled(axis, axis.high);
    out.sigma = neighbour_gaps(out.mu, low, high);
    double const least = (high - low) / std::min(100.0, static_cast<double>(rows.size()) + 2);
    for (auto& sigma : out.sigma) sigma = std::clamp(sigma, least, high - low);
    out.mu.push_back(axis.prior != nullptr ? scaled(axis, axis.prior->guess) : (low + high) / 2);
    out.sigma.push_back((high - low) * (axis.prior != nullptr ? axis.prior->deviation : 1));
    for (std::size_t i = 0; i < out.mu.size(); ++i) {
        out.precision.push_back(1 / out.sigma[i]);
        out.mass.push_back(normal_mass_between((low - out.mu[i]) / out.sigma[i], (high - out.mu[i]) / out.sigma[i]));
        out.log_scale.push_back(-std::log(out.sigma[i] * out.mass[i] * std::sqrt(2 * std::numbers::pi)));
    }
    return out;
}

double Parzen::draw(std::size_t key, std::size_t kernel, double u) const {
    auto const& axis = axes_[key];
    auto const& [mu, sigma, precision, mass, log_scale] = kernels_[key];
    if (axis.categories > 0) {
        double sum = 0;
        for (std::size_t c = 0; c + 1 < axis.categories; ++c)
            if ((sum += probability(key, kernel, static_cast<double>(c))) > u) return static_cast<double>(c);
        return static_cast<double>(axis.categories - 1);
    }
    CutNormal const normal{mu[kernel], sigma[kernel], scaled(axis, axis.low), scaled(axis, axis.high)};
    double const scaled_x = normal.quantile(u, mass[kernel]);
    double const x = std::clamp(axis.log ? std::exp(scaled_x) : scaled_x, axis.low, axis.high);
    if (axis.step == 0) return x;
    double const first = axis.low + axis.step / 2, last = axis.high - axis.step / 2;
    return std::clamp(first + std::nearbyint((x - first) / axis.step) * axis.step, first, last);
}

double Parzen::probability(std::size_t key, std::size_t kernel, double category) const {
    auto const& mu = kernels_[key].mu;
    auto const n = static_cast<double>(axes_[key].categories);
    auto const* given = axes_[key].prior;
    if (kernel == mu.size()) return given != nullptr ? given->weights[static_cast<std::size_t>(category)] : 1 / n;
    double const prior = 1.0 / static_cast<double>(mu.size() + 1);
    return (mu[kernel] == category ? 1 + prior : prior) / (1 + n * prior);
}

void Parzen::add_log_densities(std::size_t key, double x, std::vector<double>& terms) const {
    auto const& axis = axes_[key];
    auto const& [mu, sigma, precision, mass, log_scale] = kernels_[key];
    if (axis.categories > 0) {
        if (!mu.empty()) {
            double const hit = std::log(probability(key, 0, mu[0])), miss = std::log(probability(key, 0, -1));
            for (std::size_t i = 0; i < mu.size(); ++i) terms[i] += mu[i] == x ? hit : miss;
        }
        terms.back() += std::log(probability(key, mu.size(), x));
    } else if (axis.step > 0) {
        double const from = scaled(axis, x - axis.step / 2), to = scaled(axis, x + axis.step / 2);
        for (std::size_t i = 0; i < mu.size(); ++i) {
            double const a = (from - mu[i]) * precision[i], b = (to - mu[i]) * precision[i];
            terms[i] += a > k_far || b < -k_far ? k_nothing : std::log(normal_mass_between(a, b) / mass[i]);
        }
    } else {
        double const at = scaled(axis, x);
        for (std::size_t i = 0; i < mu.size(); ++i) {
            double const z = (at - mu[i]) * precision[i];
            terms[i] += std::abs(z) > k_far ? k_nothing : log_scale[i] - 0.5 * z * z;
        }
    }
}

std::vector<std::vector<double>> Parzen::sample(std::size_t count, std::function<double()> const& uniform) const {
    std::vector<double> cumulated(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), cumulated.begin());
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = std::upper_bound(cumulated.begin(), cumulated.end(), uniform() * cumulated.back());
        chosen.push_back(std::min(static_cast<std::size_t>(at - cumulated.begin()), weights_.size() - 1));
    }
    std::vector<std::vector<double>> out(count, std::vector<double>(axes_.size()));
    auto const draw_all = [&](std::size_t key) {
        for (std::size_t i = 0; i < count; ++i) out[i][key] = draw(key, chosen[i], uniform());
    };
    for (std::size_t key = 0; key < axes_.size(); ++key)
        if (axes_[key].categories > 0) draw_all(key);
    for (std::size_t key = 0; key < axes_.size(); ++key)
        if (axes_[key].categories == 0) draw_all(key);
    return out;
}

double Parzen::log_density(std::span<double const> point) const {
    auto terms = log_weights_;
    for (std::size_t key = 0; key < axes_.size(); ++key) add_log_densities(key, point[key], terms);
    double const most = *std::max_element(terms.begin(), terms.end());
    double sum = 0;
    for (auto term : terms)
        if (term - most > -40) sum += std::exp(term - most);
    return most + std::log(sum);
}

}  // namespace hopscotch
