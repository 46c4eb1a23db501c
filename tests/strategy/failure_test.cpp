// SPDX-License-Identifier: Apache-2.0
// One bad trial never hurts another: what a trial throws ends that trial alone, with a reason that says where.
#include <stdexcept>

#include <atomic>
#include <optional>

#include "comm/codec.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "experiment/strategy_traits.hpp"
#include "job_harness.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/common/trainer_gpu.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_failure.hpp"
#include "strategy/trainer/trial_runner.hpp"
#include "wrapped_model.hpp"

namespace hopscotch {
namespace failure_test {

using namespace testing;

constexpr int k_shards = 4, k_epochs = 3;

enum class Fault { none, training, validation, initialisation, scoring };

Json document(std::string const& data, std::string const& strategy) {
    auto of_strategy = Json::object({{"name", strategy}});
    if (strategy == "task_parallel") of_strategy["data"] = "remote";
    return Json::object({
        {"name", "failure"},
        {"seed", 7},
        {"data", Json::object({{"path", data}})},
        {"model", Json::object({{"name", "mlp"}, {"hidden", std::vector<int>{9}}})},
        {"train", Json::object({{"epochs", k_epochs}, {"batch_size", 7}})},
        {"space", Json::object({{"train.optimizer.lr", std::vector<double>{0.01, 0.02, 0.03}}})},
        {"strategy", of_strategy},
        {"run", Json::object({{"dir", "unused"}, {"device", "cpu"}})},
    });
}

// The parts of a real model, which throw once they get to their fault: trial 1's, in epoch 1, on shard 3.
class FaultyState final : public testing::WrappedState {
public:
    FaultyState(std::shared_ptr<TrialState> state, Fault fault) : WrappedState(std::move(state)), fault_(fault) {}

    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) override {
        if (fault_ == Fault::initialisation) throw std::runtime_error("no memory left");
        WrappedState::initialise(state, seed, trial, threads);
    }
    bool end_epoch(double loss) override {
        ++epochs;
        return WrappedState::end_epoch(loss);
    }

    int epochs = 0;

private:
    Fault fault_;
};

class FaultyPass final : public testing::WrappedPass {
public:
    FaultyPass(std::unique_ptr<TrainingPass> pass, Fault fault) : WrappedPass(std::move(pass)), fault_(fault) {}

    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        batches_left_ = fault_ == Fault::training && address.epoch == 1 && address.shard == ShardId(3) ? 1 : -1;
        WrappedPass::begin_pass(shard, address, batch_size);
    }
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        if (batches_left_-- == 0) throw std::runtime_error("no memory left");  // in the middle of a pass that no one ends
        return WrappedPass::next_gradient(ready, on_batch);
    }

private:
    Fault fault_;
    std::int64_t batches_left_ = -1;  // until it throws; negative: it does not
};

class FaultyEvaluator final : public Evaluator {
public:
    FaultyEvaluator(std::unique_ptr<Evaluator> evaluator, Fault fault, std::shared_ptr<FaultyState const> state)
        : evaluator_(std::move(evaluator)), fault_(fault), state_(std::move(state)) {}

    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override {
        if (fault_ == Fault::validation) throw std::runtime_error("no memory left");
        if (fault_ == Fault::scoring && state_->epochs == k_epochs)
            throw JobEnded{};  // as when a signal comes in the middle
        evaluator_->evaluate(shard, batches, into);
    }
    std::int64_t evaluation_batches(std::int64_t rows) const override { return evaluator_->evaluation_batches(rows); }
    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override {
        return evaluator_->predict(shard, batches);
    }

private:
    std::unique_ptr<Evaluator> evaluator_;
    Fault fault_;
    std::shared_ptr<FaultyState const> state_;
};

ModelFactory with_fault(Fault fault) {
    return [fault](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto const here = config.train.optimizer.lr == 0.02 ? fault : Fault::none;
        auto model = make_trial_model(config, manifest, workspace);
        auto state = std::make_shared<FaultyState>(std::move(model.state), here);
        model.training = std::make_unique<FaultyPass>(std::move(model.training), here);
        model.evaluation = std::make_unique<FaultyEvaluator>(std::move(model.evaluation), here, state);
        model.state = std::move(state);
        return model;
    };
}

std::vector<Assignment> three_trials() {
    return {{{"train.optimizer.lr", 0.01}}, {{"train.optimizer.lr", 0.02}}, {{"train.optimizer.lr", 0.03}}};
}

// On rank 0 what came back; empty on the others.
JobResult run_with(World& world, std::string const& strategy, Fault fault) {
    JobResult job;
    if (world.rank() == Rank(0)) {
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", k_shards, 30);
        job = run_as_scheduler(world, read_document(document(data.string(), strategy)), k_shards, three_trials());
    } else {
        trainer_main(world, k_test_build, with_fault(fault));
    }
    barrier(world);
    return job;
}

std::string where(TrainerId trainer) {
    return "on trainer " + std::to_string(trainer.value) + " (" + host_name() + "): no memory left";
}

// Trial 1 goes backward (route_of): it visits shards 0, 3, 2, 1 and validates at the trainer that has trained shard 0.
std::string where(JobResult const& job, int epoch, int shard) {
    return where(job.owners.trains({TrialId(1), epoch}, (k_shards - shard) % k_shards, ShardId(shard)));
}

void expect_others_unhurt(JobResult const& job, JobResult const& healthy) {
    for (int const trial : {0, 2})
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const& lap = job.laps.at({TrialId(trial), epoch});
            auto const& wanted = healthy.laps.at({TrialId(trial), epoch});
            EXPECT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(wanted.state.hash)) << "trial " << trial << " epoch " << epoch;
            EXPECT_EQ(lap.valid.loss, wanted.valid.loss);
        }
}

struct Expected {
    Fault fault;
    int epoch;          // of the lap that fails
    std::size_t units;  // that it has finished
    std::string what;
    int shard;  // where it happens
};

void check(World& world, std::string const& strategy, Expected const& expected) {
    auto const healthy = run_with(world, strategy, Fault::none);
    auto const job = run_with(world, strategy, expected.fault);
    if (world.rank() != Rank(0)) return;
    SCOPED_TRACE(strategy + ", " + std::to_string(world.size() - 1) + " trainers: " + expected.what);
    auto const found = job.laps.find({TrialId(1), expected.epoch});
    ASSERT_NE(found, job.laps.end());
    auto const& lap = found->second;
    EXPECT_EQ(lap.outcome, Outcome::failed);
    bool const rows_travel = strategy_traits(strategy).rows == Rows::travel;  // to the state, not the state to them
    EXPECT_EQ(lap.reason,
              expected.what + " " + (rows_travel ? where(lap.home) : where(job, expected.epoch, expected.shard)));
    EXPECT_EQ(lap.units.size(), expected.units);
    EXPECT_EQ(healthy.laps.at({TrialId(1), expected.epoch}).outcome, Outcome::finished);
    for (int epoch = 0; epoch < expected.epoch; ++epoch)
        EXPECT_EQ(job.laps.at({TrialId(1), epoch}).outcome, Outcome::finished);
    for (int epoch = expected.epoch + 1; epoch < k_epochs; ++epoch) EXPECT_FALSE(job.laps.contains({TrialId(1), epoch}));
    expect_others_unhurt(job, healthy);
}

void check_all(Expected const& expected) {
    for (auto const& strategy : strategy_traits()) {
        if (strategy.training == Training::together) continue;
        for (int const trainers : trainer_counts()) {
            on_every_rank(trainers + 1, [&](World& world) { check(world, std::string(strategy.name), expected); });
            if (mpi_world()) break;  // the number of trainers is mpirun's
        }
    }
}

TEST(Failure, InAUnitEndsThatTrialAlone) { check_all({Fault::training, 1, 1, "unit on shard 3 of epoch 1", 3}); }

TEST(Failure, InValidationEndsThatTrialAlone) { check_all({Fault::validation, 0, k_shards, "validation of epoch 0", 0}); }

TEST(Failure, InInitialisationEndsThatTrialAlone) { check_all({Fault::initialisation, 0, 0, "epoch 0", 0}); }

// Where all trainers train a trial together: the one that fails goes on taking part in every step, so no one waits for it.
void check_group(Fault fault, int epoch, std::string const& what, std::optional<int> shard) {
    for (auto const& row : strategy_traits()) {
        if (row.training != Training::together) continue;
        std::string const strategy(row.name);
        for (int const trainers : trainer_counts()) {
            on_every_rank(trainers + 1, [&](World& world) {
                auto const healthy = run_with(world, strategy, Fault::none);
                auto const job = run_with(world, strategy, fault);
                if (world.rank() != Rank(0)) return;
                SCOPED_TRACE(strategy + ", " + std::to_string(world.size() - 1) + " trainers: " + what);
                auto const& lap = job.laps.at({TrialId(1), epoch});
                EXPECT_EQ(lap.outcome, Outcome::failed);
                EXPECT_EQ(lap.reason, what + " " + where(job.owners.of(ShardId(shard.value_or(0)))));
                EXPECT_EQ(job.laps.count({TrialId(1), epoch + 1}), 0U);
                expect_others_unhurt(job, healthy);
            });
            if (mpi_world()) break;
        }
    }
}

TEST(Failure, InAUnitOfAGroupEndsThatTrialAlone) { check_group(Fault::training, 1, "unit on shard 3 of epoch 1", 3); }
TEST(Failure, InValidationOfAGroupEndsThatTrialAlone) {
    check_group(Fault::validation, 0, "validation of epoch 0", std::nullopt);
}
TEST(Failure, InInitialisationOfAGroupEndsThatTrialAlone) { check_group(Fault::initialisation, 0, "epoch 0", std::nullopt); }

// The end of the job in the middle of test scoring: the trainer leaves in good order, and nothing is scored.
TEST(Failure, TheEndDuringTestScoringIsNone) {
    on_every_rank(2, [](World& world) {
        if (world.size() != 2) return;
        if (world.rank() != Rank(0)) return trainer_main(world, k_test_build, with_fault(Fault::scoring));
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", k_shards, 30);
        auto manifest = read_manifest(data);
        manifest.test = manifest.valid;
        write_manifest(data, manifest);
        std::vector<Assignment> const trials{{{"train.optimizer.lr", 0.02}}};
        auto const score = [&](Pump& pump, JobResult const& job) {
            Lap best;
            best.trial = TrialId(0);
            for (auto const& [key, record] : job.laps)
                if (record.valid.correct > job.laps.at({TrialId(0), best.epoch}).valid.correct) best.epoch = key.epoch;
            best.assignment = trials[0];
            pump.dispatcher().score_best(best, TrainerId(0));
        };
        auto const job =
            run_as_scheduler(world, read_document(document(data.string(), "mop")), k_shards, trials, {.before_end = score});
        EXPECT_EQ(job.laps.size(), static_cast<std::size_t>(k_epochs));
        EXPECT_EQ(job.totals.peak_rss_bytes.size(), 2U) << "the trainer said goodbye";
    });
}

class LeavingPass : public WrappedPass {
public:
    LeavingPass(std::unique_ptr<TrainingPass> pass, std::atomic<bool>& gone) : WrappedPass(std::move(pass)), gone_(gone) {}
    ~LeavingPass() override { gone_ = true; }
    std::int64_t next_gradient(GradientReady const&, std::function<void()> const&) override {
        throw CommError("the link is gone");
    }

private:
    std::atomic<bool>& gone_;
};

struct FatalJob {
    std::string said;                 // the error that ended the job
    std::vector<std::string> failed;  // the reasons of trials that failed before
};

// A job of one trainer, which is a thread. at_the_end: the trainer has told its error, and waits for the end of the job.
FatalJob fatal_job(ModelFactory const& factory, TrainerGpu const& gpu, std::function<void()> const& at_the_end) {
    FatalJob out;
    auto const hear = [&](LapRecord const& record) {
        if (record.outcome == Outcome::failed) out.failed.push_back(record.reason);
    };
    run_thread_ranks(2, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, k_test_build, factory, gpu);
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", k_shards, 30);
        try {
            run_as_scheduler(world, read_document(document(data.string(), "mop")), k_shards, three_trials(),
                             {.lap_done = hear});
        } catch (CommError const& error) {
            out.said = error.what();
        }
        at_the_end();
        try {
            world.abort(1);
        } catch (Error const&) {  // so it tells this thread, too
        }
    });
    return out;
}

// Memory of a broken GPU cannot be given back without another error, which ends the process.
TEST(Failure, OfATrainerIsToldBeforeItsModelsGo) {
    if (mpi_world()) return;  // both ranks look at one variable
    std::atomic<bool> gone = false;
    auto const factory = [&](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        model.training = std::make_unique<LeavingPass>(std::move(model.training), gone);
        return model;
    };
    auto const said = fatal_job(factory, {}, [&] { EXPECT_FALSE(gone); }).said;
    EXPECT_NE(said.find("the link is gone"), said.npos) << said;
    EXPECT_TRUE(gone);
}

// A GPU that breaks in the first unit of trial 1, epoch 1: from then on every unit fails.
struct BreakingGpu {
    bool by_the_work = false;
    std::atomic<bool> broken = false;
    std::atomic<int> failures = 0;  // of trials
};

class OnBreakingGpu final : public WrappedPass {
public:
    OnBreakingGpu(std::unique_ptr<TrainingPass> pass, BreakingGpu& gpu, bool breaks)
        : WrappedPass(std::move(pass)), gpu_(gpu), breaks_(breaks) {}

    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        if (breaks_ && address.epoch == 1) gpu_.broken = true;
        if (gpu_.broken) {
            ++gpu_.failures;
            throw std::runtime_error("CUDA error: unspecified launch failure");
        }
        WrappedPass::begin_pass(shard, address, batch_size);
    }

private:
    BreakingGpu& gpu_;
    bool breaks_;
};

// The reason reaches rank 0, and the other trials do not fail one after the other.
TEST(Failure, OfAGpuIsItsTrainersEndAndNotThatOfEachTrial) {
    if (mpi_world()) return;  // both ranks look at one variable
    for (bool const by_the_work : {false, true}) {
        BreakingGpu gpu{by_the_work};
        auto const factory = [&](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
            auto model = make_trial_model(config, manifest, workspace);
            bool const breaks = config.train.optimizer.lr == 0.02;
            model.training = std::make_unique<OnBreakingGpu>(std::move(model.training), gpu, breaks);
            return model;
        };
        TrainerGpu device;
        device.complaint = [&](std::string const&) {
            return gpu.broken ? std::optional(DeviceComplaint{"cudaErrorLaunchFailure: unspecified", gpu.by_the_work})
                              : std::nullopt;
        };
        auto const [said, failed] = fatal_job(factory, device, [] {});
        for (auto const* part : {"rank 1", "of trial 1, epoch 1: CUDA error: unspecified launch failure",
                                 "cpu cannot be used any more by this process (cudaErrorLaunchFailure", "--resume"})
            EXPECT_NE(said.find(part), said.npos) << said;
        EXPECT_EQ(gpu.failures, 1) << "by the work: " << by_the_work;
        ASSERT_EQ(failed.size(), by_the_work ? 1U : 0U) << "a trial is not to blame for its GPU";
        if (by_the_work) {
            EXPECT_NE(failed[0].find("unspecified launch failure"), std::string::npos) << failed[0];
        }
    }
}

constexpr double k_never_s = 1e6;

TEST(RollCall, RanksThatDoNotAnswerAreListed) {
    if (mpi_world()) return;  // a silent MPI rank could not leave in good order
    auto const hub = make_thread_hub(3);
    auto const world = make_thread_world(hub, Rank(0));
    Courier courier(*world, {});
    try {
        RunConfig run;
        run.limits.silence_s = 0.05;  // of ranks that never speak; a trainer that reads its data has until setup_s
        run.limits.setup_s = k_never_s;
        call_roll(courier, Welcome{}, k_test_build, run);
        FAIL() << "no one answered, and no one complained";
    } catch (CommError const& error) {
        std::string const said = error.what();
        EXPECT_NE(said.find("has been silent for "), said.npos) << said;
        EXPECT_NE(said.find("run.silence_s sets this limit"), said.npos) << said;
        EXPECT_NE(said.find("rank(s) 1, 2 did not answer the roll call"), said.npos) << said;
    }
}

// A trainer whose file system hangs still sends signs of life.
TEST(RollCall, TrainersThatDoNotOpenTheirDataAreListed) {
    if (mpi_world()) return;  // a silent MPI rank could not leave in good order
    auto const hub = make_thread_hub(2);
    auto const world = make_thread_world(hub, Rank(0)), other = make_thread_world(hub, Rank(1));
    Courier courier(*world, {}), of_the_trainer(*other, {});
    RunConfig run;
    run.limits.setup_s = 0.2;  // the Hello never comes
    run.limits.silence_s = run.limits.deadline_s = k_never_s;
    try {
        call_roll(courier, Welcome{}, k_test_build, run);
        FAIL() << "no one answered, and no one complained";
    } catch (CommError const& error) {
        EXPECT_STREQ(
            error.what(),
            "rank(s) 1 did not open their data within 0.2 s (a file system may hang); look at their hosts, or raise "
            "run.setup_s");
    }
}

// In NCCL a thread waits for the others, and some calls of CUDA wait for all GPUs of their process.
TEST(RollCall, ThreadsMayNotUseTwoGpus) {
    if (mpi_world()) return;  // these may
    for (auto const* second : {"GPU-a", "GPU-b"}) {
        auto const hub = make_thread_hub(3);
        auto const world = make_thread_world(hub, Rank(0)), one = make_thread_world(hub, Rank(1)),
                   two = make_thread_world(hub, Rank(2));
        Courier courier(*world, {}), of_one(*one, {}), of_two(*two, {});
        Hello hello;
        hello.host = "node";
        hello.build = k_test_build.version + " " + k_test_build.git;
        hello.device.uuid = "GPU-a";
        of_one.send(Rank(0), MessageKind::hello, encode(hello));
        hello.device.uuid = second;
        of_two.send(Rank(0), MessageKind::hello, encode(hello));
        auto const hellos = value_or_refuse(call_roll(courier, Welcome{}, k_test_build, RunConfig{}));
        if (hello.device.uuid == "GPU-a")
            EXPECT_NO_THROW(refuse_several_gpus(*world, hellos));
        else
            EXPECT_THROW(refuse_several_gpus(*world, hellos), ConfigError);
    }
}

TEST(Failure, OfDataAndMemoryAreNoTrialsOwn) {
    EXPECT_EQ(cause_of(DataError("d.h5: is damaged")), Cause::surroundings);
    EXPECT_EQ(cause_of(IoError("Input/output error")), Cause::surroundings);
    EXPECT_EQ(cause_of(std::bad_alloc()), Cause::surroundings);
    EXPECT_EQ(words_of(std::bad_alloc()),
              "there is not enough memory; look at `ulimit -v`, the memory of the batch job, and the other processes here");
    EXPECT_EQ(words_of(Error("a fault")), "a fault");
    EXPECT_EQ(
        words_of(std::runtime_error("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs"
                                    "\nException raised from initState at /p/CUDAStream.cpp:183\nframe #0: c10::Error")),
        "CUDA error: out of memory")
        << "without what is for torch's developers";
    EXPECT_EQ(words_of(std::runtime_error("no such layer\nException raised from f at /p/f.cpp:1\nframe #0: c10::Error")),
              "no such layer");
    EXPECT_EQ(cause_of(std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB")), Cause::surroundings);
    EXPECT_EQ(cause_of(std::runtime_error("[enforce fail] DefaultCPUAllocator: not enough memory")), Cause::surroundings);
    EXPECT_EQ(cause_of(DoesNotFit("cuda:0 has 1 GB", DoesNotFit::Why::others)), Cause::surroundings);
    EXPECT_EQ(cause_of(DoesNotFit("out of memory", DoesNotFit::Why::too_large)), Cause::trial);
    EXPECT_EQ(cause_of(std::runtime_error("shapes differ")), Cause::trial);
    EXPECT_EQ(cause_of(Error("a fault")), Cause::trial);
    EXPECT_EQ(cause_of(std::logic_error("index out of range")), Cause::trial);
}

}  // namespace failure_test
}  // namespace hopscotch
