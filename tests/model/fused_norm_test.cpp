// SPDX-License-Identifier: Apache-2.0
// The fused batch norm of GPUs, on a CPU: its cut, its arithmetic against torch's in double precision, its operator of
// autograd, and whole networks that train with it.
#include <gtest/gtest.h>

#include <ATen/Context.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/rng.hpp"
#include "model/norm_cases.hpp"
#include "model/norm_on_host.hpp"
#include "model/step_cases.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/norm_pass.hpp"

namespace hopscotch::testing {
namespace fused_norm_test {

TEST(NormCut, GivesEveryRowAndChannelToOneThread) {
    Rng rng(1);
    for (int i = 0; i < 3000; ++i) {
        auto const rows = 1 + static_cast<std::uint32_t>(rng.below(i % 3 == 0 ? 20 : i % 3 == 1 ? 3000 : 3000000));
        auto const channels = 1 + static_cast<std::uint32_t>(rng.below(i % 2 == 0 ? 70 : 4096));
        auto const bytes = rng.below(2) == 0 ? 2U : 4U;
        auto const cut = norm_cut(rows, channels, bytes);
        ASSERT_EQ(cut.across * cut.lanes, k_norm_threads);
        ASSERT_EQ(cut.parts() * cut.tile_channels(), k_norm_threads);
        ASSERT_LE(cut.tile_channels(), 64U);
        ASSERT_TRUE(channels % cut.width == 0 && cut.width * bytes <= 16);
        ASSERT_TRUE(cut.tiles * cut.tile_channels() >= channels && (cut.tiles - 1) * cut.tile_channels() < channels);
        ASSERT_LE(cut.tiles * cut.pieces, std::max(cut.tiles, k_norm_blocks));
        std::uint64_t sum = 0;
        for (std::uint32_t piece = 0; piece < cut.pieces; ++piece) {
            ASSERT_EQ(cut.begin(piece), sum);
            ASSERT_GT(cut.size(piece), 0U);
            std::uint32_t taken = 0;
            for (std::uint32_t lane = 0; lane < cut.lanes; ++lane) taken += cut.rows_of(piece, lane);
            ASSERT_EQ(taken, cut.size(piece));
            sum += cut.size(piece);
        }
        ASSERT_EQ(sum, rows) << rows << " x " << channels;
    }
}

TEST(NormElement, RoundsToBfloat16AsTorchDoes) {
    Rng rng(1);
    for (int i = 0; i < 200000; ++i) {
        auto const bits = rng.next_u64();
        float x = 0;
        std::memcpy(&x, &bits, sizeof x);
        Bf16 mine;
        narrow(x, mine);
        auto const torchs = at::BFloat16(x);
        if (std::isnan(x))
            ASSERT_TRUE(std::isnan(widened(mine)));
        else
            ASSERT_EQ(mine.bits, torchs.x) << x;
    }
}

double largest(at::Tensor const& x) { return x.to(at::kDouble).abs().max().item<double>(); }

// Of matrices in bfloat16 that is the rounding of their elements.
double wanted_accuracy(at::Tensor const& found, NormCase const& which) {
    return found.scalar_type() == at::kBFloat16 ? 1.0 / 256 : 1e-6 * (1 + which.offset);
}

// steepness: the size of the values whose difference the gradient of x is.
void compare(NormCase const& which, NormOutputs const& found, NormOutputs const& expected, double steepness) {
    auto const values_of_a_channel = static_cast<double>(found.y.numel()) / static_cast<double>(found.y.size(1));
    auto const expectations = expected.named();
    auto const all = found.named();
    ASSERT_EQ(all.size(), expectations.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& [what, values] = all[i];
        auto const& wanted = expectations[i].second;
        ASSERT_EQ(values.sizes(), wanted.sizes()) << which.name() << ": " << what;
        bool const is_sum = values.is_same(found.weight) || values.is_same(found.bias);
        auto const size = is_sum ? std::sqrt(values_of_a_channel) : values.is_same(found.x) ? steepness : 1.0;
        auto const scale = std::max(size, largest(wanted));
        EXPECT_LE(largest(values.to(at::kDouble).sub(wanted)), wanted_accuracy(values, which) * scale)
            << which.name() << ": " << what;
    }
    EXPECT_EQ(found.batches.item<std::int64_t>(), 1);
}

class FusedNormIn : public ::testing::TestWithParam<at::ScalarType> {};

TEST_P(FusedNormIn, EqualsTorchForwardAndBackward) {
    at::manual_seed(1);
    for (auto const& which : norm_cases()) {
        auto const in = norm_inputs(which, GetParam());
        if (which.clip != Clip::none) settle_bounds(in, GetParam() == at::kFloat ? 1e-4 : 0.05);
        auto const steepness = largest(in.weight) * largest(in.gradient) *
                               largest(in.x.to(at::kDouble).transpose(0, 1).flatten(1).var(1, false).add(1e-5).rsqrt());
        compare(which, fused_outputs(which, in, HostNormDevice()), torch_outputs(which, in), steepness);
    }
}

TEST_P(FusedNormIn, EqualsTorchInEvaluation) {
    at::manual_seed(1);
    for (auto const& which : norm_cases()) {
        auto const in = norm_inputs(which, GetParam());
        auto const added = which.adds ? std::optional<at::Tensor>(in.added) : std::nullopt;
        auto const mean = in.running_mean.clone();
        FusedNorm const norm{
            HostNormDevice(), {in.weight, in.bias, in.running_mean, in.running_variance}, in.batches, added, which.clip};
        auto const found = fused_norm_in_evaluation(in.x, norm);
        auto const doubles = [](at::Tensor const& each) { return each.to(at::kDouble); };
        auto wanted = at::batch_norm(doubles(in.x), doubles(in.weight), doubles(in.bias), doubles(in.running_mean),
                                     doubles(in.running_variance), false, 0.1, 1e-5, false);
        if (which.adds) wanted = wanted.add(doubles(in.added));
        if (which.clip != Clip::none) wanted = which.clip == Clip::relu ? wanted.relu() : wanted.clamp(0, 6);
        EXPECT_LE(largest(doubles(found).sub(wanted)), wanted_accuracy(found, which) * std::max(1.0, largest(wanted)))
            << which.name();
        EXPECT_TRUE(in.running_mean.equal(mean));
        EXPECT_EQ(in.batches.item<std::int64_t>(), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, FusedNormIn, ::testing::Values(at::kFloat, at::kBFloat16));

TEST(FusedNorm, TakesViewsAtAnyAddress) {
    at::manual_seed(1);
    NormCase const which{{9, 8}};
    auto in = norm_inputs(which, at::kFloat);
    auto const expected = fused_outputs(which, in, HostNormDevice());
    auto const memory = at::zeros({9 * 8 + 1});
    auto const added = std::optional<at::Tensor>();
    auto const shifted = memory.narrow(0, 1, 9 * 8).view({9, 8}).copy_(in.x);
    ASSERT_TRUE(can_fuse_norm(shifted));
    FusedNorm const norm{
        HostNormDevice(), {in.weight, in.bias, in.running_mean, in.running_variance}, in.batches, added, Clip::none};
    EXPECT_TRUE(fused_norm_in_training(shifted, norm).equal(expected.y));
    EXPECT_TRUE(fused_norm_in_training(in.x.t().contiguous().t(), norm).equal(expected.y));
    EXPECT_FALSE(can_fuse_norm(in.x.to(at::kDouble)));
    EXPECT_FALSE(can_fuse_norm(at::zeros({2, 3, 4})));
}

TEST(FusedNorm, ANaNStaysOne) {
    auto in = norm_inputs({{6, 4}}, at::kFloat);
    in.x[2][1] = std::nan("");
    auto const added = std::optional<at::Tensor>();
    for (auto const clip : {Clip::none, Clip::relu, Clip::relu6}) {
        FusedNorm const norm{
            HostNormDevice(), {in.weight, in.bias, in.running_mean, in.running_variance}, in.batches, added, clip};
        auto const y = fused_norm_in_training(in.x, norm);
        EXPECT_EQ(y.isnan().sum().item<std::int64_t>(), 6) << "its channel";
    }
}

Trained trained_with(TrialConfig const& config, bool fused) {
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    if (fused) workspace->impl().gpu.norm = std::make_unique<HostNormDevice>();
    return trained(config, workspace);
}

// Rounding grows from layer to layer and from step to step. Of two values batch norm would make a sign, which rounding
// decides, so the batches have 30 rows.
TEST(FusedNorm, NetworksTrainAsTheyDoWithTorchs) {
    for (auto config : {with_optimizer("mlp", Json::object({{"batch_norm", true}}), OptimizerKind::sgd),
                        with_optimizer("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}}), OptimizerKind::sgd),
                        with_optimizer("resnet20", Json::object({{"width", 4}}), OptimizerKind::sgd),
                        with_optimizer("resnet18", Json::object({{"width", 4}, {"stem", "cifar"}}), OptimizerKind::sgd)}) {
        config.train.batch_size = 30;
        auto const torchs = trained_with(config, false), fused = trained_with(config, true);
        EXPECT_NE(fused.hash, torchs.hash) << config.model.name << " does not use it";
        EXPECT_NEAR(fused.loss, torchs.loss, 1e-5 * torchs.loss) << config.model.name;
        EXPECT_EQ(trained_with(config, true).hash, fused.hash) << config.model.name;
    }
}

// torch's own with channels first, whose sums round less than those with channels last.
TEST(FusedNorm, GradientsOfNetworksAreTorchs) {
    for (auto const& config :
         {trial_config("mobilenet_v2", Json::object({{"width", 0.25}, {"dropout", 0}})),
          trial_config("vgg16_bn", Json::object({{"width", 4}, {"hidden", 16}, {"dropout", 0}})),
          trial_config("resnet18", Json::object({{"width", 4}})), trial_config("resnet50", Json::object({{"width", 4}}))}) {
        auto const fused = std::make_shared<Workspace>("cpu", 1), torchs = std::make_shared<Workspace>("cpu", 1);
        fused->impl().gpu.norm = std::make_unique<HostNormDevice>();
        auto channels_first = config;
        channels_first.train.arithmetic.channels_last = false;
        EXPECT_LE(gradient_error([&](int rows) { return first_gradient(config, fused, rows); },
                                 [&](int rows) { return first_gradient(channels_first, torchs, rows); }),
                  1e-4)
            << config.model.name;
    }
}

TEST(FusedNorm, OneRowCannotBeTrained) {
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    workspace->impl().gpu.norm = std::make_unique<HostNormDevice>();
    auto config = trial_config("mlp", Json::object({{"batch_norm", true}}));
    Trial trial(config, digits(1), workspace);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    trial->state->bind(state.bytes());
    auto const shard = source(random_shard(trial.manifest, 1, 1));
    EXPECT_THROW(trial->training->train_unit(*shard, unit(3, 0, 0), {}), Error);
    EXPECT_EQ(trial->evaluation->predict(*shard, {0, 1}).size(), 10U);
}

}  // namespace fused_norm_test
}  // namespace hopscotch::testing
