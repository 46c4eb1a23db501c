// SPDX-License-Identifier: Apache-2.0
// What the trainers of one process share and do not share: each works on a stream of its own, on memory of its own; models
// of one trainer share blocks that grow. On a CPU, with streams that are only named.
#include "model/trial/workspace.hpp"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "model/fake_graphs.hpp"
#include "model/step_cases.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/feed_device.hpp"

namespace hopscotch::testing {
namespace workspace_test {

thread_local int current_stream = 0;  // 0: CUDA's default stream, which no work may use

struct NamedStream final : ComputeStream {
    explicit NamedStream(int name) : name_(name) {}
    void enter() override { current_stream = name_; }
    int name_;
};

// Sees the memory that each of torch's operators reads or writes, and on which stream. It keeps the memory, so that no
// address is used twice.
class Watch {
public:
    Watch() {
        auto const seen = [](at::RecordFunction const& call) -> std::unique_ptr<at::ObserverContext> {
            for (auto const& value : call.inputs())
                if (value.isTensor())
                    saw(value.toTensor());
                else if (value.isTensorList())
                    for (at::Tensor const& each : value.toTensorVector()) saw(each);
            return nullptr;
        };
        handle_ =
            at::addGlobalCallback(at::RecordFunctionCallback(seen).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    }
    ~Watch() {
        at::removeCallback(handle_);
        std::lock_guard const lock(mutex());
        memory().clear();
    }
    struct Seen {
        c10::Storage kept;
        std::set<int> streams;
    };
    static std::map<void const*, Seen>& memory() {
        static std::map<void const*, Seen> seen;
        return seen;
    }
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }

private:
    static void saw(at::Tensor const& tensor) {
        if (!tensor.defined() || !tensor.has_storage() || tensor.storage().data() == nullptr) return;
        std::lock_guard const lock(mutex());
        auto& entry = memory()[tensor.storage().data()];
        entry.kept = tensor.storage();
        entry.streams.insert(current_stream);
    }
    at::CallbackHandle handle_{};
};

// With captured steps: the memory of numbers is made on the stream, as a workspace does.
std::shared_ptr<Workspace> on_stream(int name, Watched& watched) {
    current_stream = name;
    auto workspace = with_graphs(watched);
    workspace->impl().stream = std::make_unique<NamedStream>(name);
    return workspace;
}

using Blocks = std::vector<std::unique_ptr<AlignedBlock>>;  // kept, as all memory is

// Units and a validation of trials, one after the other.
void work(std::shared_ptr<Workspace> const& workspace, Manifest const& data, Blocks& blocks) {
    for (auto const& config : cases()) {
        current_stream = 0;
        Trial trial(config, data, workspace);
        auto const shard = source(random_shard(trial.manifest, 30, 1));
        auto& state = *blocks.emplace_back(std::make_unique<AlignedBlock>(trial->state->layout().bytes));
        trial->state->initialise(state.bytes(), 42, TrialId(0));
        for (int unit_number = 0; unit_number < 2; ++unit_number) {
            current_stream = 0;
            trial->state->bind(state.bytes());
            current_stream = 0;
            trial->training->begin_pass(*shard, unit(0, 0, 0), 7);
            for (std::int64_t rows = 1; rows != 0;) {
                current_stream = 0;
                rows = trial->training->next_gradient({}, {});
                current_stream = 0;
                if (rows != 0) trial->training->update(rows);
            }
            current_stream = 0;
            trial->training->end_pass();
            current_stream = 0;
            trial->training->begin_pass(*shard, unit(0, 1, 0), 7);
            for (std::int64_t rows = 1; rows != 0;) {
                current_stream = 0;
                rows = trial->training->next_updates({});
            }
            current_stream = 0;
            trial->training->end_pass();
            current_stream = 0;
            EXPECT_TRUE(trial->state->finite());
        }
        current_stream = 0;
        Evaluation sums(trial.manifest.task, trial.manifest.outputs);
        trial->evaluation->evaluate(*shard, {0, 1}, sums);
    }
}

// Every operator runs on its trainer's stream, also if the thread was on another one before the call. No memory is seen on
// two streams: nothing orders them.
TEST(Workspace, TrainersOfOneProcessShareNoMemory) {
    Blocks of_first, of_second;
    Watch const watch;
    Watched of_graphs[2];
    auto const first = on_stream(1, of_graphs[0]), second = on_stream(2, of_graphs[1]);
    std::thread beside([&] { work(second, digits(61), of_second); });
    work(first, digits(61), of_first);
    beside.join();
    std::lock_guard const lock(Watch::mutex());
    EXPECT_GT(Watch::memory().size(), 100U);
    int on_first = 0, on_second = 0;
    for (auto const& [address, seen] : Watch::memory()) {
        ASSERT_EQ(seen.streams.size(), 1U)
            << seen.kept.nbytes() << " bytes on " << *seen.streams.begin() << " and " << *seen.streams.rbegin();
        ASSERT_NE(*seen.streams.begin(), 0) << "memory of " << seen.kept.nbytes() << " bytes";
        ++(*seen.streams.begin() == 1 ? on_first : on_second);
    }
    EXPECT_GT(on_first, 50);
    EXPECT_GT(on_second, 50);
    for (auto const& watched : of_graphs) EXPECT_GT(watched.replays, 10);
}

TEST(Workspace, ABlockThatGrowsOnAGpuLeavesNothingBehind) {
    at::Tensor buffer;
    auto const small = grown(buffer, 100, at::TensorOptions(at::kFloat), OldViews::end);
    EXPECT_EQ(small.storage().nbytes(), 400U);
    auto const large = grown(buffer, 200, at::TensorOptions(at::kFloat), OldViews::end);
    EXPECT_EQ(small.storage().nbytes(), 0U) << "its memory has gone, although a model still has views of it";
    EXPECT_THROW(static_cast<void>(small.sum()), c10::Error);
    EXPECT_EQ(grown(buffer, 150, at::TensorOptions(at::kFloat), OldViews::end).const_data_ptr(), large.const_data_ptr());
    EXPECT_EQ(large.storage().nbytes(), 800U);
}

// Widths that a search tries upwards: each model is bound again after its block has moved, and trains to the same bits.
TEST(Workspace, ModelsAreBoundAgainAfterTheirBlocksHaveMoved) {
    auto const train_all = [](OldViews views) {
        auto const workspace = std::make_shared<Workspace>("cpu", 1);
        workspace->impl().old_views = views;
        std::vector<std::unique_ptr<Trial>> trials;
        std::vector<std::unique_ptr<AlignedBlock>> states;
        std::vector<std::uint64_t> out;
        for (int const width : {8, 16, 32}) {
            auto config = with_optimizer("mlp", Json::object({{"hidden", Json(Json::Array{width})}}), OptimizerKind::adam);
            config.train.accumulate = 2;
            trials.push_back(std::make_unique<Trial>(config, digits(30), workspace));
            states.push_back(std::make_unique<AlignedBlock>((*trials.back())->state->layout().bytes));
            (*trials.back())->state->initialise(states.back()->bytes(), 42, TrialId(width));
            for (std::size_t i = 0; i < trials.size(); ++i) {
                auto& trial = *trials[i];
                trial->state->bind(states[i]->bytes());
                trial->training->train_unit(*source(random_shard(trial.manifest, 30, 1)), unit(width, 0, 0), {});
                out.push_back(trial.hash(*states[i]));
            }
        }
        EXPECT_EQ(workspace->impl().moves(), views == OldViews::end ? 4U : 0U);
        return out;
    };
    EXPECT_EQ(train_all(OldViews::end), train_all(OldViews::stay));
}

// cuDNN times algorithms for full batches only.
TEST(Workspace, OnlyShapesThatComeOftenAreTimed) {
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    workspace->impl().benchmark = true;
    Trial trial(trial_config("logistic"), digits(30), workspace);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    auto const shard = source(random_shard(trial.manifest, 30, 1));
    std::string timed;
    trial->training->train_unit(*shard, unit(0, 0, 0), [&] { timed += at::globalContext().benchmarkCuDNN() ? '+' : '-'; });
    EXPECT_EQ(timed, "++++-") << "four batches of 7 rows, one of 2";
    at::globalContext().setBenchmarkCuDNN(true);
    Evaluation sums(trial.manifest.task, trial.manifest.outputs);
    trial->evaluation->evaluate(*shard, {0, 1}, sums);
    EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
}

}  // namespace workspace_test
}  // namespace hopscotch::testing
