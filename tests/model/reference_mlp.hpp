// SPDX-License-Identifier: Apache-2.0
// The oracle of step_test: a fully connected network and torch.optim's documented update rules, one row at a time, in
// double.
#pragma once
#include <cmath>
#include <numeric>
#include <vector>

#include "fixture.hpp"
#include "model/trial/lr_schedule.hpp"

namespace hopscotch::testing {

class ReferenceMlp {
public:
    ReferenceMlp(TrialConfig config, Manifest const& manifest, StateLayout const& layout, float const* start)
        : config_(std::move(config)), manifest_(manifest) {
        for (auto const& tensor : layout.tensors) {
            if (tensor.block != Block::parameter) continue;
            if (tensor.shape.size() == 2) layers_.push_back({tensor.shape[1], tensor.shape[0], parameters.size()});
            for (std::size_t i = 0; i < tensor.bytes / sizeof(float); ++i) {
                places.push_back(tensor.offset / sizeof(float) + i);
                parameters.push_back(start[places.back()]);
            }
        }
        first_.assign(parameters.size(), 0);
        second_ = first_;
        if (auto const* name = config_.model.arguments.find("activation")) tanh_ = name->string() == "tanh";
    }

    double train_unit(Shard const& shard, UnitAddress const& address) {
        double sum = 0;
        auto const order = shuffled_rows(shard.rows, address);
        for (auto const& batch : batches(shard.rows, config_.train.batch_size, config_.data.last_batch)) {
            gradient_.assign(parameters.size(), 0);
            for (auto i = batch.first; i < batch.first + batch.size; ++i)
                sum += row(shard, order[static_cast<std::size_t>(i)], static_cast<double>(batch.size));
            update(scheduled_lr(config_.train, manifest_.rows(Split::train), samples_, batch.size));
            samples_ += batch.size;
        }
        return sum;
    }

    std::vector<double> parameters;
    std::vector<std::size_t> places;  // of each parameter in the state, in floats

private:
    struct Layer {
        std::int64_t inputs, outputs;
        std::size_t weight;  // the bias follows it
    };

    double& weight(std::vector<double>& of, Layer const& l, std::int64_t o, std::int64_t i) {
        return of[l.weight + static_cast<std::size_t>(o * l.inputs + i)];
    }
    double& bias(std::vector<double>& of, Layer const& l, std::int64_t o) {
        return of[l.weight + static_cast<std::size_t>(l.inputs * l.outputs + o)];
    }

    // Adds this row's share to the gradient of the batch's mean loss; returns the row's loss.
    double row(Shard const& shard, std::uint32_t r, double batch) {
        auto const width = static_cast<std::size_t>(manifest_.row_size());
        auto const* const x = reinterpret_cast<float const*>(shard.features.data()) + r * width;
        std::vector<std::vector<double>> h{{x, x + width}};
        for (std::size_t l = 0; l < layers_.size(); ++l) h.push_back(forward(layers_[l], h.back(), l + 1 == layers_.size()));
        auto const [loss, d_outputs] = loss_of(h.back(), shard, r);
        auto d = d_outputs;
        for (std::size_t l = layers_.size(); l-- > 0;) d = backward(layers_[l], h[l], d, batch, l == 0);
        return loss;
    }

    std::vector<double> forward(Layer const& layer, std::vector<double> const& in, bool last) {
        std::vector<double> out;
        for (std::int64_t o = 0; o < layer.outputs; ++o) {
            double z = bias(parameters, layer, o);
            for (std::int64_t i = 0; i < layer.inputs; ++i)
                z += weight(parameters, layer, o, i) * in[static_cast<std::size_t>(i)];
            out.push_back(last ? z : tanh_ ? std::tanh(z) : std::max(z, 0.0));
        }
        return out;
    }

    std::vector<double> backward(Layer const& layer, std::vector<double> const& in, std::vector<double> const& d,
                                 double batch, bool first) {
        std::vector<double> below(in.size(), 0);
        for (std::int64_t o = 0; o < layer.outputs; ++o) {
            auto const d_o = d[static_cast<std::size_t>(o)];
            bias(gradient_, layer, o) += d_o / batch;
            for (std::size_t i = 0; i < in.size(); ++i) {
                weight(gradient_, layer, o, static_cast<std::int64_t>(i)) += d_o * in[i] / batch;
                below[i] += d_o * weight(parameters, layer, o, static_cast<std::int64_t>(i));
            }
        }
        if (!first)
            for (std::size_t i = 0; i < in.size(); ++i) below[i] *= tanh_ ? 1 - in[i] * in[i] : in[i] > 0 ? 1 : 0;
        return below;
    }

    std::pair<double, std::vector<double>> loss_of(std::vector<double> const& out, Shard const& shard,
                                                   std::uint32_t r) const {
        std::vector<double> d(out.size());
        double loss = 0;
        if (config_.train.loss == LossKind::mse) {
            for (std::size_t k = 0; k < out.size(); ++k) {
                double const error = out[k] - static_cast<double>(shard.targets[r * out.size() + k]);
                loss += error * error / static_cast<double>(out.size());
                d[k] = 2 * error / static_cast<double>(out.size());
            }
            return {loss, d};
        }
        double const total =
            std::accumulate(out.begin(), out.end(), 0.0, [](double s, double v) { return s + std::exp(v); });
        auto const label = static_cast<std::size_t>(shard.labels[r]);
        for (std::size_t k = 0; k < out.size(); ++k) d[k] = std::exp(out[k]) / total - (k == label ? 1 : 0);
        return {std::log(total) - out[label], d};
    }

    // The algorithms in the documentation of torch.optim.SGD, Adam and AdamW.
    void update(double lr) {
        auto const& c = config_.train.optimizer;
        ++step_;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            auto& p = parameters[i];
            double g = gradient_[i];
            if (c.kind == OptimizerKind::adamw)
                p -= lr * c.weight_decay * p;
            else
                g += c.weight_decay * p;
            if (c.kind == OptimizerKind::sgd) {
                if (c.momentum != 0) first_[i] = step_ == 1 ? g : c.momentum * first_[i] + g;
                p -= lr * (c.momentum == 0 ? g : c.nesterov ? g + c.momentum * first_[i] : first_[i]);
                continue;
            }
            first_[i] = c.beta1 * first_[i] + (1 - c.beta1) * g;
            second_[i] = c.beta2 * second_[i] + (1 - c.beta2) * g * g;
            double const m = first_[i] / (1 - std::pow(c.beta1, step_)), v = second_[i] / (1 - std::pow(c.beta2, step_));
            p -= lr * m / (std::sqrt(v) + c.epsilon);
        }
    }

    TrialConfig config_;
    Manifest const& manifest_;
    std::vector<Layer> layers_;
    std::vector<double> gradient_, first_, second_;
    std::int64_t samples_ = 0;
    int step_ = 0;
    bool tanh_ = false;
};

}  // namespace hopscotch::testing
