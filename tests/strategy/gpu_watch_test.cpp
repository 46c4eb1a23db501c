// SPDX-License-Identifier: Apache-2.0
// Samples of a GPU's meter while trainers train: which unit takes which sample, and their way into the records of laps.
#include "strategy/trainer/gpu_watch.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <semaphore>

#include "job_harness.hpp"
#include "wrapped_model.hpp"

namespace hopscotch {
namespace gpu_watch_test {

using namespace testing;
using Settings = std::vector<std::pair<std::string, Json>>;  // dotted path, value

// Of a driver that does not count by process.
class WholeGpu : public NvmlCalls {
public:
    std::optional<std::vector<ProcessUse>> processes_since(std::uint64_t) override { return std::nullopt; }
};

// Every reading waits until the test lets it go on.
struct Gate {
    std::counting_semaphore<> reads{0}, may_go_on{0};
    std::atomic<std::uint32_t> percent = 0;
};

class GatedGpu final : public WholeGpu {
public:
    explicit GatedGpu(Gate& gate) : gate_(gate) {}
    std::optional<std::uint32_t> device_percent() override {
        gate_.reads.release();
        gate_.may_go_on.acquire();
        return gate_.percent;
    }

private:
    Gate& gate_;
};

class GpuWatchTest : public ::testing::Test {
protected:
    GpuWatchTest() { gate_.reads.acquire(); }
    ~GpuWatchTest() override { gate_.may_go_on.release(1000); }

    // Returns when the next reading has begun: then the sample counts.
    void sample(std::uint32_t percent) {
        gate_.percent = percent;
        gate_.may_go_on.release();
        gate_.reads.acquire();
    }

private:
    Gate gate_;

protected:
    GpuWatch watch{std::make_unique<GpuMeter>(std::make_unique<GatedGpu>(gate_), 1U, 0.0), 0.001};
};

TEST_F(GpuWatchTest, AUnitHasTheSamplesThatComeWhileItTrains) {
    sample(10);
    auto const unit = watch.now();
    EXPECT_EQ(watch.share_since(unit), -1) << "no sample yet";
    sample(60);
    EXPECT_NEAR(watch.share_since(unit), 0.6, 1e-9);
    auto const beside = watch.now();
    sample(0);
    EXPECT_NEAR(watch.share_since(beside), 0, 1e-9) << "an idle GPU is not an unknown one";
    EXPECT_LT(watch.share_since(unit), 0.6);
    EXPECT_GT(watch.share_since(unit), 0);
}

TEST(GpuWatch, WithoutAMeterNothingIsMeasured) {
    GpuWatch const watch(nullptr);
    EXPECT_EQ(watch.share_since(watch.now()), -1);
}

// Counts its readings, so that a unit can wait for one.
class Readings {
public:
    void add() {
        std::lock_guard const lock(mutex_);
        ++begun_;
        one_more_.notify_all();
    }
    // The sample of a reading counts when the next one begins.
    void await_sample() {
        std::unique_lock lock(mutex_);
        one_more_.wait(lock, [this, wanted = begun_ + 2] { return begun_ >= wanted; });
    }

private:
    std::mutex mutex_;
    std::condition_variable one_more_;
    int begun_ = 0;
};

class CountedGpu final : public WholeGpu {
public:
    explicit CountedGpu(Readings& readings) : readings_(readings) {}
    std::optional<std::uint32_t> device_percent() override {
        readings_.add();
        return 70;
    }

private:
    Readings& readings_;
};

class SlowPass final : public WrappedPass {
public:
    SlowPass(std::unique_ptr<TrainingPass> pass, Readings& readings) : WrappedPass(std::move(pass)), readings_(readings) {}
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        WrappedPass::begin_pass(shard, address, batch_size);
        readings_.await_sample();
    }

private:
    Readings& readings_;
};

void train_on_fake_gpu(World& world) {
    Readings readings;
    TrainerGpu gpu;
    gpu.info = {"cuda:0", "A fake", "GPU-" + std::to_string(world.rank().value), 1'000'000, "CUDA 0.0"};
    gpu.meter = [&](DeviceInfo const& info) {
        EXPECT_TRUE(info.is_gpu());
        return std::make_unique<GpuMeter>(std::make_unique<CountedGpu>(readings), 1U, 0.0);
    };
    auto const factory = [&](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        model.training = std::make_unique<SlowPass>(std::move(model.training), readings);
        return model;
    };
    trainer_main(world, k_test_build, factory, gpu);
}

LapRecord lap_of(Settings const& settings, bool on_gpu, int trainers = 2) {
    JobResult job;
    run_thread_ranks(trainers + 1, [&](World& world) {
        if (world.rank() != Rank(0)) return on_gpu ? train_on_fake_gpu(world) : trainer_main(world, k_test_build);
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", 4, 31).string(), 12, "mop");
        described.set("train.epochs", 1);
        for (auto const& [path, value] : settings) described.set(path, value);
        job = run_as_scheduler(world, read_document(described), 4, {{}});
    });
    return job.laps.at({TrialId(0), 0});
}

// Through hops, the group's agreement and the messages to rank 0.
TEST(GpuUse, IsInTheRecordsOfUnits) {
    std::vector<Settings> const all{
        {},
        {{"strategy", Json::object({{"name", "sequential"}})}},
        {{"strategy", Json::object({{"name", "mop"}, {"group_size", 2}})}},
        {{"strategy", Json::object({{"name", "allreduce"}, {"collectives", "mpi"}})}},
    };
    for (auto const& settings : all) {
        auto const lap = lap_of(settings, true);
        ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
        ASSERT_EQ(lap.units.size(), 4U);
        for (auto const& unit : lap.units) EXPECT_NEAR(unit.gpu_use, 0.7, 1e-9);
        EXPECT_NEAR(totals_of(lap).gpu_s, 0.7 * totals_of(lap).seconds, 1e-6);
        EXPECT_EQ(totals_of(lap).gpu_of_s, totals_of(lap).seconds);
    }
}

TEST(GpuUse, OfACpuIsNotMeasured) {
    for (auto const& unit : lap_of({}, false).units) EXPECT_EQ(unit.gpu_use, -1);
}

}  // namespace gpu_watch_test
}  // namespace hopscotch
