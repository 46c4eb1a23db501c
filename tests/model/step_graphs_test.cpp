// SPDX-License-Identifier: Apache-2.0
// A trial through captured steps, on a CPU: the fake capturer keeps the work, and a replay does it again. A trial must train
// to the bits that it has without graphs, and what a replay does wrong must be found by the self-check and do no harm.
#include <gtest/gtest.h>

#include "experiment/validation_scores.hpp"
#include "model/fake_graphs.hpp"
#include "model/own_model.hpp"
#include "model/step_cases.hpp"

namespace hopscotch::testing {
namespace step_graphs_test {

bool is_whole(TrialConfig const& config) { return config.train.accumulate == 1; }  // gradient and update are one graph

TEST(StepGraphs, ACapturedTrialTrainsToTheSameBits) {
    for (auto const& config : cases()) {
        Watched watched;
        auto const expected = trained(config, with_numbers()), found = trained(config, with_graphs(watched));
        EXPECT_EQ(found.hash, expected.hash) << config.model.name;
        EXPECT_EQ(found.loss, expected.loss) << config.model.name;
        EXPECT_EQ(watched.captures, is_whole(config) ? 1 : 2) << "full batches; gradients and updates";
        EXPECT_GT(watched.replays, 2 * watched.captures) << config.model.name;
        EXPECT_TRUE(watched.said.empty()) << watched.said.front();
    }
}

TEST(StepGraphs, NumbersInMemoryTrainAsNumbersAmongArguments) {
    for (auto const& config : cases())
        EXPECT_NEAR(trained(config, with_numbers()).loss, trained(config).loss, 1e-3) << config.model.name;
}

// Full batches are captured in the first unit; each of the last batches is too rare in three epochs.
TEST(StepGraphs, EveryNumberOfRowsIsWarmedUpForItself) {
    Watched watched;
    trained(trial_config("logistic"), with_graphs(watched));
    EXPECT_EQ(watched.captures, 1);
    EXPECT_EQ(watched.replays, 6 * 4 - 3) << "the check, and all full batches but three warm-ups and the captured one";
}

// The driver waits for the whole device when it takes memory back: only when a capture has found none.
TEST(StepGraphs, TorchsSpareMemoryIsGivenBackWhenACaptureFindsNone) {
    auto const config = cases()[0];
    for (int const failures : {0, 1, 2}) {
        Watched watched;
        watched.out_of_memory = failures;
        EXPECT_EQ(trained(config, with_graphs(watched)).hash, trained(config, with_numbers()).hash);
        EXPECT_EQ(watched.captures, failures == 0 ? 1 : 2);
        EXPECT_EQ(watched.given_back, failures == 0 ? 0 : 1);
        ASSERT_EQ(watched.said.size(), failures == 2 ? 1U : 0U);
    }
}

// A step that needs half of the device has no room beside a graph, which keeps as much again.
TEST(StepGraphs, TheStepToCompareWithComesBeforeTheGraph) {
    struct Device {
        std::string log;
        at::Tensor state = at::zeros({2});
    } device;
    struct Kept final : Graph {
        explicit Kept(std::function<void()> w) : work(std::move(w)) {}
        void replay() override { work(); }
        std::function<void()> work;
    };
    struct Capturer final : GraphCapturer {
        explicit Capturer(Device& d) : device(d) {}
        std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
            device.log += "capture ";
            return std::make_unique<Kept>(work);
        }
        void give_back_memory() override {}
        Device& device;
    };
    struct Part final : StepPart {
        Part(StepGraphs& graphs, Device& d) : StepPart(graphs), device(d) {}
        int warm_ups() const override { return 0; }
        void prepare() override {}
        void pretend() override { device.log += "pretend "; }
        std::function<void()> work() const override {
            return [&to = device] { to.log += "step ", to.state.add_(1); };
        }
        std::shared_ptr<void const> keeps() const override { return nullptr; }
        std::vector<Result> results() const override { return {{"the state", device.state}}; }
        Device& device;
    };
    StepGraphs graphs(std::make_unique<Capturer>(device), Agreement::bits, [](std::string const&) {});
    Part part(graphs, device);
    graphs.cache.run({}, "mlp", part);
    EXPECT_EQ(device.log, "step pretend capture step ");
    EXPECT_EQ(device.state.sum().item<float>(), 2) << "the part has been done once";
    EXPECT_EQ(graphs.cache.graphs(), 1U);
}

TEST(StepGraphs, AReplayThatIsWrongIsFoundAndDoesNoHarm) {
    auto const config = cases()[2];
    auto const expected = trained(config, with_numbers());
    Watched watched;
    auto const workspace = with_graphs(watched);
    watched.harm = [&] {  // what the graph writes: first that of gradients, then that of updates
        auto& memory = workspace->impl();
        (watched.replays == 1 ? memory.gradient(8) : memory.accumulated(8)).add_(1e-3);
    };
    auto const found = trained(config, workspace);
    EXPECT_EQ(found.hash, expected.hash);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(watched.replays, 2) << "one check each of gradients and updates";
    EXPECT_EQ(watched.said,
              (std::vector<std::string>{
                  "lenet trains without CUDA graphs (gradients: the first replay was wrong: the gradient differs)",
                  "lenet trains without CUDA graphs (updates: the first replay was wrong: the gradient differs)"}));
}

TEST(StepGraphs, AReplayThatThrowsDoesNoHarm) {
    auto const config = cases()[0];
    Watched watched;
    watched.harm = [] { throw Error("launch failed"); };
    EXPECT_EQ(trained(config, with_graphs(watched)).hash, trained(config, with_numbers()).hash);
    ASSERT_EQ(watched.said.size(), 1U);
    EXPECT_NE(watched.said[0].find("launch failed"), std::string::npos);
}

// A graph that has frozen its seed repeats the masks of the step it was captured in.
TEST(StepGraphs, AFrozenSeedIsFound) {
    Watched watched;
    auto const workspace = with_numbers();
    struct Freezing final : GraphCapturer {
        Freezing(Watched& w, Workspace& s) : watched(w), workspace(s) {}
        void give_back_memory() override {}
        std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
            auto const seed = workspace.impl().noise.key();
            return std::make_unique<FakeGraph>(watched, [this, seed, work] {
                workspace.impl().noise.seed(seed);
                work();
            });
        }
        Watched& watched;
        Workspace& workspace;
    };
    workspace->impl().gpu.graphs =
        std::make_unique<StepGraphs>(std::make_unique<Freezing>(watched, *workspace), Agreement::bits,
                                     [&](std::string const& text) { watched.said.push_back(text); });
    EXPECT_EQ(trained(cases()[0], workspace).hash, trained(cases()[0], with_numbers()).hash);
    ASSERT_EQ(watched.said.size(), 1U);
    EXPECT_EQ(watched.said[0], "mlp trains without CUDA graphs (steps: the first replay was wrong: the state differs)");
}

TEST(StepGraphs, RoundingMayDifferWhereAtomicsAreAllowed) {
    Watched watched;
    auto const workspace = with_graphs(watched, Agreement::rounding);
    watched.harm = [&] { workspace->impl().gradient(8).mul_(1 + 1e-6); };
    trained(cases()[0], workspace);
    EXPECT_TRUE(watched.said.empty());
    watched.harm = [&] { workspace->impl().gradient(8).add_(1.0); };
    trained(cases()[2], workspace);
    EXPECT_FALSE(watched.said.empty());
}

TEST(StepGraphs, RoundingOfBf16MayBeLarger) {
    for (auto const& [precision, factor, kept] :
         {std::tuple(Precision::fp32, 1.01, false), {Precision::bf16, 1.01, true}, {Precision::bf16, 1.05, false}}) {
        Watched watched;
        auto const workspace = with_graphs(watched, Agreement::rounding);
        watched.harm = [&] { workspace->impl().gradient(640).mul_(factor); };  // of 650 parameters
        auto config = cases()[3];
        config.train.arithmetic.precision = precision;
        trained(config, workspace);
        EXPECT_EQ(watched.said.empty(), kept) << static_cast<int>(precision) << " " << factor;
    }
}

// Validations after units: seven batches each, the last of which has 10 rows.
std::vector<double> evaluated(TrialConfig const& config, std::shared_ptr<Workspace> workspace) {
    Trial trial(config, digits(30), std::move(workspace));
    auto const shard = random_shard(trial.manifest, 30, 1);
    auto const held_out = source(random_shard(trial.manifest, 6 * 256 + 10, 2));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    std::vector<double> out;
    for (int epoch = 0; epoch < 3; ++epoch) {
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(shard), unit(3, epoch, 0), {});
        Evaluation sums(trial.manifest.task, trial.manifest.outputs);
        trial->evaluation->evaluate(*held_out, {0, 7}, sums);
        out.insert(out.end(), {sums.loss(), sums.correct(), sums.scores().f1});
    }
    return out;
}

TEST(StepGraphs, ACapturedValidationHasTheSameBits) {
    for (auto const& config : cases()) {
        Watched evaluates;
        auto const found = evaluated(config, with_graphs(evaluates));
        EXPECT_EQ(found, evaluated(config, with_numbers())) << config.model.name;
        EXPECT_TRUE(evaluates.said.empty()) << evaluates.said.front();
        EXPECT_GT(evaluates.replays, 2 * 6 - 4) << "full batches: all but the first, which tells the size, and warm-ups";
    }
}

TEST(StepGraphs, AnEvaluationThatIsReplayedWronglyIsFound) {
    auto const config = trial_config("logistic");
    Watched watched;
    auto const workspace = with_graphs(watched);
    watched.harm = [&] { workspace->impl().outputs(8).add_(1e-3); };
    EXPECT_EQ(evaluated(config, workspace), evaluated(config, with_numbers()));
    ASSERT_EQ(watched.said.size(), 1U);
    EXPECT_EQ(watched.said[0],
              "logistic trains without CUDA graphs (evaluation: the first replay was wrong: an output differs)");
}

// A trial, and its state, which is brought to the place of a trainer's state and back.
struct Guest {
    Guest(TrialConfig const& config, int number, std::shared_ptr<Workspace> const& workspace)
        : id(number), trial(config, digits(30), workspace), shard(random_shard(trial.manifest, 30, 1)) {
        AlignedBlock block(trial->state->layout().bytes);
        trial->state->initialise(block.bytes(), 42, TrialId(number));
        state.assign(block.bytes().begin(), block.bytes().end());
    }
    double train(AlignedBlock& slot, int epoch) {
        auto const place = slot.bytes().first(state.size());
        std::ranges::copy(state, place.begin());
        trial->state->bind(place);
        auto const loss = trial->training->train_unit(*source(shard), unit(id, epoch, 0), {}).loss;
        std::ranges::copy(place, state.begin());
        return loss;
    }
    int id;
    Trial trial;
    Shard shard;
    Bytes state;
};

constexpr std::size_t k_slot_bytes = 1 << 20;

// Trials of one structure that differ in every number that a search may change.
std::vector<TrialConfig> sweep() {
    std::vector<TrialConfig> out;
    for (double const lr : {0.01, 0.03, 0.1}) {
        auto config = with_optimizer("mlp", Json::object({{"batch_norm", true}}), OptimizerKind::adam);
        config.train.optimizer.lr = lr;
        config.train.optimizer.weight_decay = lr / 10;
        config.train.optimizer.beta1 = 1 - lr;
        config.train.optimizer.beta2 = 1 - lr / 100;
        config.train.optimizer.epsilon = lr / 1e6;
        config.train.clip.norm = 1 + lr;
        config.train.clip.value = 1 + lr;
        config.train.ema = 1 - lr;
        config.train.epochs = static_cast<int>(1 / lr);
        out.push_back(config);
    }
    return out;
}

Bytes alone(TrialConfig const& config, int number) {
    AlignedBlock slot(k_slot_bytes);
    Guest guest(config, number, with_numbers());
    for (int epoch = 0; epoch < 3; ++epoch) guest.train(slot, epoch);
    return guest.state;
}

TEST(StepGraphs, TrialsOfOneStructureShareOneCapture) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    AlignedBlock slot(k_slot_bytes);
    auto const configs = sweep();
    std::vector<std::unique_ptr<Guest>> guests;
    for (int i = 0; i < 3; ++i)
        guests.push_back(std::make_unique<Guest>(configs[static_cast<std::size_t>(i)], i, workspace));
    for (int epoch = 0; epoch < 3; ++epoch)
        for (auto& guest : guests) guest->train(slot, epoch);
    EXPECT_EQ(watched.captures, 2) << "full batches in the first unit, last batches in the fourth";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(guests[static_cast<std::size_t>(i)]->state, alone(configs[static_cast<std::size_t>(i)], i)) << i;
    EXPECT_TRUE(watched.said.empty());
}

// The graph needs the network that it was captured with.
TEST(StepGraphs, AGraphOutlivesTheTrialThatCapturedIt) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    AlignedBlock slot(k_slot_bytes);
    auto const configs = sweep();
    std::make_unique<Guest>(configs[0], 0, workspace)->train(slot, 0);
    EXPECT_EQ(watched.captures, 1);
    Guest heir(configs[1], 1, workspace);
    for (int epoch = 0; epoch < 3; ++epoch) heir.train(slot, epoch);
    EXPECT_EQ(heir.state, alone(configs[1], 1));
    EXPECT_EQ(workspace->impl().gpu.graphs->cache.graphs(), 2U) << "full batches, and by now last batches";
}

TEST(StepGraphs, EachOfTwoSlotsHasItsGraph) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    AlignedBlock first(k_slot_bytes), second(k_slot_bytes);
    auto const configs = sweep();
    Guest a(configs[0], 0, workspace), b(configs[1], 1, workspace);
    for (int epoch = 0; epoch < 3; ++epoch) {
        a.train(epoch == 1 ? second : first, epoch);
        b.train(epoch == 1 ? first : second, epoch);
    }
    EXPECT_EQ(a.state, alone(configs[0], 0));
    EXPECT_EQ(b.state, alone(configs[1], 1));
    EXPECT_EQ(watched.captures, 2);
}

TEST(StepGraphs, OtherStructuresCaptureForThemselves) {
    auto base = with_optimizer("mlp", Json(Json::Object{}), OptimizerKind::sgd);
    auto bf16 = base, momentum = base, kind = base, smooth = base, clipped = base, wide = base, batch = base;
    bf16.train.arithmetic.precision = Precision::bf16;
    momentum.train.optimizer.momentum = 0.9;
    kind.train.optimizer.kind = OptimizerKind::adagrad;
    smooth.train.of_loss.label_smoothing = 0.1;
    clipped.train.clip.norm = 1;
    wide.model.arguments = Json::object({{"hidden", Json(Json::Array{40})}});
    batch.train.batch_size = 6;
    Watched watched;
    auto const workspace = with_graphs(watched);
    AlignedBlock slot(k_slot_bytes);
    int expected = 0;
    for (auto const& config : {base, bf16, momentum, kind, smooth, clipped, wide, batch}) {
        Guest guest(config, 0, workspace);
        guest.train(slot, 0);
        EXPECT_EQ(watched.captures, ++expected);
    }
    Guest again(base, 1, workspace);
    again.train(slot, 0);
    EXPECT_LE(watched.captures, expected + 1) << "wide's gradient needs a larger buffer";
}

// A refusal is shared as well: the next trial of the structure would meet the same.
TEST(StepGraphs, AStructureIsRefusedOnce) {
    Watched watched;
    watched.out_of_memory = 2;
    auto const workspace = with_graphs(watched);
    AlignedBlock slot(k_slot_bytes);
    auto const configs = sweep();
    Guest a(configs[0], 0, workspace), b(configs[1], 1, workspace);
    for (int epoch = 0; epoch < 3; ++epoch) a.train(slot, epoch), b.train(slot, epoch);
    EXPECT_EQ(watched.captures, 2) << "once, and once more after torch's memory was given back";
    EXPECT_EQ(b.state, alone(configs[1], 1));
    EXPECT_EQ(watched.said.size(), 1U);
}

TEST(StepGraphs, OwnModelsAndHooksAndSumsDoWithout) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    trained(example(), workspace);
    auto const config = with_optimizer("mlp", Json::object({{"batch_norm", true}}), OptimizerKind::sgd);
    Trial trial(config, digits(30), workspace);
    auto const shard = source(random_shard(trial.manifest, 30, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    trial->training->begin_pass(*shard, unit(0, 0, 0), 7);
    GradientReady const ready = [](std::size_t, std::size_t) {};
    trial->training->next_gradient(ready, {});
    trial->training->sum_with([](std::span<double>) {});
    trial->training->next_gradient({}, {});
    EXPECT_EQ(watched.captures, 0);
    EXPECT_EQ(watched.said,
              (std::vector<std::string>{
                  "plugin trains without CUDA graphs (a network of your own may compute on the host between kernels)",
                  "mlp trains without CUDA graphs (gradients are handed over while others are computed)",
                  "mlp trains without CUDA graphs (batch norm adds up over the trainers on the host)"}));
}

}  // namespace step_graphs_test
}  // namespace hopscotch::testing
