// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm_loops.hpp"

#include <cstddef>
#include <vector>

namespace hopscotch::testing {
namespace {

// One channel of one block after the other.
template <class T>
class NormLoops {
public:
    explicit NormLoops(NormCut const& cut) : cut_(cut) {}

    void run(NormForward const& pass) const {
        for (std::uint32_t channel = 0; channel < cut_.channels; ++channel) {
            NormChannel c{0, 0, pass.bias[channel]};
            if (pass.mean == nullptr) {
                c.mean = pass.running_mean[channel];
                c.scale = times(pass.weight[channel], inverse_deviation(pass.running_variance[channel]));
            } else {
                collect_moments(pass, channel);
                auto const inverse = keep_statistics(pass, channel, merged_moments(pass, channel));
                c.mean = pass.mean[channel];
                c.scale = times(pass.weight[channel], inverse);
            }
            write_values(pass, channel, c);
        }
        if (pass.mean != nullptr) ++*pass.batches;
    }

    void run(NormBackward const& pass) const {
        for (std::uint32_t channel = 0; channel < cut_.channels; ++channel) {
            auto const inverse = pass.channel.inverse[channel];
            NormChannel const c{pass.channel.mean[channel], times(pass.channel.weight[channel], inverse),
                                pass.channel.bias[channel]};
            collect_sums(pass, channel, c);
            auto const all = merged_sums(pass, channel);
            pass.weight_gradient[channel] = times(all.product, inverse);
            pass.bias_gradient[channel] = all.gradient;
            write_gradients(pass, channel, c, norm_slope(all, static_cast<float>(cut_.rows), inverse));
        }
    }

private:
    struct Counted {
        NormMoments moments{};
        float count = 0;
    };

    std::size_t at(std::uint32_t row, std::uint32_t channel) const { return std::size_t{row} * cut_.channels + channel; }
    std::size_t row_at(std::uint32_t piece, std::uint32_t lane, std::uint32_t k, std::uint32_t channel) const {
        return at(cut_.begin(piece) + lane + k * cut_.lanes, channel);
    }
    static float value(void const* matrix, std::size_t at) { return widened(static_cast<T const*>(matrix)[at]); }
    static void store(void* matrix, std::size_t at, float x) { narrow(x, static_cast<T*>(matrix)[at]); }
    template <class Sum>
    Sum& partial(float* memory, std::uint32_t piece, std::uint32_t channel) const {
        return reinterpret_cast<Sum*>(memory)[at(piece, channel)];
    }

    static Counted joined(Counted const& a, Counted const& b) {
        auto const all = plus(a.count, b.count);
        return {merged(a.moments, b.moments, a.count, share_of(b.count, all)), all};
    }
    static GradientSums joined(GradientSums const& a, GradientSums const& b) { return merged(a, b); }

    // Of two halves the second into the first, and so on.
    template <class Sum>
    static Sum tree(std::vector<Sum> sums) {
        for (auto half = sums.size() / 2; half > 0; half /= 2)
            for (std::size_t i = 0; i < half; ++i) sums[i] = joined(sums[i], sums[i + half]);
        return sums[0];
    }

    void collect_moments(NormForward const& pass, std::uint32_t channel) const {
        for (std::uint32_t piece = 0; piece < cut_.pieces; ++piece) {
            std::vector<Counted> lanes(cut_.lanes);
            for (std::uint32_t lane = 0; lane < cut_.lanes; ++lane) {
                auto const rows = cut_.rows_of(piece, lane);
                for (std::uint32_t k = 0; k < rows; ++k)
                    lanes[lane].moments = with_value(lanes[lane].moments, value(pass.x, row_at(piece, lane, k, channel)),
                                                     inverse_of(static_cast<float>(k + 1)));
                lanes[lane].count = static_cast<float>(rows);
            }
            partial<NormMoments>(pass.partial, piece, channel) = tree(std::move(lanes)).moments;
        }
    }

    NormMoments merged_moments(NormForward const& pass, std::uint32_t channel) const {
        std::vector<Counted> parts(cut_.parts());
        for (std::uint32_t piece = 0; piece < cut_.pieces; ++piece) {
            auto& own = parts[piece % cut_.parts()];
            own = joined(own, {partial<NormMoments>(pass.partial, piece, channel), static_cast<float>(cut_.size(piece))});
        }
        return tree(std::move(parts)).moments;
    }

    float keep_statistics(NormForward const& pass, std::uint32_t channel, NormMoments const& all) const {
        auto const count = static_cast<float>(cut_.rows);
        pass.mean[channel] = all.mean;
        pass.inverse[channel] = inverse_deviation(over(all.squares, count));
        pass.running_mean[channel] = running(pass.running_mean[channel], all.mean);
        pass.running_variance[channel] = running(pass.running_variance[channel], unbiased_variance(all.squares, count));
        return pass.inverse[channel];
    }

    void write_values(NormForward const& pass, std::uint32_t channel, NormChannel const& c) const {
        for (std::uint32_t row = 0; row < cut_.rows; ++row) {
            auto y = normalised(value(pass.x, at(row, channel)), c);
            if (pass.added != nullptr) y = plus(y, value(pass.added, at(row, channel)));
            store(pass.y, at(row, channel), clipped_to(pass.bounds, y));
        }
    }

    float passed(NormBackward const& pass, std::size_t at, NormChannel const& c) const {
        auto const gradient = value(pass.gradient, at);
        if (pass.mask == NormMask::none) return gradient;
        auto const y = pass.mask == NormMask::stored ? value(pass.y, at) : normalised(value(pass.x, at), c);
        return passed_by(pass.bounds, y, gradient);
    }

    void collect_sums(NormBackward const& pass, std::uint32_t channel, NormChannel const& c) const {
        for (std::uint32_t piece = 0; piece < cut_.pieces; ++piece) {
            std::vector<GradientSums> lanes(cut_.lanes);
            for (std::uint32_t lane = 0; lane < cut_.lanes; ++lane)
                for (std::uint32_t k = 0; k < cut_.rows_of(piece, lane); ++k) {
                    auto const here = row_at(piece, lane, k, channel);
                    auto const g = passed(pass, here, c);
                    lanes[lane] = with_gradient(lanes[lane], g, plus(value(pass.x, here), -c.mean));
                    if (pass.mask == NormMask::stored) store(pass.passed, here, g);
                }
            partial<GradientSums>(pass.partial, piece, channel) = tree(std::move(lanes));
        }
    }

    GradientSums merged_sums(NormBackward const& pass, std::uint32_t channel) const {
        std::vector<GradientSums> parts(cut_.parts());
        for (std::uint32_t piece = 0; piece < cut_.pieces; ++piece) {
            auto& own = parts[piece % cut_.parts()];
            own = joined(own, partial<GradientSums>(pass.partial, piece, channel));
        }
        return tree(std::move(parts));
    }

    void write_gradients(NormBackward const& pass, std::uint32_t channel, NormChannel const& c, NormSlope const& s) const {
        for (std::uint32_t row = 0; row < cut_.rows; ++row) {
            auto const here = at(row, channel);
            auto const g = pass.mask == NormMask::stored ? value(pass.passed, here) : passed(pass, here, c);
            store(pass.x_gradient, here, input_gradient(g, value(pass.x, here), c, s));
        }
    }

    NormCut const& cut_;
};

template <class Pass>
void run_typed(Pass const& pass) {
    if (pass.type == FloatType::float32)
        NormLoops<float>(pass.cut).run(pass);
    else
        NormLoops<Bf16>(pass.cut).run(pass);
}

}  // namespace

void run_norm_loops(NormForward const& pass) { run_typed(pass); }
void run_norm_loops(NormBackward const& pass) { run_typed(pass); }

}  // namespace hopscotch::testing
