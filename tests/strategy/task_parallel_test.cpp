// SPDX-License-Identifier: Apache-2.0
// task_parallel: a trial has the bits of one process that trains it alone, wherever its rows come from; and exactly the
// bytes that the formulas say are fetched. Threads of 1..4 trainers, and MPI.
#include <set>

#include "alone.hpp"
#include "comm/codec.hpp"
#include "fetch_best.hpp"
#include "strategy/baselines/whole_laps/row_client.hpp"
#include "strategy/baselines/whole_laps/row_messages.hpp"
#include "strategy/baselines/whole_laps/task_parallel.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/trainer/job_ended.hpp"

namespace hopscotch {
namespace task_parallel_test {

using namespace testing;

constexpr std::uint64_t k_row_bytes = 64 + 8;  // of the tiny dataset

std::vector<Assignment> some_trials() {
    std::vector<Assignment> trials;
    for (double const lr : {0.05, 0.04, 0.03, 0.02, 0.01}) trials.push_back({{"train.optimizer.lr", lr}});
    trials[1].emplace_back("train.optimizer.momentum", 0.9);
    trials[2].emplace_back("train.batch_size", 64);  // larger than a shard
    return trials;
}

struct Case {
    int shards;
    std::string data, cache;
    std::int64_t shuffle_rows = 0;
};

Json described(Case const& c, std::string const& path) {
    auto out = document(path, 7, "task_parallel");
    out.set("strategy.data", c.data);
    out.set("data.cache", c.cache);
    out.set("data.shuffle_rows", c.shuffle_rows);
    return out;
}

std::uint64_t foreign_rows(OwnerTable const& owners, Manifest const& manifest, TrainerId self) {
    std::uint64_t rows = 0;
    for (std::size_t s = 0; s < owners.owner.size(); ++s)
        if (owners.owner[s] != self) rows += static_cast<std::uint64_t>(manifest.train[s].rows);
    return rows;
}

// replicated: what it does not own, once for every trainer that trains. remote: the same for every lap.
void expect_formula_bytes(JobResult const& job, Manifest const& manifest, std::string const& data) {
    std::set<TrainerId> training;
    std::map<TrialId, TrainerId> homes;
    std::uint64_t once = 0, every_lap = 0;
    for (auto const& [key, lap] : job.laps) {
        EXPECT_EQ(homes.emplace(lap.trial, lap.home).first->second, lap.home) << "the state stays where it is";
        auto const bytes = foreign_rows(job.owners, manifest, lap.home) * k_row_bytes;
        every_lap += bytes;
        if (training.insert(lap.home).second) once += bytes;
        EXPECT_EQ(lap.sync.exposed_s.size(), static_cast<std::size_t>(job.owners.trainers));
        EXPECT_EQ(lap.hops.count, 0);
    }
    EXPECT_EQ(training.size(), static_cast<std::size_t>(job.owners.trainers))
        << "every trainer trains, with or without shards";
    bool const replicated = data == "replicated";
    EXPECT_EQ(job.totals.bytes[static_cast<std::size_t>(Traffic::data)], replicated ? once : every_lap);
    EXPECT_EQ(job.totals.bytes[static_cast<std::size_t>(Traffic::state)], 0u);
    auto const dataset = static_cast<std::uint64_t>(manifest.rows(Split::train)) * k_row_bytes;
    EXPECT_EQ(job.totals.staged_bytes, replicated ? once : 0);
    EXPECT_EQ(job.totals.storage_bytes, dataset + job.totals.staged_bytes);
    std::uint64_t sent = 0;
    for (auto const& bytes : job.totals.bytes_by_rank) sent += bytes[static_cast<std::size_t>(Traffic::data)];
    EXPECT_EQ(job.totals.bytes_by_rank.size(), static_cast<std::size_t>(job.owners.trainers) + 1);
    EXPECT_EQ(sent, job.totals.bytes[static_cast<std::size_t>(Traffic::data)]);
}

void run_case(World& world, Case const& c) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    SCOPED_TRACE(c.data + ", cache " + c.cache + ", " + std::to_string(c.shards) + " shards, " +
                 std::to_string(world.size() - 1) + " trainers");
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", c.shards, 30);
    auto const experiment = read_document(described(c, data.string()));
    auto const job = run_as_scheduler(world, experiment, c.shards, some_trials());
    expect_same_bits(job, experiment, some_trials(), c.shards);
    expect_formula_bytes(job, read_manifest(data), c.data);
    barrier(world);
}

void run_cases(std::vector<Case> const& cases) {
    for (auto const& c : few_on_ranks(cases, 2)) {
        if (mpi_world()) {
            run_case(*mpi_world(), c);
            continue;
        }
        for (int const trainers : trainer_counts())
            run_thread_ranks(trainers + 1, [&](World& world) { run_case(world, c); });
    }
}

// E19; 2 shards: more trainers than shards.
TEST(TaskParallel, ReplicatedEqualsOneProcessAlone) {
    run_cases(
        {{2, "replicated", "all"}, {5, "replicated", "all"}, {3, "replicated", "window", 8}, {3, "replicated", "none"}});
}

TEST(TaskParallel, RemoteEqualsOneProcessAlone) {
    run_cases({{2, "remote", "all"}, {5, "remote", "all"}, {3, "remote", "window", 8}, {3, "remote", "none"}});
}

// The snapshot of a best epoch is with the trainer that trained the trial.
TEST(TaskParallel, TheBestSnapshotIsAtHome) {
    on_every_rank(4, [](World& world) {
        if (world.rank() != Rank(0)) {
            trainer_main(world, k_test_build);
            return barrier(world);
        }
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", 2, 30);
        auto const experiment = read_document(described({2, "remote", "all"}, data.string()));
        run_as_scheduler(world, experiment, 2, some_trials(), {.before_end = [](Pump& pump, JobResult const& job) {
                             auto const* best = &job.laps.begin()->second;
                             for (auto const& [key, lap] : job.laps)  // by trial and epoch: the first of equals
                                 if (lap.valid.correct > best->valid.correct) best = &lap;
                             auto const state = fetch_best(pump, {best->trial, best->epoch}, best->home);
                             EXPECT_EQ(state.bytes().size(), best->state.bytes);
                         }});
        barrier(world);
    });
}

// One lap, then shard 1 is damaged where it lies, on trainer 1 (rank 2), and trainer 0 needs it for the next.
void lap_after_damage(World& world, std::filesystem::path const& data) {
    auto const experiment = read_document(described({2, "remote", "none"}, data.string()));
    JobResult result;
    result.owners = make_owners(2, 2, 1);
    Courier courier(world, {});
    call_roll(courier, {experiment.document.dump(), "task_parallel", result.owners, 0}, k_test_build, RunConfig{});
    Pump pump(courier, {"here", "here"}, 60, make_task_dispatcher({courier, experiment, result.owners}));
    auto& dispatcher = pump.dispatcher();
    Collector collector(result, k_epochs, dispatcher);
    dispatcher.execute({TrialId(0), 0, 1, 0, 2, some_trials()[0]});
    while (result.laps.empty()) refuse(pump.take(collector, 1));
    std::filesystem::resize_file(data / "train-00001.h5", 2100);
    dispatcher.execute({TrialId(0), 1, 1, 0, 1, some_trials()[0]});
    while (collector.ended.empty()) refuse(pump.take(collector, 1));
}

TEST(TaskParallel, WhatTheOwnerCannotReadEndsTheJob) {
    if (mpi_world()) return;  // ends with MPI_Abort
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", 2, 30);
    try {
        run_thread_ranks(3, [&](World& world) {
            if (world.rank() != Rank(0)) return trainer_main(world, k_test_build);
            lap_after_damage(world, data);
        });
        FAIL() << "no one missed the rows";
    } catch (CommError const& error) {
        auto const text = std::string(error.what());
        EXPECT_NE(text.find("rank 2 ("), text.npos) << text;
        EXPECT_NE(text.find("rows for rank 1: "), text.npos) << text;
        EXPECT_NE(text.find("train-00001.h5"), text.npos) << text;
    }
}

// Two ranks whose owner of shard 0, rank 2, has no service.
class Unanswered : public ::testing::Test {
protected:
    Unanswered() { resources_.owners = {1, 2, {TrainerId(1)}}; }
    std::shared_ptr<ThreadHub> hub_ = make_thread_hub(3);
    std::unique_ptr<World> asking_ = make_thread_world(hub_, Rank(1)), owning_ = make_thread_world(hub_, Rank(2));
    Courier asker_{*asking_, {}}, owner_{*owning_, {}};
    Experiment experiment_;
    Resources resources_{asker_, experiment_, {}};
    int set_aside_ = 0;
};

TEST_F(Unanswered, IsAnErrorThatNamesRankShardAndSeconds) {
    experiment_.run.limits.stall_s = 0.05;  // nothing can come: however late the client looks, it says the same
    RowClient client(resources_, [](Incoming) {});
    auto const ticket = client.ask({0, ShardId(0), 0, 3, {}});
    try {
        client.take(ticket);
        FAIL() << "rows from nowhere";
    } catch (CommError const& error) {
        EXPECT_STREQ(error.what(), "rank 2 sent no rows of shard 0 for 0 s; run.stall_s sets this limit");
    }
    EXPECT_GE(client.take_waited_s(), 0.05);
    EXPECT_EQ(asker_.activity().phase, Phase::compute);
}

TEST_F(Unanswered, EndsWithTheJob) {
    RowClient client(resources_, [this](Incoming) { ++set_aside_; });
    auto const ticket = client.ask({0, ShardId(0), 0, 3, {}});
    owner_.send(Rank(1), MessageKind::shutdown, encode(Shutdown{}));
    EXPECT_THROW(client.take(ticket), JobEnded);
    EXPECT_EQ(set_aside_, 1) << "the shutdown is not lost";
}

// Rows that come after their batch was given up are let go of.
TEST_F(Unanswered, LateRowsAreDropped) {
    RowClient client(resources_, [](Incoming) {});
    auto const late = client.ask({0, ShardId(0), 0, 3, {}}), wanted = client.ask({0, ShardId(0), 3, 1, {}});
    client.drop(late);
    auto const answer = [&](RowClient::Ticket ticket, std::size_t bytes) {
        client.keep({Rank(2), MessageKind::rows, encode(ticket), owner_.pool().acquire(bytes)});
    };
    answer(late - 1, 8);  // asked for before a trainer was lost
    answer(late, 16);
    answer(wanted, 24);
    EXPECT_THROW(client.take(late), std::out_of_range);
    EXPECT_EQ(client.take(wanted).bytes().size(), 24U);
}

// Who leaves takes what is still on its way, so that no one waits for that.
TEST_F(Unanswered, WhatIsOnItsWayIsTakenBeforeLeaving) {
    RowClient client(resources_, [](Incoming) {});
    auto const ticket = client.ask({0, ShardId(0), 0, 3, {}});
    owner_.push(Rank(1), encode(ticket), owner_.pool().acquire(24), MessageKind::rows);
    client.settle();
    EXPECT_THROW(client.take(ticket), std::out_of_range);
    EXPECT_FALSE(asker_.receive(0));
}

}  // namespace task_parallel_test
}  // namespace hopscotch
