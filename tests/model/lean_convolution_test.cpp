// SPDX-License-Identifier: Apache-2.0
// Convolutions of the lean step: gradients against the derivative of a plain forward pass in double, pooling, and passes
// over the rows of two trainers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/cpu_features.hpp"
#include "core/json_reader.hpp"
#include "fixture.hpp"
#include "model/lean/elements.hpp"
#include "model/lean/pooling.hpp"
#include "model/zoo/lean_specs.hpp"

namespace hopscotch::testing {
namespace lean_convolution_test {

using Values = std::vector<double>;

class LeanConvolution : public ::testing::Test {
    void SetUp() override {
        if (!cpu_features().has_lean_step()) GTEST_SKIP() << "needs a CPU with AVX2";
    }
};

// A batch of images [channels, height, width].
struct Images {
    ImageSize size;
    std::vector<Values> rows;
    double& at(std::size_t row, std::int64_t c, std::int64_t y, std::int64_t x) {
        return rows[row][static_cast<std::size_t>((c * size.height + y) * size.width + x)];
    }
    double or_zero(std::size_t row, std::int64_t c, std::int64_t y, std::int64_t x) {
        return y < 0 || x < 0 || y >= size.height || x >= size.width ? 0 : at(row, c, y, x);
    }
};

Images images_of(ImageSize size, std::size_t rows) {
    return {size, std::vector<Values>(rows, Values(static_cast<std::size_t>(size.channels * size.pixels())))};
}

// The mean loss of a batch, by the definitions.
class Reference {
public:
    Reference(LeanSpec spec, std::uint64_t noise_key) : spec_(std::move(spec)), noise_key_(noise_key) {}

    std::map<std::string, Values> parameters;

    double loss(Images x, std::vector<std::int64_t> const& labels) {
        auto const sizes = sizes_of(spec_.image, spec_.convolutions);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            x = pooled(convolved(x, spec_.convolutions[i], sizes[i].output), sizes[i].pooled);
            if (auto const& norm = spec_.convolutions[i].norm; !norm.empty()) normalise(x, norm);
            for (auto& row : x.rows)
                for (auto& value : row) value = std::max(value, 0.0);
        }
        auto const& dense = spec_.dense;
        auto h = x.rows;
        drop(h, spec_.image_dropout, static_cast<std::uint32_t>(dense.names.size()));
        for (std::size_t i = 0; i < dense.names.size(); ++i) {
            h = linear(h, dense.names[i], static_cast<std::size_t>(dense.widths[i + 1]));
            if (i + 1 == dense.names.size()) break;
            for (auto& row : h)
                for (auto& value : row) value = std::max(value, 0.0);
            drop(h, dense.dropout, static_cast<std::uint32_t>(i));
        }
        double sum = 0;
        for (std::size_t r = 0; r < h.size(); ++r) {
            double total = 0;
            for (auto const value : h[r]) total += std::exp(value);
            sum += std::log(total) - h[r][static_cast<std::size_t>(labels[r])];
        }
        return sum / static_cast<double>(h.size());
    }

private:
    Images convolved(Images& x, ConvolutionSpec const& spec, ImageSize const& size) {
        auto out = images_of(size, x.rows.size());
        auto const& weight = parameters.at(spec.name + ".weight");
        for (std::size_t r = 0; r < x.rows.size(); ++r)
            for (std::int64_t o = 0; o < size.channels; ++o)
                for (std::int64_t i = 0; i < size.pixels(); ++i) {
                    auto const y = i / size.width, column = i % size.width;
                    double sum = spec.norm.empty() ? parameters.at(spec.name + ".bias")[static_cast<std::size_t>(o)] : 0;
                    auto const* w = &weight[static_cast<std::size_t>(o * x.size.channels * spec.kernel * spec.kernel)];
                    for (std::int64_t c = 0; c < x.size.channels; ++c)
                        for (std::int64_t tap = 0; tap < spec.kernel * spec.kernel; ++tap, ++w)
                            sum += *w * x.or_zero(r, c, y + tap / spec.kernel - spec.padding,
                                                  column + tap % spec.kernel - spec.padding);
                    out.at(r, o, y, column) = sum;
                }
        return out;
    }
    static Images pooled(Images x, ImageSize const& size) {
        auto out = images_of(size, x.rows.size());
        for (std::size_t r = 0; r < x.rows.size(); ++r)
            for (std::int64_t c = 0; c < size.channels; ++c)
                for (std::int64_t y = 0; y < size.height; ++y)
                    for (std::int64_t i = 0; i < size.width; ++i)
                        out.at(r, c, y, i) = std::max({x.at(r, c, 2 * y, 2 * i), x.at(r, c, 2 * y, 2 * i + 1),
                                                       x.at(r, c, 2 * y + 1, 2 * i), x.at(r, c, 2 * y + 1, 2 * i + 1)});
        return out;
    }
    void normalise(Images& x, std::string const& norm) {
        auto const pixels = static_cast<std::size_t>(x.size.pixels());
        auto const n = static_cast<double>(pixels * x.rows.size());
        for (std::size_t c = 0; c < static_cast<std::size_t>(x.size.channels); ++c) {
            double mean = 0, variance = 0;
            auto const each = [&](auto const& visit) {
                for (auto& row : x.rows)
                    for (std::size_t i = 0; i < pixels; ++i) visit(row[c * pixels + i]);
            };
            each([&](double value) { mean += value / n; });
            each([&](double value) { variance += (value - mean) * (value - mean) / n; });
            auto const factor = parameters.at(norm + ".weight")[c] / std::sqrt(variance + 1e-5);
            each([&](double& value) { value = (value - mean) * factor + parameters.at(norm + ".bias")[c]; });
        }
    }
    void drop(std::vector<Values>& h, double p, std::uint32_t layer) const {
        if (p == 0) return;
        std::vector<float> mask(h.size() * h[0].size());
        draw_mask(noise_key_, layer, p, mask.data(), static_cast<std::int64_t>(mask.size()));
        for (std::size_t i = 0; i < mask.size(); ++i) h[i / h[0].size()][i % h[0].size()] *= static_cast<double>(mask[i]);
    }
    std::vector<Values> linear(std::vector<Values> const& x, std::string const& name, std::size_t outputs) {
        std::vector<Values> out(x.size(), parameters.at(name + ".bias"));
        auto const& weight = parameters.at(name + ".weight");
        for (std::size_t r = 0; r < x.size(); ++r)
            for (std::size_t o = 0; o < outputs; ++o)
                for (std::size_t i = 0; i < x[r].size(); ++i) out[r][o] += weight[o * x[r].size() + i] * x[r][i];
        return out;
    }

    LeanSpec spec_;
    std::uint64_t noise_key_;
};

constexpr std::int64_t k_outputs = 5;

// A trial whose first gradient is compared.
class Compared {
public:
    Compared(TrialConfig config, LeanSpec const& spec, std::int64_t rows)
        : trial_(std::move(config), manifest_of(spec, rows)),
          shard_(random_shard(trial_.manifest, rows, 5)),
          state_(trial_->state->layout().bytes),
          rows_(rows),
          reference_(spec,
                     stream_key(k_address.seed, Purpose::dropout, {k_address.trial.value, 0, k_address.shard.value, 0})) {
        trial_->state->initialise(state_.bytes(), 3, TrialId(0), 1);
        Rng rng(9);
        for (auto const& tensor : trial_->state->layout().tensors) {
            if (tensor.block != Block::parameter) continue;
            auto const values = std::span(state_.floats() + tensor.offset / sizeof(float), tensor.bytes / sizeof(float));
            for (auto& value : values) value += static_cast<float>(0.1 * rng.normal());
            reference_.parameters[tensor.name] = {values.begin(), values.end()};
        }
        trial_->state->bind(state_.bytes());
    }

    bool is_lean() { return trial_->state->layout().update_by == UpdateBy::lean; }

    // Some elements of each parameter. A derivative across a step of relu or of pooling would say nothing: two widths of the
    // difference have to agree.
    void expect_derivatives(LeanSpec const& spec) {
        auto const held = source(shard_);
        trial_->training->begin_pass(*held, k_address, rows_);
        ASSERT_EQ(trial_->training->next_gradient({}, {}), rows_);
        auto const gradient = trial_->training->gradient();
        auto const [x, labels] = batch(spec);
        Rng rng(11);
        int compared = 0;
        for (auto& [name, values] : reference_.parameters) {
            auto const first = trial_->state->layout().find(name).offset / sizeof(float);
            double largest = 0.01;  // rounding is that of sums which may cancel
            for (std::size_t i = 0; i < values.size(); ++i)
                largest = std::max(largest, std::abs(static_cast<double>(gradient[first + i])));
            for (int draw = 0; draw < 6; ++draw) {
                auto const i = rng.below(static_cast<std::uint32_t>(values.size()));
                auto const near = derivative(values[i], 1e-5, x, labels), far = derivative(values[i], 2e-5, x, labels);
                if (std::abs(near - far) > 1e-7 * largest) continue;
                EXPECT_NEAR(gradient[first + i], near, 2e-6 * largest) << name << " " << i;
                ++compared;
            }
        }
        EXPECT_GT(compared, 2 * static_cast<int>(reference_.parameters.size()));
    }

private:
    inline static UnitAddress const k_address = unit(0, 0, 0);

    static Manifest manifest_of(LeanSpec const& spec, std::int64_t rows) {
        auto const& image = spec.image;
        return plain_manifest({image.channels, image.height, image.width}, k_outputs, rows, Task::classification);
    }

    double derivative(double& value, double width, Images const& x, std::vector<std::int64_t> const& labels) {
        auto const was = value;
        value = was + width;
        auto const above = reference_.loss(x, labels);
        value = was - width;
        auto const below = reference_.loss(x, labels);
        value = was;
        return (above - below) / (2 * width);
    }

    // In the order of the batch.
    std::pair<Images, std::vector<std::int64_t>> batch(LeanSpec const& spec) {
        Images x{spec.image, {}};
        std::vector<std::int64_t> labels;
        auto const floats = spec.image.channels * spec.image.pixels();
        for (auto const row : shuffled_rows(rows_, k_address)) {
            auto const* const from = reinterpret_cast<float const*>(shard_.features.data()) + row * floats;
            x.rows.emplace_back(from, from + floats);
            labels.push_back(shard_.labels[row]);
        }
        return {std::move(x), std::move(labels)};
    }

    Trial trial_;
    Shard shard_;
    AlignedBlock state_;
    std::int64_t rows_;
    Reference reference_;
};

void expect_derivatives(std::string const& name, Json const& arguments, std::vector<std::int64_t> const& shape,
                        std::int64_t rows) {
    SCOPED_TRACE(fmt::format("{} {} on {}x{}x{}", name, arguments.dump(), shape[0], shape[1], shape[2]));
    auto config = trial_config(name, arguments);
    config.train.arithmetic.engine = Engine::automatic;
    config.train.batch_size = static_cast<int>(rows);
    Problems problems("");
    DataSchema const data{Task::classification, shape, k_outputs, rows, {}};
    auto const spec = name == "lenet" ? lenet_spec(config.model, data, problems) : cnn_spec(config.model, data, problems);
    ASSERT_TRUE(problems.empty()) << problems.text();
    Compared compared(config, spec, rows);
    ASSERT_TRUE(compared.is_lean());
    compared.expect_derivatives(spec);
}

TEST_F(LeanConvolution, GradientsAreDerivatives) {
    Rng rng(3);
    for (int i = 0; i < 12; ++i) {
        auto const one_to = [&](std::uint32_t most) { return std::int64_t{1} + rng.below(most); };
        Json::Array channels;
        for (auto layers = one_to(2); layers > 0; --layers) channels.emplace_back(one_to(16));
        std::vector<std::int64_t> const shape{one_to(4), 4 + one_to(9), 4 + one_to(9)};
        Json const arguments =
            Json::object({{"channels", Json(channels)}, {"batch_norm", i % 2 == 0}, {"dropout", i % 3 == 0 ? 0.3 : 0.0}});
        expect_derivatives("cnn", arguments, shape, 3 + one_to(5));
    }
    for (auto const& shape : std::vector<std::vector<std::int64_t>>{{1, 8, 8}, {3, 12, 17}})
        for (double const dropout : {0.0, 0.2}) expect_derivatives("lenet", Json::object({{"dropout", dropout}}), shape, 4);
}

// Of images of any size.
TEST_F(LeanConvolution, PoolingTakesTheFirstOfTheLargest) {
    Rng rng(4);
    for (int round = 0; round < 100; ++round) {
        std::int64_t const height = 1 + rng.below(5), width = 1 + rng.below(5), channels = 1 + rng.below(20);
        auto const stride = 2 * width + rng.below(3);
        std::vector<float> x(static_cast<std::size_t>(2 * height * stride * channels + k_pooling_slack));
        for (auto& value : x) value = static_cast<float>(rng.below(4)) - 2;  // equal ones are common
        auto const results = static_cast<std::size_t>(height * width * channels);
        std::vector<float> out(results + k_pooling_slack), back(x.size(), 0.0F), gradient(results);
        std::vector<std::int32_t> picks(results + k_pooling_slack);
        Pooling const pooling{height, width, channels, stride};
        max_pool(pooling, x.data(), out.data(), picks.data());
        for (std::size_t i = 0; i < results; ++i) gradient[i] = static_cast<float>(i + 1);
        spread_picked(pooling, gradient.data(), picks.data(), back.data());
        double spread = 0;
        for (auto const value : back) spread += static_cast<double>(value);
        EXPECT_EQ(spread, static_cast<double>(results) * static_cast<double>(results + 1) / 2);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(results); ++i) {
            auto const y = i / channels / width, column = i / channels % width, c = i % channels;
            auto const place = [&](std::int32_t which) {
                return static_cast<std::size_t>(((2 * y + which / 2) * stride + 2 * column + which % 2) * channels + c);
            };
            std::int32_t best = 0;
            for (std::int32_t which = 1; which < 4; ++which)
                if (x[place(which)] > x[place(best)]) best = which;
            auto const at = static_cast<std::size_t>(i);
            ASSERT_EQ(out[at], x[place(best)]) << at;
            ASSERT_EQ(picks[at], best) << at;
            ASSERT_EQ(back[place(best)], gradient[at]) << at;
        }
    }
}

TEST_F(LeanConvolution, PoolingKeepsWhatIsNotANumber) {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t which = 0; which < 4; ++which) {
        std::vector<float> x(4 + k_pooling_slack, 1.0F), out(1 + k_pooling_slack);
        x[which] = nan;
        max_pool({1, 1, 1, 2}, x.data(), out.data(), nullptr);
        EXPECT_TRUE(std::isnan(out[0])) << which;
    }
}

}  // namespace lean_convolution_test
}  // namespace hopscotch::testing
