// SPDX-License-Identifier: Apache-2.0
// A plug-in that does what its argument `odd` says: what Hopscotch must refuse, survive or get right.
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <hopscotch/model.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace {

// Metrics know no argument of the model: a model that asks for a fault says so in the size of all its outputs, which changes
// no loss.
constexpr double k_throws = 1e5, k_throws_number = 2e5, k_nan = 3e5;

double mark_of(std::string const& odd) {
    if (odd == "metric_throws") return k_throws;
    if (odd == "metric_throws_number") return k_throws_number;
    return odd == "metric_nan" ? k_nan : 0;
}

bool has(torch::Tensor const& outputs, double mark) { return std::abs(outputs.mean().item<double>() - mark) < 5e4; }

void add(torch::Tensor const& outputs, torch::Tensor const& answers, std::span<double> sums) {
    if (has(outputs, k_throws)) throw std::runtime_error("no such answer");
    if (has(outputs, k_throws_number)) throw 42;
    if (has(outputs, k_nan)) sums[0] += 1;
    sums[1] += answers.to(torch::kDouble).sum().item<double>();
}

double value(std::span<double const> sums, std::int64_t rows) {
    if (sums[0] > 0) return std::numeric_limits<double>::quiet_NaN();
    return sums[1] / static_cast<double>(rows);
}

class OddModel : public hopscotch::OwnModel {
public:
    OddModel(std::string odd, std::int64_t in, std::int64_t out) : odd_(std::move(odd)) {
        if (odd_ != "no_parameters") {
            first_ = register_module("first", torch::nn::Linear(in, 64));
            last_ = register_module("last", torch::nn::Linear(64, odd_ == "outputs" ? out + 1 : out));
        }
        if (odd_ == "dropout") dropout_ = register_module("dropout", torch::nn::Dropout(0.5));
        if (odd_ == "tied") register_parameter("again", first_->bias);
        if (odd_ == "shared_memory") register_buffer("again", first_->bias.detach());
        if (odd_ == "double") register_parameter("extra", torch::zeros({3}, torch::kDouble));
        if (odd_ == "bool") register_buffer("mask", torch::ones({3}, torch::kBool));
        if (odd_ == "constant") register_parameter("scale", torch::full({}, 2.0), /*requires_grad=*/false);
    }

    torch::Tensor forward(torch::Tensor x, torch::Generator*) override {
        if (odd_ == "throws" || (odd_ == "throws_later" && x.size(0) > 2)) throw std::runtime_error("not today");
        if (odd_ == "throws_number") throw 42;
        if (odd_ == "no_parameters") return x;
        x = torch::relu(first_(x.flatten(1)));
        if (odd_ == "dropout") x = dropout_(x);
        x = last_(x) + mark_of(odd_);
        return odd_ == "detached" ? x.detach() : x;
    }

    double multiply_adds() const override { return odd_ == "cost" ? std::numeric_limits<double>::quiet_NaN() : 0; }
    hopscotch::Randomness randomness() const override {
        return odd_ == "dropout" ? hopscotch::Randomness::torch : hopscotch::Randomness::given;
    }

private:
    std::string odd_;
    torch::nn::Linear first_{nullptr}, last_{nullptr};
    torch::nn::Dropout dropout_{nullptr};
};

std::shared_ptr<hopscotch::OwnModel> make(hopscotch::ModelRequest const& wanted) {
    auto const odd = wanted.arguments.text("odd", "");
    if (odd == "null") return nullptr;
    if (odd == "make_throws") throw std::invalid_argument("odd: no such thing");
    if (odd == "make_throws_number") throw 42;
    if (odd == "json" && wanted.arguments.json() != R"({"odd":"json","nested":{"a":[1,2]}})")
        throw std::runtime_error("other JSON");
    std::int64_t in = 1;
    for (auto const side : wanted.shape) in *= side;
    return std::make_shared<OddModel>(odd, in, wanted.outputs);
}

}  // namespace

extern "C" hopscotch::Plugin const* hopscotch_plugin() {
    static hopscotch::Plugin const plugin(make, {{"val_answer", hopscotch::Better::smaller, 2, add, value}});
    return &plugin;
}
