// SPDX-License-Identifier: Apache-2.0
// model_averaging against K workers in one loop that are averaged in rank order (bit for bit), against one process, against
// synchronous steps, and against the byte formula. Threads of 1..4 trainers, and MPI.
#include <cmath>
#include <cstring>
#include <numeric>

#include "group_oracle.hpp"
#include "strategy/baselines/model_averaging/model_averaging.hpp"

namespace hopscotch {
namespace model_averaging_test {

using namespace testing;

Json object(char const* text) { return parse_json_or_throw(text, "test"); }

// The oracle: each worker trains its steps of a round, then what is averaged becomes the sum of share x value in rank order.
class Averaged {
public:
    Averaged(Experiment const& experiment, TrialId trial, Assignment const& assignment, OwnerTable const& owners)
        : workers(experiment, trial, assignment, owners), strategy_(experiment.strategy) {
        anchor_ = copy_of(0, 0);
    }

    void epoch(int epoch) {
        workers.begin_epoch(epoch);
        auto const steps = workers.plan().steps();
        for (std::int64_t first = 0, last = 0; first < steps; first = last) {
            last = strategy_.averaging.every == 0 ? steps : std::min(steps, first + strategy_.averaging.every);
            for (int k = 0; k < workers.size(); ++k)
                for (auto step = first; step < last; ++step) {
                    auto const total = workers.plan().total(step);
                    if (workers.next_gradient(k) > 0)
                        workers.model(k).training->update(total);
                    else
                        workers.model(k).training->count(total);
                }
            ++rounds;
            end_round(first, last);
        }
    }

    // Kind 0: the parameters; 1...: the slots, in the order of the layout.
    std::span<float> values(int k, std::size_t kind) {
        auto const& tensor = layout().tensors[kind * parameters()];
        return {reinterpret_cast<float*>(workers.state(k).data() + tensor.offset), weight_bytes() / sizeof(float)};
    }
    std::vector<float> copy_of(int k, std::size_t kind) {
        auto const at = values(k, kind);
        return {at.begin(), at.end()};
    }
    std::size_t weight_bytes() { return layout().end_of(Block::parameter); }

    Workers workers;
    std::int64_t rounds = 0;
    std::uint64_t mean_bytes = 0;  // of all means, once

private:
    StateLayout const& layout() { return workers.model(0).state->layout(); }
    std::size_t parameters() {
        return static_cast<std::size_t>(std::ranges::count_if(layout().tensors, [](StateTensor const& tensor) {
            return tensor.block == Block::parameter;
        }));
    }

    void end_round(std::int64_t first, std::int64_t last) {
        if (workers.size() == 1 && !strategy_.averaging.outer) return;
        std::vector<double> rows(static_cast<std::size_t>(workers.size()));
        for (int k = 0; k < workers.size(); ++k)
            for (auto step = first; step < last; ++step)
                rows[static_cast<std::size_t>(k)] += static_cast<double>(workers.plan().rows(k, step));
        auto const& tensors = layout().tensors;
        for (std::size_t kind = 0; tensors[kind * parameters()].block <= Block::slot; ++kind) {
            auto const& name = tensors[kind * parameters()].name;
            if (name.ends_with("/outer")) continue;
            bool const always = kind == 0 || name.ends_with("/ema");
            if (always || strategy_.averaging.momentum == SlotPolicy::averaged) average(kind, rows);
            if (!always && strategy_.averaging.momentum == SlotPolicy::reset)
                for (int k = 0; k < workers.size(); ++k) std::ranges::fill(values(k, kind), 0.0F);
        }
        if (!strategy_.averaging.outer) return;
        EXPECT_EQ(outer_velocity(0).empty(), strategy_.averaging.outer->momentum == 0) << "it is state";
        for (int k = 0; k < workers.size(); ++k)
            take_outer_step(*strategy_.averaging.outer, {anchor_, values(k, 0), outer_velocity(k)});
        anchor_ = copy_of(0, 0);
    }

    std::span<float> outer_velocity(int k) {
        for (std::size_t kind = 1; layout().tensors[kind * parameters()].block == Block::slot; ++kind)
            if (layout().tensors[kind * parameters()].name.ends_with("/outer")) return values(k, kind);
        return {};
    }

    void average(std::size_t kind, std::vector<double> const& rows) {
        mean_bytes += weight_bytes();
        auto const all = std::accumulate(rows.begin(), rows.end(), 0.0);
        std::vector<float> sum;
        for (int k = 0; k < workers.size(); ++k) {
            auto const share = static_cast<float>(rows[static_cast<std::size_t>(k)] / all);
            auto term = copy_of(k, kind);
            if (share != 1)
                for (auto& value : term) value *= share;
            if (k == 0) sum.assign(term.size(), -0.0F);  // what changes no term
            for (std::size_t i = 0; i < term.size(); ++i) sum[i] = sum[i] + term[i];
        }
        for (int k = 0; k < workers.size(); ++k) std::ranges::copy(sum, values(k, kind).begin());
    }

    StrategyConfig strategy_;
    std::vector<float> anchor_;
};

double relative_difference(std::vector<float> const& a, std::vector<float> const& b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
        size += double{b[i]} * double{b[i]};
    }
    return std::sqrt(difference / size);
}

// E17, E18: the same number of rounds for all, whoever runs out of rows; 2(K-1) times what is averaged crosses the network.
void expect_averaged_bits(JobResult const& job, Experiment const& experiment) {
    auto const trials = two_trials();
    std::uint64_t bytes = 0;
    for (std::size_t t = 0; t < trials.size(); ++t) {
        Averaged oracle(experiment, TrialId(t), trials[t], job.owners);
        auto const k = static_cast<std::uint64_t>(oracle.workers.size());
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const before = oracle.rounds;
            oracle.epoch(epoch);
            auto const& lap = job.laps.at({TrialId(t), epoch});
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(oracle.workers.hash(0)))
                << "trial " << t << " epoch " << epoch << " K " << k;
            EXPECT_EQ(lap.sync.rounds, oracle.rounds - before);
            EXPECT_EQ(std::accumulate(lap.units.begin(), lap.units.end(), std::int64_t{0},
                                      [](std::int64_t rows, UnitRecord const& unit) { return rows + unit.rows; }),
                      5 * 31 + 1);
        }
        if (experiment.strategy.averaging.momentum == SlotPolicy::local && experiment.train.ema == 0 && k > 1) {
            EXPECT_EQ(oracle.mean_bytes, static_cast<std::uint64_t>(oracle.rounds) * oracle.weight_bytes());
        }
        bytes += 2 * (k - 1) * oracle.mean_bytes;
    }
    EXPECT_EQ(gradient_bytes(job), bytes);
    if (job.owners.trainers > 1 || experiment.strategy.averaging.outer) return;
    // E7: one worker is one process, whatever else is set.
    Alone alone(experiment);
    for (std::size_t t = 0; t < trials.size(); ++t) {
        auto const serial = alone.train(TrialId(t), trials[t]);
        for (int epoch = 0; epoch < k_epochs; ++epoch)
            EXPECT_EQ(to_hex(job.laps.at({TrialId(t), epoch}).state.hash),
                      to_hex(serial.hashes[static_cast<std::size_t>(5 * (epoch + 1) - 1)]));
    }
}

// Every tau with every policy. Two slots that differ (adam), EMA, decay, accumulated batches, tiny buckets, the master.
TEST(ModelAveraging, DeterministicEqualsWorkersAveragedInOneLoop) {
    std::vector<Json> const taus{1, 3, "epoch"};
    std::vector<Settings> const extras{
        {{"train.optimizer.momentum", 0.9}},
        {{"train.optimizer", object(R"({"name": "adam"})")}, {"strategy.bucket_mb", 1e-5}, {"train.ema", 0.9}},
        {{"train.optimizer.momentum", 0.9}, {"train.accumulate", 2}, {"strategy.via", "master"}},
    };
    std::vector<std::string> const policies{"local", "averaged", "reset"};
    for (std::size_t t = 0; t < taus.size(); ++t)
        for (std::size_t p = 0; p < policies.size(); ++p) {
            if (mpi_world() && !long_suite() && t != p) continue;
            auto settings = extras[(t + p) % extras.size()];
            bool const by_master = settings.back().first == "strategy.via";  // which adds in rank order by itself
            settings.emplace_back("strategy.every", taus[t]);
            settings.emplace_back("strategy.momentum", policies[p]);
            settings.emplace_back("strategy.algorithm", by_master ? "ring" : "deterministic");
            SCOPED_TRACE(taus[t].dump() + ", " + policies[p]);
            run_group("model_averaging", settings, expect_averaged_bits);
        }
}

// DiLoCo: the outer velocity is state, so it lasts from lap to lap; the optimizer's own slots and EMA lie beside it.
TEST(ModelAveraging, TheOuterOptimizerEqualsThatOfTheLoop) {
    std::vector<Settings> const cases{
        {{"strategy.outer", object(R"({"lr": 0.7, "momentum": 0.9, "nesterov": true})")}, {"strategy.every", 4}},
        {{"strategy.outer", object(R"({"lr": 0.5, "momentum": 0.5})")},
         {"train.optimizer", object(R"({"name": "adamw"})")},
         {"train.ema", 0.9}},
        {{"strategy.outer", object(R"({"lr": 0.8})")},
         {"strategy.every", 2},
         {"strategy.momentum", "averaged"},
         {"train.optimizer.momentum", 0.9}},
    };
    for (auto settings : few_on_ranks(cases, 1)) {
        settings.emplace_back("strategy.algorithm", "deterministic");
        run_group("model_averaging", settings, expect_averaged_bits);
    }
}

TEST(ModelAveraging, ARingAgreesWithTheRankOrderToRounding) {
    run_group("model_averaging", {{"strategy.every", 2}}, [](JobResult const& job, Experiment const& experiment) {
        Averaged oracle(experiment, TrialId(0), two_trials()[0], job.owners);
        oracle.epoch(0);
        auto const& lap = job.laps.at({TrialId(0), 0});
        ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
        if (oracle.workers.size() <= 2) {
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(oracle.workers.hash(0))) << "two terms have one order";
        }
        EXPECT_EQ(gradient_bytes(job),
                  2 * static_cast<std::uint64_t>(oracle.workers.size() - 1) * oracle.mean_bytes * 2 * k_epochs);
    });
}

// What follows is about the oracle, whose bits are the strategy's: 12 shards on K workers, all batches of 12 rows.
struct Even {
    explicit Even(Settings const& settings) {
        auto described = document(make_tiny_dataset(directory.path() / "data", 12, 24).string(), 12, "model_averaging");
        described.set("data.last_batch", "drop");  // the first shard's 25th row
        described.set("strategy.every", 1);
        for (auto const& [path, value] : settings) described.set(path, value);
        experiment = read_document(described);
    }
    std::vector<float> averaged(int trainers) const {
        Averaged oracle(experiment, TrialId(0), {}, make_owners(12, trainers, 1));
        for (int epoch = 0; epoch < k_epochs; ++epoch) oracle.epoch(epoch);
        return oracle.copy_of(0, 0);
    }
    std::vector<float> synchronous(int trainers) const {
        Averaged oracle(experiment, TrialId(0), {}, make_owners(12, trainers, 1));
        for (int epoch = 0; epoch < k_epochs; ++epoch) oracle.workers.synchronous_epoch(epoch);
        return oracle.copy_of(0, 0);
    }
    TemporaryDirectory directory;
    Experiment experiment;
};

// E14: momentum is linear, so the mean velocity obeys the same recursion, whether or not anyone computes it.
TEST(ModelAveraging, AMeanEveryStepIsSynchronousSgd) {
    for (auto const* optimizer : {R"({"name": "sgd", "lr": 0.05})", R"({"name": "sgd", "lr": 0.02, "momentum": 0.9})"})
        for (auto const* momentum : {"local", "averaged"}) {
            Even const even({{"train.optimizer", object(optimizer)}, {"strategy.momentum", momentum}});
            for (int const trainers : trainer_counts())
                EXPECT_LT(relative_difference(even.averaged(trainers), even.synchronous(trainers)), 1e-5) << optimizer;
        }
}

// E15: Adam divides by what it averages.
TEST(ModelAveraging, AMeanEveryStepIsNotSynchronousAdam) {
    for (auto const* momentum : {"local", "averaged"}) {
        Even const even({{"train.optimizer", object(R"({"name": "adam", "lr": 0.01})")}, {"strategy.momentum", momentum}});
        for (int const trainers : trainer_counts(2))
            EXPECT_GT(relative_difference(even.averaged(trainers), even.synchronous(trainers)), 1e-3) << momentum;
        EXPECT_EQ(even.averaged(1), even.synchronous(1));
    }
}

// E16
TEST(ModelAveraging, TheOuterOptimizerThatDoesNothingIsThePlainMean) {
    for (auto const* every : {"1", "3", "\"epoch\""}) {
        Even const plain({{"strategy.every", object(every)}});
        Even const outer({{"strategy.every", object(every)}, {"strategy.outer", object(R"({"lr": 1, "momentum": 0})")}});
        Even const damped({{"strategy.every", object(every)}, {"strategy.outer", object(R"({"lr": 0.5, "momentum": 0})")}});
        for (int const trainers : trainer_counts()) {
            EXPECT_LT(relative_difference(outer.averaged(trainers), plain.averaged(trainers)), 1e-6);
            EXPECT_GT(relative_difference(damped.averaged(trainers), plain.averaged(trainers)), 1e-2);
        }
    }
}

// torch.optim.SGD(lr=0.5, momentum=0.5, nesterov=...) from 8 with the gradients 2, 4: worked by hand, exact in binary.
TEST(ModelAveraging, TheOuterStepIsThatOfTorch) {
    for (bool const nesterov : {false, true}) {
        std::vector<float> weight{8}, velocity{0};
        std::vector<double> const expected = nesterov ? std::vector<double>{6.5, 3.25} : std::vector<double>{7, 4.5};
        for (std::size_t step = 0; step < 2; ++step) {
            auto const anchor = weight;
            weight[0] -= step == 0 ? 2.0F : 4.0F;  // what the workers arrived at
            take_outer_step({0.5, 0.5, nesterov}, {anchor, weight, velocity});
            EXPECT_EQ(weight[0], expected[step]) << nesterov << step;
        }
    }
}

// The linear scaling rule, for strategies that step together and apart: a job with scale_lr is one with lr x K.
TEST(ScaleLr, MultipliesTheRateOfEveryTrialByTheNumberOfTrainers) {
    for (auto const* strategy : {"allreduce", "model_averaging"})
        run_group(strategy,
                  {{"strategy.batch", "per_worker"}, {"strategy.scale_lr", true}, {"strategy.algorithm", "deterministic"}},
                  [&](JobResult const& job, Experiment const& experiment) {
                      for (std::size_t t = 0; t < 2; ++t) {
                          auto const lr = two_trials()[t][0].second.number() * job.owners.trainers;
                          Averaged oracle(experiment, TrialId(t), {{"train.optimizer.lr", lr}}, job.owners);
                          for (int epoch = 0; epoch < k_epochs; ++epoch) {
                              if (experiment.strategy.name == "allreduce")
                                  oracle.workers.synchronous_epoch(epoch);
                              else
                                  oracle.epoch(epoch);
                              auto const& lap = job.laps.at({TrialId(t), epoch});
                              EXPECT_EQ(to_hex(lap.state.hash), to_hex(oracle.workers.hash(0))) << strategy << " " << epoch;
                              EXPECT_NEAR(lap.state.lr, epoch == 0 ? lr / 2 : 0, 0.2 * lr) << "the cosine's middle and end";
                          }
                      }
                  });
}

}  // namespace model_averaging_test
}  // namespace hopscotch
