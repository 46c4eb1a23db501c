// SPDX-License-Identifier: Apache-2.0
// train.channels_last: reaches every pass, changes how images lie in memory, and results only by rounding.
#include <gtest/gtest.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>

#include "fixture.hpp"
#include "tensor/network/image_layout.hpp"
#include "tensor/network/layers.hpp"
#include "tensor/step/step.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch::testing {
namespace image_layout_test {

TEST(ImageLayout, OfAPass) {
    auto const x = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
    auto const last = images_for(x, {}), first = images_for(x, {.channels_last = false});
    EXPECT_EQ(last.strides(), at::IntArrayRef({60, 1, 15, 3}));
    EXPECT_EQ(first.strides(), at::IntArrayRef({60, 20, 5, 1}));
    EXPECT_TRUE(last.equal(first));
}

// Remembers how it was called.
class Spy final : public Network {
public:
    explicit Spy(std::vector<bool>& seen) : seen_(seen) {}
    std::vector<ParameterSpec> const& parameters() const override { return parameters_; }
    std::vector<BufferSpec> const& buffers() const override { return buffers_; }
    double multiply_adds() const override { return 1; }
    Backward kind() const override { return Backward::written_out; }
    void bind(BoundTensors tensors) override { bound_ = std::move(tensors); }
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        seen_.push_back(pass.channels_last);
        return x.mul(bound_.parameters.at(0));
    }
    void backward(at::Tensor const&, at::Tensor const&) override { bound_.gradients.at(0).zero_(); }

private:
    std::vector<bool>& seen_;
    std::vector<ParameterSpec> parameters_{{"w", {1}, Init::constant(1)}};
    std::vector<BufferSpec> buffers_;
    BoundTensors bound_;
};

TEST(ImageLayout, ReachesTrainingAndEvaluation) {
    for (bool const channels_last : {true, false}) {
        auto config = trial_config("spy");
        config.train.arithmetic.channels_last = channels_last;
        std::vector<bool> seen;
        Workspace workspace("cpu", 1);
        auto network = std::make_unique<Spy>(seen);
        auto const layout = make_layout({network->parameters(), network->buffers(), {}, config.train});
        Step step(std::move(network), {"spy", ""}, config.train, workspace.impl());
        AlignedBlock state(layout.bytes);
        auto const floats = at::arange(static_cast<std::int64_t>(layout.end_of(Block::buffer) / sizeof(float)), at::kFloat);
        step.bind(floats, layout, {});
        step.begin_unit();
        step.forward_backward({at::arange(6, at::kFloat).view({2, 3}), at::arange(2, at::kLong)}, 1);
        step.evaluate(at::arange(6, at::kFloat).view({2, 3}));
        EXPECT_EQ(seen, std::vector<bool>(2, channels_last));
    }
}

struct Result {
    std::vector<float> outputs;    // before any training
    double first = 0, second = 0;  // losses: of a training pass, and of the one after its update
};

Result trained(TrialConfig config, bool channels_last) {
    config.train.arithmetic.channels_last = channels_last;
    config.train.batch_size = 14;
    config.train.optimizer.lr = 1e-3;
    Trial trial(config, plain_manifest({3, 64, 64}, 4, 14, Task::classification));
    auto const shard = source(random_shard(trial.manifest, 14, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    trial->state->bind(state.bytes());
    Result out;
    out.outputs = trial->evaluation->predict(*shard, {0, 1});
    out.first = trial->training->train_unit(*shard, unit(3, 0, 0), {}).loss;
    out.second = trial->training->train_unit(*shard, unit(3, 0, 0), {}).loss;
    return out;
}

// Batch norm over few values makes rounding grow from layer to layer and from step to step.
TEST(ImageLayout, ResultsAgreeToRounding) {
    for (auto const& config :
         {trial_config("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}, {"dropout", 0.2}})),
          trial_config("resnet20", Json::object({{"width", 4}})), trial_config("resnet18", Json::object({{"width", 4}})),
          trial_config("vgg16_bn", Json::object({{"width", 4}, {"hidden", 16}})),
          trial_config("mobilenet_v2", Json::object({{"width", 0.25}}))}) {
        auto const last = trained(config, true), first = trained(config, false);
        EXPECT_NEAR(last.first, first.first, 1e-4 * first.first) << config.model.name;
        EXPECT_NEAR(last.second, first.second, 1e-2 * first.second) << config.model.name;
        ASSERT_EQ(last.outputs.size(), first.outputs.size());
        for (std::size_t i = 0; i < last.outputs.size(); ++i)
            EXPECT_NEAR(last.outputs[i], first.outputs[i], 1e-4 * (1 + std::abs(first.outputs[i])))
                << config.model.name << " " << i;
    }
}

// Every kind of CPU on every machine; convolution_sweep shows that the list is complete for this one.
TEST(ImageLayout, OfAConvolutionIsChosenByTheCpu) {
    CpuFeatures const avx{}, avx2{true, false, false, false}, avx512{true, true, false, false};
    auto const safe = channels_last_is_safe;
    EXPECT_FALSE(safe({.in_channels = 4, .kernel = 1, .stride = 2, .groups = 1}, avx2));
    EXPECT_FALSE(safe({.in_channels = 7, .kernel = 1, .stride = 3, .groups = 1}, avx2));
    EXPECT_FALSE(safe({.in_channels = 12, .kernel = 1, .stride = 2, .groups = 2}, avx2));
    EXPECT_TRUE(safe({.in_channels = 8, .kernel = 1, .stride = 2, .groups = 1}, avx2));
    EXPECT_TRUE(safe({.in_channels = 4, .kernel = 3, .stride = 2, .groups = 1}, avx2));
    EXPECT_TRUE(safe({.in_channels = 4, .kernel = 1, .stride = 1, .groups = 1}, avx2));
    for (auto const& other : {avx, avx512})
        EXPECT_TRUE(safe({.in_channels = 4, .kernel = 1, .stride = 2, .groups = 1}, other));
}

// Whatever it computes in, the next layer finds its images as the pass has them.
TEST(ImageLayout, OfOutputsIsThatOfInputs) {
    Modules modules;
    ImageShape shape{4, 8, 8};
    Conv2d layer(Scope{modules, ""}, shape, {.out = 6, .kernel = 1, .stride = 2, .bias = false});
    auto const weights = at::arange(24, at::kFloat).view({6, 4, 1, 1});
    auto const images = at::arange(2 * 4 * 64, at::kFloat).view({2, 4, 8, 8});
    layer.weight = &weights;
    at::Tensor first;
    for (bool const safe : {true, false})
        for (bool const last : {false, true}) {
            layer.channels_last_is_safe = safe;
            auto const outputs = layer(images_for(images, {.channels_last = last}));
            EXPECT_EQ(outputs.is_contiguous(at::MemoryFormat::ChannelsLast), last);
            if (!first.defined()) first = outputs;
            EXPECT_TRUE(first.allclose(outputs, 1e-6));
        }
}

}  // namespace image_layout_test
}  // namespace hopscotch::testing
