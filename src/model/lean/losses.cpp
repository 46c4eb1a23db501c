// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 (src/model/CMakeLists.txt): it includes nothing whose functions other files might share.
#include "model/lean/losses.hpp"

#include "model/lean/vector_math.hpp"

namespace hopscotch {
namespace {

float lane_max(__m256 x) {
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, x);
    auto out = lanes[0];
    for (auto const lane : lanes) out = out < lane ? lane : out;
    return out;
}

float lane_sum(__m256 x) {
    alignas(32) float l[8];
    _mm256_store_ps(l, x);
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

__m256i lanes_from(std::int64_t first, std::int64_t n) { return lanes_below(n - first < 8 ? n - first : 8); }

// Of a row: exponentials of the outputs less the largest one, and their sum.
struct Exponentials {
    float largest, sum;
};
Exponentials exponentials(float const* outputs, std::int64_t n, float* out) {
    auto const least = all(-__builtin_huge_valf());
    auto most = least;
    for (std::int64_t i = 0; i < n; i += 8) {
        auto const lanes = lanes_from(i, n);
        auto const x = _mm256_blendv_ps(least, _mm256_maskload_ps(outputs + i, lanes), _mm256_castsi256_ps(lanes));
        most = _mm256_max_ps(most, x);
    }
    auto const largest = lane_max(most);
    auto sum = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < n; i += 8) {
        auto const lanes = lanes_from(i, n);
        auto const x = _mm256_sub_ps(_mm256_maskload_ps(outputs + i, lanes), all(largest));
        auto const e = _mm256_and_ps(exp(x), _mm256_castsi256_ps(lanes));
        _mm256_maskstore_ps(out + i, lanes, e);
        sum = _mm256_add_ps(sum, e);
    }
    return {largest, lane_sum(sum)};
}

// What each row counts: that of its label, and, with label smoothing, a part of that of every class.
class ClassCounts {
public:
    ClassCounts(std::int64_t classes, ClassWeights const& weights)
        : weights_(weights.weights),
          hard_(1 - weights.label_smoothing),
          soft_(weights.label_smoothing / static_cast<double>(classes)) {
        for (std::int64_t c = 0; c < classes; ++c) all_ += of(c);
    }
    double of(std::int64_t c) const { return weights_ == nullptr ? 1.0 : static_cast<double>(weights_[c]); }
    double hard(std::int64_t label) const { return hard_ * of(label); }
    double soft(std::int64_t c) const { return soft_ * of(c); }
    double soft() const { return soft_ * all_; }  // of all classes

private:
    float const* weights_;
    double hard_, soft_, all_ = 0;
};

// The cross entropy with the smoothed target: sums over classes of (log of the sum - output).
double row_loss(float const* outputs, std::int64_t classes, std::int64_t label, double log_sum, ClassCounts const& counts) {
    auto loss = counts.hard(label) * (log_sum - static_cast<double>(outputs[label]));
    for (std::int64_t c = 0; counts.soft() != 0 && c < classes; ++c)
        loss += counts.soft(c) * (log_sum - static_cast<double>(outputs[c]));
    return loss;
}

// 1 / the sum of the exponentials, 1 / the count of the batch.
struct Shares {
    double of_sum, of_batch;
};

void row_gradient(float* gradient, LossShape const& shape, std::int64_t label, ClassCounts const& counts,
                  Shares const& shares) {
    auto const hard = counts.hard(label);
    auto const factor = static_cast<float>((hard + counts.soft()) * shares.of_sum * shares.of_batch);
    for (std::int64_t c = 0; c < shape.columns; ++c) gradient[c] *= factor;
    for (std::int64_t c = 0; counts.soft() != 0 && c < shape.columns; ++c)
        gradient[c] -= static_cast<float>(counts.soft(c) * shares.of_batch);
    gradient[label] -= static_cast<float>(hard * shares.of_batch);
}

// |x| > bound: the linear part.
struct ErrorTerms {
    __m256 loss, gradient;
};
ErrorTerms huber_of(__m256 error, __m256 delta) {
    auto const size = _mm256_andnot_ps(all(-0.0F), error);
    auto const square = _mm256_mul_ps(_mm256_mul_ps(all(0.5F), error), error);
    auto const line = _mm256_mul_ps(delta, _mm256_sub_ps(size, _mm256_mul_ps(all(0.5F), delta)));
    auto const outside = _mm256_cmp_ps(size, delta, _CMP_GT_OQ);
    auto const end = _mm256_or_ps(delta, _mm256_and_ps(all(-0.0F), error));
    return {_mm256_blendv_ps(square, line, outside), _mm256_blendv_ps(error, end, outside)};
}

// below, above: by which an error counts whose output is below, above the target; equal ones get the mean of both.
ErrorTerms slopes(__m256 error, float below, float above) {
    auto const is_above = _mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_GT_OQ);
    auto const is_equal = _mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_EQ_OQ);
    auto const slope = _mm256_blendv_ps(all(-below), all(above), is_above);
    return {_mm256_mul_ps(slope, error), _mm256_blendv_ps(slope, all((above - below) / 2), is_equal)};
}

ErrorTerms error_of(TargetError const& of, __m256 error) {
    using enum TargetError::Kind;
    switch (of.kind) {
        case squared: return {_mm256_mul_ps(error, error), _mm256_add_ps(error, error)};
        case TargetError::Kind::huber: return huber_of(error, all(of.parameter));
        case absolute: return slopes(error, 1, 1);
        case quantile: break;
    }
    return slopes(error, of.parameter, 1 - of.parameter);
}

}  // namespace

double cross_entropy(LossShape const& shape, float const* outputs, std::int64_t const* labels, ClassWeights const& weights,
                     float* gradient) {
    auto const [rows, classes] = shape;
    ClassCounts const counts(classes, weights);
    double count = 0, loss = 0;
    for (std::int64_t r = 0; r < rows; ++r) count += counts.of(labels[r]);
    for (std::int64_t first = 0; first < rows; first += 8) {  // eight logarithms at once
        auto const here = rows - first < 8 ? rows - first : 8;
        alignas(32) float sums[8] = {1, 1, 1, 1, 1, 1, 1, 1}, logs[8], largest[8];
        for (std::int64_t i = 0; i < here; ++i) {
            auto const row = (first + i) * classes;
            auto const [most, sum] = exponentials(outputs + row, classes, gradient + row);
            largest[i] = most;
            sums[i] = sum;
        }
        _mm256_store_ps(logs, log(_mm256_load_ps(sums)));
        for (std::int64_t i = 0; i < here; ++i) {
            auto const row = (first + i) * classes, label = labels[first + i];
            auto const log_sum = static_cast<double>(largest[i]) + static_cast<double>(logs[i]);
            loss += row_loss(outputs + row, classes, label, log_sum, counts);
            row_gradient(gradient + row, shape, label, counts, {1 / static_cast<double>(sums[i]), 1 / count});
        }
    }
    return loss / count;
}

double binary_cross_entropy(LossShape const& shape, float const* outputs, float const* answers, float const* weights,
                            float* gradient) {
    auto const n = shape.rows * shape.columns;
    auto const share = all(static_cast<float>(1 / static_cast<double>(n)));
    Sum8 sum;
    for (std::int64_t r = 0; r < shape.rows; ++r)
        for (std::int64_t c = 0; c < shape.columns; c += 8) {
            auto const at = r * shape.columns + c;
            auto const lanes = lanes_from(c, shape.columns);
            auto const x = _mm256_maskload_ps(outputs + at, lanes), y = _mm256_maskload_ps(answers + at, lanes);
            auto const positive = weights == nullptr ? y : _mm256_mul_ps(y, _mm256_maskload_ps(weights + c, lanes));
            auto const both = _mm256_add_ps(_mm256_sub_ps(all(1), y), positive);
            // -log(sigmoid(x)), without overflow
            auto const size = _mm256_andnot_ps(all(-0.0F), x), zero = _mm256_setzero_ps();
            auto const soft = log1p(exp(_mm256_sub_ps(zero, size)));
            auto const minus_log = _mm256_add_ps(soft, _mm256_max_ps(zero, _mm256_sub_ps(zero, x)));
            auto const loss = _mm256_fmadd_ps(both, minus_log, _mm256_mul_ps(_mm256_sub_ps(all(1), y), x));
            sum.add(_mm256_and_ps(loss, _mm256_castsi256_ps(lanes)));
            auto const slope = _mm256_fmadd_ps(both, sigmoid(x), _mm256_sub_ps(zero, positive));
            _mm256_maskstore_ps(gradient + at, lanes, _mm256_mul_ps(slope, share));
        }
    return sum.total() / static_cast<double>(n);
}

double target_error(TargetError const& error, LossShape const& shape, float const* outputs, float const* targets,
                    float* gradient) {
    auto const n = shape.rows * shape.columns;
    auto const share = all(static_cast<float>(1 / static_cast<double>(n)));
    Sum8 sum;
    for (std::int64_t i = 0; i < n; i += 8) {
        auto const lanes = lanes_from(i, n);
        auto const difference =
            _mm256_sub_ps(_mm256_maskload_ps(outputs + i, lanes), _mm256_maskload_ps(targets + i, lanes));
        auto const [loss, slope] = error_of(error, difference);
        sum.add(_mm256_and_ps(loss, _mm256_castsi256_ps(lanes)));
        _mm256_maskstore_ps(gradient + i, lanes, _mm256_mul_ps(slope, share));
    }
    return sum.total() / static_cast<double>(n);
}

}  // namespace hopscotch
