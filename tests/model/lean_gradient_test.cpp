// SPDX-License-Identifier: Apache-2.0
// The gradients of the lean step against plain formulas in double: every loss, activation, dropout and batch norm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/cpu_features.hpp"
#include "fixture.hpp"
#include "model/lean/elements.hpp"

namespace hopscotch::testing {
namespace lean_gradient_test {

using Values = std::vector<double>;
using Rows = std::vector<Values>;

// A network of one hidden layer, in double.
struct Reference {
    bool tanh = false, norm = false;
    double dropout = 0;
    std::uint64_t noise_key = 0;
    std::size_t in = 0, hidden = 0, out = 0;
    Values w1 = {}, b1 = {}, gamma = {}, beta = {}, w2 = {}, b2 = {};  // weights: [out, in] of the layer

    struct Gradients {
        Values w1, b1, gamma, beta, w2, b2;
    };

    // output_gradient: of the outputs. Returns the gradients of all parameters.
    Gradients operator()(Rows const& x, std::function<Rows(Rows const&)> const& output_gradient) const {
        auto const rows = x.size();
        std::vector<float> mask(rows * hidden, 1.0F);
        if (dropout > 0) draw_mask(noise_key, 0, dropout, mask.data(), static_cast<std::int64_t>(mask.size()));
        auto const z = linear(x, w1, b1, hidden);
        Rows normalised = z, activated = z, dropped = z;
        Values deviation(hidden, 1);
        for (std::size_t c = 0; norm && c < hidden; ++c) deviation[c] = normalise(normalised, c);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < hidden; ++c) {
                auto const before = norm ? gamma[c] * normalised[r][c] + beta[c] : z[r][c];
                activated[r][c] = tanh ? std::tanh(before) : std::max(before, 0.0);
                dropped[r][c] = activated[r][c] * static_cast<double>(mask[r * hidden + c]);
            }
        auto const g = output_gradient(linear(dropped, w2, b2, out));
        Gradients result;
        result.w2 = products(g, dropped), result.b2 = sums(g);
        Rows d(rows, Values(hidden));
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < hidden; ++c) {
                for (std::size_t o = 0; o < out; ++o) d[r][c] += g[r][o] * w2[o * hidden + c];
                auto const slope = tanh ? 1 - activated[r][c] * activated[r][c] : activated[r][c] > 0 ? 1.0 : 0.0;
                d[r][c] *= static_cast<double>(mask[r * hidden + c]) * slope;
            }
        if (norm) through_norm(d, normalised, deviation, result);
        result.w1 = products(d, x), result.b1 = sums(d);
        return result;
    }

private:
    static Rows linear(Rows const& x, Values const& w, Values const& b, std::size_t outputs) {
        Rows y(x.size(), Values(outputs));
        for (std::size_t r = 0; r < x.size(); ++r)
            for (std::size_t o = 0; o < outputs; ++o) {
                y[r][o] = b[o];
                for (std::size_t i = 0; i < x[r].size(); ++i) y[r][o] += w[o * x[r].size() + i] * x[r][i];
            }
        return y;
    }
    static Values products(Rows const& g, Rows const& x) {
        Values out(g[0].size() * x[0].size());
        for (std::size_t r = 0; r < g.size(); ++r)
            for (std::size_t o = 0; o < g[r].size(); ++o)
                for (std::size_t i = 0; i < x[r].size(); ++i) out[o * x[r].size() + i] += g[r][o] * x[r][i];
        return out;
    }
    static Values sums(Rows const& g) {
        Values out(g[0].size());
        for (auto const& row : g)
            for (std::size_t o = 0; o < row.size(); ++o) out[o] += row[o];
        return out;
    }
    static double normalise(Rows& x, std::size_t c) {
        auto const n = static_cast<double>(x.size());
        double mean = 0, variance = 0;
        for (auto const& row : x) mean += row[c] / n;
        for (auto const& row : x) variance += (row[c] - mean) * (row[c] - mean) / n;
        auto const deviation = std::sqrt(variance + 1e-5);
        for (auto& row : x) row[c] = (row[c] - mean) / deviation;
        return deviation;
    }
    void through_norm(Rows& d, Rows const& normalised, Values const& deviation, Gradients& result) const {
        auto const n = static_cast<double>(d.size());
        result.gamma.assign(hidden, 0), result.beta.assign(hidden, 0);
        for (std::size_t c = 0; c < hidden; ++c) {
            for (std::size_t r = 0; r < d.size(); ++r) {
                result.gamma[c] += d[r][c] * normalised[r][c];
                result.beta[c] += d[r][c];
            }
            for (std::size_t r = 0; r < d.size(); ++r)
                d[r][c] = gamma[c] / deviation[c] * (d[r][c] - result.beta[c] / n - normalised[r][c] * result.gamma[c] / n);
        }
    }
};

struct Case {
    LossKind loss = LossKind::cross_entropy;
    bool weighted = false;
    double smoothing = 0;
    bool tanh = false, norm = false;
    double dropout = 0;
};

Task task_of(LossKind loss) {
    if (loss == LossKind::cross_entropy) return Task::classification;
    return loss == LossKind::bce_with_logits ? Task::multilabel : Task::regression;
}

// d loss / d outputs of the mean loss, by the definitions in PyTorch's manual.
Rows gradient_of_classes(TrainConfig const& train, Rows const& outputs, Shard const& shard) {
    auto const width = outputs[0].size();
    auto weights = train.of_loss.class_weights;
    if (weights.empty()) weights.assign(width, 1);
    Rows out;
    double total = 0;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
        auto const label = static_cast<std::size_t>(shard.labels[r]);
        total += weights[label];
        double sum = 0, all = 0;
        Values target(width);
        for (std::size_t c = 0; c < width; ++c) {
            sum += std::exp(outputs[r][c]);
            target[c] = train.of_loss.label_smoothing / static_cast<double>(width) * weights[c];
            if (c == label) target[c] += (1 - train.of_loss.label_smoothing) * weights[c];
            all += target[c];
        }
        out.emplace_back(width);
        for (std::size_t c = 0; c < width; ++c) out[r][c] = all * std::exp(outputs[r][c]) / sum - target[c];
    }
    for (auto& row : out)
        for (auto& value : row) value /= total;
    return out;
}

double slope(TrainConfig const& train, double weight, double x, double y) {
    auto const error = x - y, q = train.of_loss.quantile, delta = train.of_loss.huber_delta;
    switch (train.loss) {
        case LossKind::bce_with_logits: return (1 - y) / (1 + std::exp(-x)) - weight * y / (1 + std::exp(x));
        case LossKind::mse: return 2 * error;
        case LossKind::huber: return std::clamp(error, -delta, delta);
        case LossKind::mae: return error > 0 ? 1 : -1;
        case LossKind::quantile: return error > 0 ? 1 - q : -q;
        case LossKind::cross_entropy: break;
    }
    return 0;
}

Rows gradient_of_outputs(TrainConfig const& train, Rows const& outputs, Shard const& shard) {
    if (train.loss == LossKind::cross_entropy) return gradient_of_classes(train, outputs, shard);
    auto const rows = outputs.size(), width = outputs[0].size();
    auto const& weights = train.of_loss.class_weights;
    Rows out(rows, Values(width));
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < width; ++c)
            out[r][c] = slope(train, weights.empty() ? 1 : weights[c], outputs[r][c], shard.targets[r * width + c]) /
                        static_cast<double>(rows * width);
    return out;
}

TrialConfig config_of(Case const& c, std::int64_t rows, std::int64_t outputs) {
    auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{Json(19)})},
                                                    {"activation", c.tanh ? "tanh" : "relu"},
                                                    {"batch_norm", c.norm},
                                                    {"dropout", c.dropout}}));
    config.train.arithmetic.engine = Engine::automatic;
    config.train.loss = c.loss;
    config.train.batch_size = static_cast<int>(rows);
    config.train.of_loss.label_smoothing = c.smoothing;
    config.train.of_loss.huber_delta = 0.7;
    config.train.of_loss.quantile = 0.8;
    for (std::int64_t i = 0; c.weighted && i < outputs; ++i)
        config.train.of_loss.class_weights.push_back(0.5 + 0.25 * static_cast<double>(i));
    return config;
}

constexpr std::int64_t k_inputs = 23, k_outputs = 5;

// A trial of a case whose first gradient is compared.
class Compared {
public:
    Compared(Case const& c, std::int64_t rows)
        : case_(c),
          rows_(rows),
          config_(config_of(c, rows, k_outputs)),
          trial_(config_, plain_manifest({k_inputs}, k_outputs, rows, task_of(c.loss))),
          shard_(random_shard(trial_.manifest, rows, 5)),
          state_(layout().bytes) {
        if (c.loss == LossKind::bce_with_logits)
            for (auto& target : shard_.targets) target = target > 0 ? 1.0F : 0.0F;
        trial_->state->initialise(state_.bytes(), 3, TrialId(0), 1);
        Rng rng(9);
        if (c.norm)
            for (auto const* name : {"norms.0.weight", "norms.0.bias"})
                for (auto& value : part({state_.floats(), state_.bytes().size() / sizeof(float)}, name))
                    value = static_cast<float>(1 + 0.3 * rng.normal());
        trial_->state->bind(state_.bytes());
    }

    bool is_lean() { return trial_->state->layout().update_by == UpdateBy::lean; }

    void expect_reference() {
        auto const held = source(shard_);
        trial_->training->begin_pass(*held, k_address, rows_);
        ASSERT_EQ(trial_->training->next_gradient({}, {}), rows_);
        auto const [x, batch] = rows_in_order();
        auto const expected =
            reference()(x, [&](Rows const& found) { return gradient_of_outputs(config_.train, found, batch); });
        expect("layers.0.weight", expected.w1);
        expect("layers.1.weight", expected.w2);
        expect("layers.1.bias", expected.b2);
        if (!case_.norm) return expect("layers.0.bias", expected.b1);  // else it is 0 but for rounding
        expect("norms.0.weight", expected.gamma);
        expect("norms.0.bias", expected.beta);
    }

private:
    inline static UnitAddress const k_address = unit(0, 0, 0);

    StateLayout const& layout() { return trial_->state->layout(); }

    std::span<float> part(std::span<float> floats, std::string const& name) {
        auto const& tensor = layout().find(name);
        return floats.subspan(tensor.offset / sizeof(float), tensor.bytes / sizeof(float));
    }

    Values values(std::string const& name) {
        auto const found = part({state_.floats(), state_.bytes().size() / sizeof(float)}, name);
        return {found.begin(), found.end()};
    }

    Reference reference() {
        Reference out{case_.tanh,
                      case_.norm,
                      case_.dropout,
                      stream_key(k_address.seed, Purpose::dropout, {k_address.trial.value, 0, k_address.shard.value, 0}),
                      k_inputs,
                      19,
                      k_outputs};
        out.w1 = values("layers.0.weight"), out.b1 = values("layers.0.bias");
        out.w2 = values("layers.1.weight"), out.b2 = values("layers.1.bias");
        if (case_.norm) out.gamma = values("norms.0.weight"), out.beta = values("norms.0.bias");
        return out;
    }

    // In the order of the batch.
    std::pair<Rows, Shard> rows_in_order() {
        Rows x;
        Shard batch;
        for (auto const row : shuffled_rows(rows_, k_address)) {
            auto const* const from = reinterpret_cast<float const*>(shard_.features.data()) + row * k_inputs;
            x.emplace_back(from, from + k_inputs);
            if (!shard_.labels.empty()) batch.labels.push_back(shard_.labels[row]);
            for (std::int64_t k = 0; shard_.labels.empty() && k < k_outputs; ++k)
                batch.targets.push_back(shard_.targets[static_cast<std::size_t>(row * k_outputs + k)]);
        }
        return {std::move(x), std::move(batch)};
    }

    void expect(std::string const& name, Values const& expected) {
        auto const found = part(trial_->training->gradient(), name);
        double largest = 0;
        for (auto const each : expected) largest = std::max(largest, std::abs(each));
        ASSERT_GT(largest, 0) << name;
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(found[i], expected[i], 1e-6 * largest) << name << " " << i;
    }

    Case case_;
    std::int64_t rows_;
    TrialConfig config_;
    Trial trial_;
    Shard shard_;
    AlignedBlock state_;
};

TEST(LeanGradient, IsThatOfDoubleToAMillionth) {
    if (!cpu_features().has_lean_step()) GTEST_SKIP() << "needs a CPU with AVX2";
    std::vector<Case> losses;
    for (auto const loss : {LossKind::cross_entropy, LossKind::bce_with_logits, LossKind::mse, LossKind::huber,
                            LossKind::mae, LossKind::quantile})
        losses.push_back({.loss = loss});
    losses.push_back({.weighted = true});
    losses.push_back({.smoothing = 0.1});
    losses.push_back({.weighted = true, .smoothing = 0.1});
    losses.push_back({.loss = LossKind::bce_with_logits, .weighted = true});
    for (auto c : losses)
        for (bool const tanh : {false, true})
            for (bool const norm : {false, true})
                for (double const dropout : {0.0, 0.4}) {
                    c.tanh = tanh, c.norm = norm, c.dropout = dropout;
                    SCOPED_TRACE(fmt::format("loss {} weighted {} smoothing {} tanh {} norm {} dropout {}",
                                             static_cast<int>(c.loss), c.weighted, c.smoothing, tanh, norm, dropout));
                    Compared compared(c, 33);
                    ASSERT_TRUE(compared.is_lean());
                    compared.expect_reference();
                }
}

}  // namespace lean_gradient_test
}  // namespace hopscotch::testing
