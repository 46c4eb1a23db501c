// SPDX-License-Identifier: Apache-2.0
// mop with a helper beside each trainer, on a CPU and on a made-up device: every unit, validation and outcome has the bits
// of one process that trains alone, or of a trainer without a helper.
#include "strategy/mop/units_beside.hpp"

#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <mutex>

#include "alone.hpp"
#include "strategy/trainer/trial_runner.hpp"
#include "wrapped_model.hpp"

namespace hopscotch {
namespace units_beside_test {

using namespace testing;

// Memory that trains, and two slots whose copies are done at the last moment.
struct FakeDevice {
    std::vector<std::byte> memory, out;
    std::byte const* in = nullptr;  // the host memory that is on its way
    int taken = 0, fetched = 0;
};

MutableBytes aligned(std::vector<std::byte>& memory, std::size_t bytes) {
    memory.resize(bytes + 64);
    return {memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64), bytes};
}

class DeviceState final : public WrappedState {
public:
    DeviceState(std::shared_ptr<TrialState> state, std::shared_ptr<FakeDevice> device)
        : WrappedState(std::move(state)), device_(std::move(device)) {}

    void bind(MutableBytes host) override {
        if (device_->in == host.data()) ++device_->taken, device_->in = nullptr;
        host_ = host;
        block_ = aligned(device_->memory, host.size());
        std::memcpy(block_.data(), host.data(), host.size());
        WrappedState::bind(block_);
    }
    void fetch() override { std::memcpy(host_.data(), block_.data(), block_.size()); }
    void store() override { std::memcpy(block_.data(), host_.data(), block_.size()); }
    bool end_epoch(double loss) override {
        WrappedState::end_epoch(loss);
        if (std::ranges::equal(host_, block_)) return false;
        fetch();
        return true;
    }
    bool begin_store(MutableBytes host) override {
        EXPECT_EQ(device_->in, nullptr);
        device_->in = host.data();
        return true;
    }
    void forget_store(MutableBytes host) override {
        if (device_->in == host.data()) device_->in = nullptr;
    }
    bool begin_fetch() override {
        leaving_ = host_;
        device_->out.assign(block_.begin(), block_.end());
        std::memset(host_.data(), 0xA5, host_.size());  // no one may look before the end
        return true;
    }
    void await_fetch() override {
        std::memcpy(leaving_.data(), device_->out.data(), leaving_.size());
        ++device_->fetched;
    }

private:
    std::shared_ptr<FakeDevice> device_;
    MutableBytes host_, block_, leaving_;
};

class DevicePass final : public WrappedPass {
public:
    DevicePass(std::unique_ptr<TrainingPass> pass, std::shared_ptr<TrialState> state, std::shared_future<void> may_begin)
        : WrappedPass(std::move(pass)), state_(std::move(state)), may_begin_(std::move(may_begin)) {}
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        if (!mpi_world()) may_begin_.wait();  // a process of its own hears of no other's promise
        WrappedPass::begin_pass(shard, address, batch_size);
    }
    using TrainingPass::end_pass;
    UnitSums end_pass(StateBack back) override {
        auto const sums = WrappedPass::end_pass(back);
        if (back == StateBack::now) state_->fetch();
        return sums;
    }

private:
    std::shared_ptr<TrialState> state_;
    std::shared_future<void> may_begin_;
};

// One device for each trainer. Units begin when the laps of all trials are in the trainers' inboxes: else the states that
// wait during a unit would depend on the speed of rank 0.
struct Devices {
    std::mutex mutex;
    std::map<Workspace*, std::shared_ptr<FakeDevice>> of;
    std::promise<void> laps_are_there;
    std::shared_future<void> may_begin = laps_are_there.get_future();

    JobHooks hooks() {
        return {.all_sent = [this](Courier& courier) {
            await_inboxes(courier);
            laps_are_there.set_value();
        }};
    }
    ModelFactory factory() {
        return [this](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
            auto model = make_trial_model(config, manifest, workspace);
            std::lock_guard const lock(mutex);
            auto& device = of[&workspace];
            if (!device) device = std::make_shared<FakeDevice>();
            auto state = std::make_shared<DeviceState>(model.state, device);
            auto pass = std::make_unique<DevicePass>(std::move(model.training), state, may_begin);
            return TrialModel(std::move(state), std::move(pass), std::move(model.evaluation));
        };
    }
};

std::vector<Assignment> some_trials() {
    std::vector<Assignment> trials;
    for (double const lr : {0.05, 0.04, 0.03, 0.02, 0.01})
        trials.push_back({{"train.optimizer", Json::object({{"name", "sgd"}, {"lr", lr}, {"momentum", 0.9}})}});
    return trials;
}

JobResult job_of(World& world, std::string const& helper, std::vector<Assignment> const& trials, Devices* devices = nullptr,
                 bool compares = true) {
    JobResult job;
    constexpr int k_shards = 4;
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build, devices != nullptr ? devices->factory() : make_trial_model);
        barrier(world);
        return job;
    }
    TemporaryDirectory const directory;
    auto described = document(make_tiny_dataset(directory.path() / "data", k_shards, 30).string(), 7, "mop");
    described.set("run.helper", Json(helper));
    auto const experiment = read_document(described);
    job = run_as_scheduler(world, experiment, k_shards, trials, devices != nullptr ? devices->hooks() : JobHooks{});
    if (compares) expect_equal(job, experiment, trials, k_shards);
    barrier(world);
    return job;
}

TEST(UnitsBeside, WithAHelperEqualOneProcessAlone) {
    for (int const trainers : {1, 2, 3}) {
        on_every_rank(trainers + 1, [](World& world) { job_of(world, "on", some_trials()); });
        if (mpi_world()) break;
    }
}

TEST(UnitsBeside, OnADeviceWithSlotsEqualOneProcessAlone) {
    for (int const trainers : {1, 2, 3}) {
        Devices devices;
        on_every_rank(trainers + 1, [&](World& world) { job_of(world, "on", some_trials(), &devices); });
        int taken = 0, fetched = 0;
        for (auto const& [workspace, device] : devices.of) taken += device->taken, fetched += device->fetched;
        if (mpi_world()) break;  // each trainer has its own list
        EXPECT_GT(fetched, 20) << "of 40 units";
        // 31 of 40, or 23 if the helper is always late: then a state that trains every second unit is not back in time.
        EXPECT_TRUE(trainers > 1 || taken > 20) << taken << " states were there before their turns";
    }
}

// A loss or state that is not finite ends its own trial, with the same words and records.
TEST(UnitsBeside, TrialsDivergeAsWithoutAHelper) {
    if (mpi_world()) return;  // the same as on threads
    auto trials = some_trials();
    for (double const lr : {1e4, 1e12, 1e30, 3e38})
        trials.push_back({{"train.optimizer", Json::object({{"name", "sgd"}, {"lr", lr}})}});
    std::map<std::string, JobResult> jobs;
    for (std::string const helper : {"on", "off"})
        on_every_rank(3, [&](World& world) {
            auto job = job_of(world, helper, trials, nullptr, false);
            if (world.rank() == Rank(0)) jobs[helper] = std::move(job);
        });
    int diverged = 0;
    for (auto const& [id, wanted] : jobs["off"].laps) {
        auto const& found = jobs["on"].laps.at(id);
        EXPECT_EQ(found.outcome, wanted.outcome);
        EXPECT_EQ(found.reason, wanted.reason);
        EXPECT_EQ(found.state.hash, wanted.state.hash);
        EXPECT_EQ(found.state.end_hash, wanted.state.end_hash);
        EXPECT_EQ(found.units.size(), wanted.units.size());
        diverged += wanted.outcome == Outcome::diverged ? 1 : 0;
    }
    EXPECT_GE(diverged, 3);
    EXPECT_EQ(jobs["on"].laps.size(), jobs["off"].laps.size());
}

}  // namespace units_beside_test
}  // namespace hopscotch
