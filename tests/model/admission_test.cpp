// SPDX-License-Identifier: Apache-2.0
// What happens when a GPU's memory is short, with a device that is made of numbers and networks that fail on purpose.
#include <gtest/gtest.h>

#include <c10/util/Exception.h>

#include <iterator>
#include <set>
#include <stdexcept>

#include "core/log.hpp"
#include "model/host_step_device.hpp"
#include "model/step_cases.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/admission.hpp"
#include "tensor/gpu/remembered.hpp"
#include "tensor/gpu/step_graphs.hpp"
#include "tensor/gpu/step_numbers.hpp"
#include "tensor/trial/torch_trial_model.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch::testing {
namespace admission_test {

constexpr std::int64_t k_gb = 1'000'000'000;

[[noreturn]] void no_memory() {
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__},
                                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.72 GiB.");
}

struct Numbers {
    DeviceMemory memory{10 * k_gb, 80 * k_gb};
    std::int64_t allocated = 5 * k_gb, peak = 0, spare = 0, refusals = 0;
    int asked = 0, emptied = 0;
    std::vector<std::int64_t> rooms;
};

class FakeAllocator final : public DeviceAllocator {
public:
    explicit FakeAllocator(Numbers& numbers) : n_(numbers) {}
    DeviceMemory memory() const override { return ++n_.asked, n_.memory; }
    std::int64_t allocated() const override { return n_.allocated; }
    std::int64_t spare() const override { return n_.spare; }
    void watch_peak() override { n_.peak = n_.allocated; }
    std::int64_t peak() const override { return n_.peak; }
    std::int64_t refusals() const override { return n_.refusals; }
    void empty_cache() override { ++n_.emptied; }

private:
    Numbers& n_;
};

std::unique_ptr<Admission> admission(Numbers& n) {
    return std::make_unique<Admission>(std::make_unique<FakeAllocator>(n), "cuda:0",
                                       [&n](std::int64_t bytes) { n.rooms.push_back(bytes); });
}

// A batch of 32 rows that takes this much on the way.
void batch(Admission& a, Numbers& n, std::int64_t takes) {
    BatchKind const kind{"resnet", 32};
    a.run({kind, {}, [&] { n.peak = std::max(n.peak, n.allocated + takes); }, {}});
}

TEST(Admission, TheLeastOfTheFirstBatchesIsWhatABatchTakes) {
    Numbers n;
    auto const a = admission(n);
    EXPECT_EQ(a->activations({"resnet", 32}), 0);
    batch(*a, n, 9 * k_gb);  // the libraries' own
    EXPECT_EQ(a->activations({"resnet", 32}), 9 * k_gb);
    batch(*a, n, 4 * k_gb);
    batch(*a, n, 6 * k_gb);
    EXPECT_EQ(a->activations({"resnet", 32}), 4 * k_gb);
    batch(*a, n, 0);  // a graph's replay
    EXPECT_EQ(a->activations({"resnet", 32}), 4 * k_gb);
    EXPECT_EQ(a->activations({"resnet", 64}), 0);
    EXPECT_EQ(a->activations({"vgg", 32}), 0);
}

TEST(Admission, WhatIsKnownOfABatchCountsFromThenOn) {
    Numbers n;
    auto const a = admission(n);
    a->admit({2 * k_gb, k_gb, 0, 32}, 0, "resnet");
    EXPECT_EQ(n.rooms, std::vector{3 * k_gb});
    batch(*a, n, 8 * k_gb);
    a->admit({2 * k_gb, k_gb, 0, 64}, 0, "resnet");
    a->admit({k_gb, k_gb, 0, 32}, 0, "resnet");
    n.rooms.clear();
    try {
        a->admit({2 * k_gb, k_gb, 0, 32}, 68 * k_gb, "resnet");
        FAIL() << "11 GB of 10";
    } catch (DoesNotFit const& e) {
        EXPECT_STREQ(
            e.what(),
            "cuda:0 has 10.00 GB of 80.00 GB free, and this trial needs 11.00 GB (state 2.00 GB, gradient 1.00 GB, "
            "activations 8.00 GB at batch size 32); choose a smaller model or train.batch_size, or fewer trainers for each "
            "GPU");
        EXPECT_EQ(e.why(), DoesNotFit::Why::too_large) << "78 of 80 GB are free or its own";
    }
    EXPECT_EQ(n.rooms, (std::vector{3 * k_gb, 11 * k_gb}));
    try {
        a->admit({2 * k_gb, k_gb, 0, 32}, 0, "resnet");
        FAIL() << "11 GB of 10";
    } catch (DoesNotFit const& e) {
        EXPECT_EQ(e.why(), DoesNotFit::Why::others);
    }
}

TEST(Remembered, IsAskedAgainAfterAChange) {
    Remembered bytes;
    std::int64_t now = 7;
    int asked = 0;
    auto const ask = [&] { return ++asked, now; };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bytes.value(0, ask), 7);
    EXPECT_EQ(asked, 1);
    now = 9;
    EXPECT_EQ(bytes.value(2, ask), 9);
    EXPECT_EQ(bytes.value(2, ask), 9);
    EXPECT_EQ(asked, 2);
    now = 1;  // of a thread that looked before the change, and comes late
    EXPECT_EQ(bytes.value(1, ask), 1);
    EXPECT_EQ(bytes.value(2, ask), 9);
}

TEST(Admission, TheDriverIsNotAskedWhereTorchHasKeptEnough) {
    Numbers n;
    auto const a = admission(n);
    a->admit({0, 0, 0, 32}, 3 * k_gb, "resnet");  // nothing is known
    batch(*a, n, 11 * k_gb);
    n.spare = 11 * k_gb;
    a->admit({0, 0, 0, 32}, 3 * k_gb, "resnet");
    EXPECT_EQ(n.asked, 0);
    n.spare = 11 * k_gb - 1;
    EXPECT_THROW(a->admit({0, 0, 0, 32}, 3 * k_gb, "resnet"), DoesNotFit);
    EXPECT_GT(n.asked, 0);
}

TEST(Admission, ABatchWithoutMemoryIsTriedOnceMore) {
    Numbers n;
    auto const a = admission(n);
    BatchKind const kind{"resnet", 32};
    std::string order;
    int tries = 0;
    a->run({kind,
            {},
            [&] {
                order += 'w';
                if (++tries == 1) no_memory();
            },
            [&] {
                order += 'u';
                EXPECT_EQ(n.emptied, 1);
                EXPECT_EQ(n.rooms, std::vector{Admission::k_everything});
            }});
    EXPECT_EQ(order, "wuw");
    EXPECT_THROW(a->run({kind, {}, [&] { throw std::logic_error("another"); }, [] {}}), std::logic_error);
}

TEST(Admission, LibrariesHaveTheirOwnWordsForNoMemory) {
    for (auto const* text : {"CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
                             "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                             "launching the gather of features failed (cudaErrorMemoryAllocation: out of memory)"}) {
        EXPECT_EQ(no_memory_in(text), NoMemory::yes) << text;
    }
    for (auto const* text : {"GET was unable to find an engine to execute this computation",
                             "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"}) {
        EXPECT_EQ(no_memory_in(text), NoMemory::maybe) << text;
    }
    EXPECT_EQ(no_memory_in("CUDA error: device-side assert triggered"), NoMemory::no);
}

TEST(Admission, ABatchWithoutAnEngineIsTriedOnceMoreWhereLittleIsFree) {
    for (bool const little : {true, false}) {
        Numbers n;
        n.memory.free = little ? k_gb : 40 * k_gb;
        auto const a = admission(n);
        int tries = 0;
        auto const work = [&] {
            if (++tries == 1) throw std::runtime_error("unable to find an engine to execute this computation");
        };
        BatchKind const kind{"resnet", 32};
        if (little)
            a->run({kind, {}, work, [] {}});
        else
            EXPECT_THROW(a->run({kind, {}, work, [] {}}), std::runtime_error);
        EXPECT_EQ(tries, little ? 2 : 1);
        EXPECT_EQ(n.emptied, little ? 1 : 0);
    }
}

// cuDNN takes the next engine where a workspace finds no memory, and torch says nothing.
TEST(Admission, AWorkspaceWithoutMemoryIsSaidOnceForEachModel) {
    Numbers n;
    auto const a = admission(n);
    auto const warnings = [] { return std::ssize(last_warnings(16)); };
    auto const train = [&](char const* model, bool refused) {
        BatchKind const kind{model, 32};
        a->run({kind, {}, [&] { n.refusals += refused ? 1 : 0; }, {}});
        return warnings();
    };
    auto const before = warnings();
    EXPECT_EQ(train("resnet", false), before);
    EXPECT_EQ(train("resnet", true), before + 1);
    EXPECT_NE(last_warnings(1).at(0).find("found no memory for its workspace"), std::string::npos);
    EXPECT_EQ(train("resnet", true), before + 1);
    EXPECT_EQ(train("vgg", true), before + 2);
}

TEST(Admission, TheSecondTryIsTheLast) {
    Numbers n;
    auto const a = admission(n);
    BatchKind const kind{"resnet", 32};
    int tries = 0;
    auto const work = [&] {
        ++tries;
        no_memory();
    };
    EXPECT_THROW(a->run({kind, {}, work, [] {}}), DoesNotFit);
    EXPECT_EQ(tries, 2);
    tries = 0;
    EXPECT_THROW(a->run({kind, {}, work, {}}), DoesNotFit) << "it cannot be undone";
    EXPECT_EQ(tries, 1);
}

TEST(Admission, FailsWithNumbers) {
    Numbers n;
    auto const a = admission(n);
    BatchKind const kind{"resnet", 256};
    auto const work = [&] {
        n.peak = n.allocated + 9 * k_gb;
        no_memory();
    };
    try {
        a->run({kind, {2 * k_gb, k_gb}, work, [] {}});
        FAIL();
    } catch (DoesNotFit const& e) {
        EXPECT_STREQ(
            e.what(),
            "cuda:0 has 13.00 GB of 80.00 GB free for this trial, and it needs at least 14.15 GB (state 2.00 GB, "
            "gradient 1.00 GB, activations 11.15 GB at batch size 256; torch says: Tried to allocate 2.00 GiB); choose a "
            "smaller model or "
            "train.batch_size, or fewer trainers for each GPU");
        EXPECT_EQ(e.why(), DoesNotFit::Why::others);
    }
    n.memory.free = 75 * k_gb;
    try {
        a->run({kind, {2 * k_gb, k_gb}, work, [] {}});
        FAIL();
    } catch (DoesNotFit const& e) {
        EXPECT_EQ(e.why(), DoesNotFit::Why::too_large);
    }
    EXPECT_EQ(a->activations(kind), 0) << "a batch that failed measures nothing";
}

TEST(Admission, UnderstandsTorchsWords) {
    EXPECT_EQ(requested_bytes("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0"), 20 << 20);
    EXPECT_EQ(requested_bytes("CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0)"), std::int64_t{3} << 29);
    EXPECT_EQ(requested_bytes("CUDA out of memory. Tried to allocate 512 bytes. GPU 0 has 1.00 MiB free."), 512);
    EXPECT_EQ(requested_bytes("Tried to allocate"), 0);
    EXPECT_EQ(requested_bytes("Tried to allocate x"), 0);
    EXPECT_EQ(requested_bytes(""), 0);
    auto const said = out_of_memory({1, 1, 1, 1}, {}, "cuda:0", "no words of torch's\nbut lines");
    EXPECT_NE(said.find("torch says: no words of torch's); choose"), said.npos) << said;
}

// A network of the zoo that finds no memory at these training passes (counted over all trials), after it has done half of
// the work.
class Short final : public Network {
public:
    Short(std::unique_ptr<Network> network, std::set<int>& at, int& passes)
        : network_(std::move(network)), at_(at), passes_(passes) {}
    std::vector<ParameterSpec> const& parameters() const override { return network_->parameters(); }
    std::vector<BufferSpec> const& buffers() const override { return network_->buffers(); }
    double multiply_adds() const override { return network_->multiply_adds(); }
    Backward kind() const override { return network_->kind(); }
    void use_autograd() override { network_->use_autograd(); }
    void bind(BoundTensors tensors) override { network_->bind(std::move(tensors)); }
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto out = network_->forward(x, pass);
        if (at_.erase(++passes_) > 0) no_memory();
        return out;
    }
    void backward(at::Tensor const& outputs, at::Tensor const& gradient) override {
        network_->backward(outputs, gradient);
        if (at_.erase(-passes_) > 0) no_memory();
    }

private:
    std::unique_ptr<Network> network_;
    std::set<int>& at_;
    int& passes_;
};

std::map<std::string, MakeNetwork> makers() {
    return {{"mlp", make_mlp}, {"lenet", make_lenet}, {"logistic", make_logistic}, {"resnet20", make_resnet}};
}

struct ShortOf {
    std::uint64_t hash = 0;
    double loss = 0;
    Evaluation evaluation{Task::classification, 10};
};

// A graph that does the work again.
struct Remembered final : Graph {
    explicit Remembered(std::function<void()> it) : work(std::move(it)) {}
    void replay() override { work(); }
    std::function<void()> work;
};
struct Rememberer final : GraphCapturer {
    void give_back_memory() override {}
    std::unique_ptr<Graph> capture(std::function<void()> const& work) override { return std::make_unique<Remembered>(work); }
};
using Says = std::vector<std::string>;

// Two epochs of batches of 7, 7 and 5 rows. short_at: 3 stands for a forward pass, -3 for its backward pass.
ShortOf trained_short(TrialConfig const& config, std::set<int> short_at, Numbers& n, Says* graphs_say = nullptr) {
    auto const manifest = digits(19);
    Workspace workspace("cpu", 1);
    workspace.impl().gpu.admission = admission(n);
    workspace.impl().gpu.numbers = std::make_unique<StepNumbers>(std::make_unique<HostStepDevice>(), at::kCPU);
    if (graphs_say != nullptr)
        workspace.impl().gpu.graphs =
            std::make_unique<StepGraphs>(std::make_unique<Rememberer>(), Agreement::bits,
                                         [graphs_say](std::string const& text) { graphs_say->push_back(text); });
    int passes = 0;
    Problems problems("e.json");
    auto network = makers().at(config.model.name)(config.model, schema_of(manifest), problems);
    problems.throw_if_any();
    auto const trial =
        make_torch_model(config, manifest, std::make_unique<Short>(std::move(network), short_at, passes), workspace);
    auto const shard = source(random_shard(manifest, 19, 1));
    AlignedBlock state(trial.state->layout().bytes);
    trial.state->initialise(state.bytes(), 42, TrialId(3));
    ShortOf out;
    for (int epoch = 0; epoch < 2; ++epoch) {
        trial.state->bind(state.bytes());
        out.loss += trial.training->train_unit(*shard, unit(3, epoch, 0), {}).loss;
    }
    trial.evaluation->evaluate(*shard, {0, 1}, out.evaluation);
    EXPECT_TRUE(short_at.empty());
    out.hash = state_hash(state.bytes(), trial.state->layout());
    return out;
}

std::vector<TrialConfig> short_cases() {
    auto out = cases();
    out.push_back(with_optimizer("resnet20", Json::object({{"width", 4}}), OptimizerKind::sgd));
    return out;
}

TEST(ShortOfMemory, ABatchThatIsTriedAgainHasTheSameBits) {
    for (auto const& config : short_cases()) {
        Numbers n;
        auto const expected = trained_short(config, {}, n);
        EXPECT_EQ(n.emptied, 0);
        // The first batch of each size, and the evaluation.
        for (auto const& at : {std::set{1}, std::set{-1}, std::set{3}, std::set{-3}, std::set{7}, std::set{1, 4}}) {
            n = {};
            auto const found = trained_short(config, at, n);
            EXPECT_EQ(n.emptied, static_cast<int>(at.size())) << config.model.name;
            EXPECT_EQ(found.hash, expected.hash) << config.model.name << " " << *at.begin();
            EXPECT_EQ(found.loss, expected.loss) << config.model.name << " " << *at.begin();
            EXPECT_EQ(found.evaluation.loss(), expected.evaluation.loss()) << config.model.name;
        }
    }
}

// The fifth pass is the fourth of 7 rows: kernel by kernel, with clones of state and gradient beside it, to be compared with
// a graph.
TEST(ShortOfMemory, AComparisonThatFindsNoMemoryDoesNoHarm) {
    for (auto const& config : short_cases()) {
        if (config.train.accumulate > 1) continue;
        Numbers n;
        auto const expected = trained_short(config, {}, n);
        for (int const pass : {5, -5}) {
            Says said;
            auto const found = trained_short(config, {pass}, n, &said);
            EXPECT_EQ(n.emptied, 0);
            EXPECT_EQ(found.hash, expected.hash) << config.model.name << " " << pass;
            EXPECT_EQ(found.loss, expected.loss) << config.model.name << " " << pass;
            ASSERT_EQ(said.size(), 1U);
            auto const expected_words =
                config.model.name + " trains without CUDA graphs (steps: a graph could not be checked: ";
            EXPECT_EQ(said[0].find(expected_words), 0U) << said[0];
        }
    }
}

TEST(ShortOfMemory, WhatHasLeftTracesIsNotTriedAgain) {
    Numbers n;
    auto const config = with_optimizer("resnet20", Json::object({{"width", 4}}), OptimizerKind::sgd);
    EXPECT_THROW(trained_short(config, {2}, n), DoesNotFit) << "its second batch of 7 rows, with batch norm";
    EXPECT_EQ(n.emptied, 0);
}

}  // namespace admission_test
}  // namespace hopscotch::testing
