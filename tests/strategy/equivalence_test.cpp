// SPDX-License-Identifier: Apache-2.0
// Sequential equivalence: after any strategy, with any number of trainers, on threads or processes, a trial has bit for bit
// the state of one process that trains it alone over the same visit order.
#include <bit>
#include <cstring>
#include <functional>
#include <set>

#include "core/hash.hpp"
#include "job_harness.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {
namespace {

using namespace testing;

constexpr int k_epochs = 2;

Json document(std::string const& data, int batch_size, std::string const& strategy) {
    return Json::object({
        {"name", "equivalence"},
        {"seed", 7},
        {"data", Json::object({{"path", data}})},
        {"model", Json::object({{"name", "mlp"}, {"hidden", std::vector<int>{9}}})},
        {"train", Json::object({{"epochs", k_epochs},
                                {"batch_size", batch_size},
                                {"optimizer", Json::object({{"name", "sgd"}, {"lr", 0.05}})},
                                {"schedule", Json::object({{"name", "cosine"}, {"warmup_epochs", 0.5}})}})},
        {"search", Json::object({{"procedure", "grid"}})},
        {"space", Json::object({{"train.optimizer.lr", std::vector<double>{0.05}}})},
        {"strategy", Json::object({{"name", strategy}})},
        {"run", Json::object({{"dir", "unused"}, {"device", "cpu"}})},
    });
}

// {sgd, momentum, nesterov, adam, adamw} x {mlp, lenet with dropout}
std::vector<Assignment> all_trials() {
    std::vector<Json> const optimizers = {
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"weight_decay", 0.01}}),
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"momentum", 0.9}}),
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"momentum", 0.9}, {"nesterov", true}}),
        Json::object({{"name", "adam"}, {"lr", 0.003}, {"weight_decay", 0.01}}),
        Json::object({{"name", "adamw"}, {"lr", 0.003}, {"weight_decay", 0.01}}),
    };
    std::vector<Json> const models = {
        Json::object({{"name", "mlp"}, {"hidden", std::vector<int>{9, 5}}}),
        Json::object({{"name", "lenet"}, {"dropout", 0.3}}),
    };
    std::vector<Assignment> trials;
    for (auto const& model : models)
        for (auto const& optimizer : optimizers) trials.push_back({{"model", model}, {"train.optimizer", optimizer}});
    return trials;
}

// The oracle: no strategy, no trainer, no messages. One model object, one block of memory, the visit order in a loop.
class Alone {
public:
    explicit Alone(Experiment const& experiment)
        : experiment_(experiment),
          manifest_(read_manifest(experiment.data.path)),
          workspace_("cpu", 1) {
        auto const read = [&](ShardFile const& file) {
            return shard_in_memory(read_shard(experiment.data.path, file, manifest_));
        };
        for (auto const& file : manifest_.train) shards_.push_back(read(file));
        for (auto const& file : manifest_.valid) valid_.push_back(read(file));
    }

    // Hash after every unit, then the validation loss of every epoch.
    struct Result {
        std::vector<std::uint64_t> hashes;
        std::vector<Evaluation> validation;
        std::uint64_t state_bytes = 0;
    };
    Result train(TrialId trial, Assignment const& assignment) {
        Problems problems("oracle");
        auto const config = resolve(experiment_, assignment, problems);
        problems.throw_if_any();
        auto const model = make_trial_model(config, manifest_, workspace_);
        std::vector<std::byte> memory(model->layout().bytes + 64);
        MutableBytes const state(memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64),
                                 model->layout().bytes);
        model->initialise(state, static_cast<std::uint64_t>(experiment_.seed), trial);
        model->bind(state);
        Result result;
        result.state_bytes = model->layout().bytes;
        auto const count = static_cast<int>(shards_.size());
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            for (int step = 0; step < count; ++step) {
                auto const shard = (trial.value + step) % count;
                model->train_unit(*shards_[static_cast<std::size_t>(shard)],
                                  {static_cast<std::uint64_t>(experiment_.seed), trial, epoch, ShardId(shard)}, [] {});
                result.hashes.push_back(state_hash(state, model->layout()));
            }
            Evaluation sums(manifest_.task, manifest_.outputs);
            for (auto const& shard : valid_) model->evaluate(*shard, {0, model->evaluation_batches(shard->rows())}, sums);
            model->end_epoch(sums.loss() / static_cast<double>(sums.rows()));
            result.validation.push_back(std::move(sums));
        }
        return result;
    }

private:
    Experiment const& experiment_;
    Manifest manifest_;
    Workspace workspace_;
    std::vector<std::unique_ptr<ShardSource>> shards_, valid_;
};

void expect_equal(JobResult const& job, Experiment const& experiment, std::vector<Assignment> const& trials, int shards) {
    Alone alone(experiment);
    std::int64_t hops = 0;
    std::uint64_t hop_bytes = 0;
    for (std::size_t t = 0; t < trials.size(); ++t) {
        auto const expected = alone.train(TrialId(t), trials[t]);
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const found = job.laps.find({TrialId(t), epoch});
            ASSERT_NE(found, job.laps.end());
            auto const& lap = found->second;
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            ASSERT_EQ(lap.units.size(), static_cast<std::size_t>(shards));
            for (std::size_t u = 0; u < lap.units.size(); ++u)
                EXPECT_EQ(to_hex(lap.units[u].state_hash),
                          to_hex(expected.hashes[static_cast<std::size_t>(epoch * shards) + u]))
                    << "trial " << t << " epoch " << epoch << " unit " << u;
            auto const& sums = expected.validation[static_cast<std::size_t>(epoch)];
            EXPECT_EQ(lap.valid_rows, sums.rows());
            EXPECT_EQ(lap.valid_loss, sums.loss()) << to_json(trials[t]).dump() << " epoch " << epoch;
            EXPECT_EQ(lap.valid_correct, sums.correct());
            EXPECT_EQ(std::bit_cast<std::uint64_t>(lap.valid_f1), std::bit_cast<std::uint64_t>(sums.scores().f1)) << "or both NaN";
            EXPECT_EQ(lap.state_bytes, expected.state_bytes);
            hops += lap.hops;
            hop_bytes += static_cast<std::uint64_t>(lap.hops) * expected.state_bytes;
            EXPECT_EQ(lap.hops, hops_per_lap(TrialId(t), job.owners));
        }
    }
    // The byte counter: exactly hops x state size, nothing for stays.
    EXPECT_EQ(job.totals.bytes[static_cast<std::size_t>(Traffic::state)], hop_bytes) << hops << " hops";
}

void run_case(World& world, int shards, int batch_size, std::string const& strategy) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", shards, 30);
    auto const experiment = read_document(document(data.string(), batch_size, strategy));
    auto const trials = all_trials();
    auto const job = run_as_scheduler(world, experiment, shards, trials);
    SCOPED_TRACE(strategy + ", " + std::to_string(world.size() - 1) + " trainers, " + std::to_string(shards) +
                 " shards, batch " + std::to_string(batch_size));
    expect_equal(job, experiment, trials, shards);
    barrier(world);
}

// These trials by mop on two trainers, four shards, data and model as `prepared` leaves the document.
void run_trials(World& world, std::function<void(Json&, std::filesystem::path const&)> const& prepare,
                std::vector<Assignment> const& trials) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    auto described = document((directory.path() / "data").string(), 7, "mop");
    prepare(described, directory.path() / "data");
    auto const experiment = read_document(described);
    expect_equal(run_as_scheduler(world, experiment, 4, trials), experiment, trials, 4);
    barrier(world);
}

class Equivalence : public ::testing::TestWithParam<int> {};

TEST_P(Equivalence, MopEqualsOneProcessAlone) {
    for (int const trainers : {1, 2, 3, 4}) {
        for (int const batch_size : {7, 64})
            on_every_rank(trainers + 1, [&](World& world) { run_case(world, GetParam(), batch_size, "mop"); });
        if (mpi_world()) break;  // the number of trainers is mpirun's
    }
}

INSTANTIATE_TEST_SUITE_P(Shards, Equivalence, ::testing::Values(1, 3, 4, 8));

TEST(Sequential, SequentialEqualsOneProcessAlone) {
    on_every_rank(3, [](World& world) { run_case(world, 3, 7, "sequential"); });
}

// Everything of train and data that a state, an order or a batch could depend on.
TEST(Training, EveryFeatureEqualsOneProcessAlone) {
    auto const object = [](char const* text) { return parse_json_or_throw(text, "test"); };
    std::vector<Assignment> const trials{
        {{"train.optimizer", object(R"({"name": "rmsprop", "lr": 0.01, "momentum": 0.5, "centered": true})")}},
        {{"train.optimizer", object(R"({"name": "adagrad", "lr": 0.05, "lr_decay": 0.01})")}},
        {{"train.accumulate", 3}, {"train.clip_norm", 0.5}},
        {{"train.clip_value", 0.01}, {"train.label_smoothing", 0.1}},
        {{"train.ema", 0.9}},
        {{"train.schedule", object(R"({"name": "plateau", "patience": 0, "threshold": 0.5})")}},
        {{"train.schedule", object(R"({"name": "one_cycle"})")}, {"train.precision", "bf16"}},
        {{"train.class_weights", std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
        {{"model", object(R"({"name": "mlp", "hidden": [9], "batch_norm": true, "dropout": 0.2})")}},
        {{"data.augment", object(R"(["flip", {"name": "crop", "padding": 2}, {"name": "cutout", "size": 3}])")}},
        {{"data.shuffle_rows", 8}},
        {{"data.normalise", false}},
    };
    for (auto const* cache : {"all", "window", "none"})
        on_every_rank(3, [&](World& world) {
            auto const prepare = [&](Json& described, std::filesystem::path const& data) {
                make_tiny_dataset(data, 4, 30);
                described["data"]["cache"] = Json(cache);
            };
            run_trials(world, prepare, trials);
        });
}

// Every model of the zoo, large ones at reduced width, on data that it takes.
struct ZooCase {
    Manifest data;
    std::vector<char const*> models;
};

std::vector<ZooCase> zoo_cases() {
    auto const described = [](Task task, std::vector<std::int64_t> shape, std::int64_t outputs,
                              std::vector<std::int64_t> categories = {}) {
        Manifest manifest;
        manifest.task = task;
        manifest.shape = std::move(shape);
        manifest.outputs = outputs;
        manifest.categories = std::move(categories);
        return manifest;
    };
    return {
        {described(Task::classification, {3, 32, 32}, 4),
         {R"({"name": "logistic"})", R"({"name": "mlp", "hidden": [5]})", R"({"name": "lenet"})",
          R"({"name": "cnn", "channels": [4, 6]})", R"({"name": "resnet20", "width": 2})", R"({"name": "resnet32", "width": 2})",
          R"({"name": "resnet56", "width": 2})", R"({"name": "resnet18", "width": 4, "stem": "cifar"})",
          R"({"name": "resnet34", "width": 4})", R"({"name": "resnet50", "width": 4})",
          R"({"name": "vgg16", "width": 2, "hidden": 8})", R"({"name": "vgg16_bn", "width": 2, "hidden": 8})",
          R"({"name": "mobilenet_v2", "width": 0.1})",
          R"({"name": "vit", "patch": 8, "width": 12, "depth": 2, "heads": 3, "mlp": 16, "dropout": 0.1})"}},
        {described(Task::classification, {7, 3}, 4), {R"({"name": "lstm", "hidden": 6, "layers": 2, "dropout": 0.2})"}},
        {described(Task::language, {9}, 11, {11}), {R"({"name": "gpt", "layers": 2, "width": 8, "heads": 2, "dropout": 0.1})"}},
        {described(Task::multilabel, {5}, 3, {0, 7, 0, 4, 9}), {R"({"name": "wide_and_deep", "embedding": 3, "hidden": [6]})"}},
        {described(Task::regression, {5}, 2), {R"({"name": "mlp", "hidden": [6]})"}},
    };
}

TEST(Zoo, EveryModelEqualsOneProcessAlone) {
    std::set<std::string> covered{"synthetic", "plugin", "torchscript"};  // no training; their own tests
    for (auto const& zoo_case : zoo_cases()) {
        std::vector<Assignment> trials;
        for (auto const* model : zoo_case.models)
            for (auto const* optimizer :
                 {R"({"name": "sgd", "lr": 0.001, "momentum": 0.9})", R"({"name": "adam", "lr": 0.001})"})
                trials.push_back({{"model", parse_json_or_throw(model, "test")},
                                  {"train.optimizer", parse_json_or_throw(optimizer, "test")}});
        for (auto const& trial : trials) covered.insert(trial.front().second.at("name").string());
        on_every_rank(3, [&](World& world) {
            auto const task = zoo_case.data.task;
            auto const prepare = [&](Json& described, std::filesystem::path const& data) {
                make_random_dataset(data, zoo_case.data, 4, 9);
                described["model"] = trials.front().front().second;
                described["train"]["loss"] = Json(task == Task::multilabel   ? "bce_with_logits"
                                                  : task == Task::regression ? "huber"
                                                                             : "cross_entropy");
            };
            run_trials(world, prepare, trials);
        });
    }
    for (auto const& entry : zoo()) EXPECT_TRUE(covered.contains(entry.name)) << entry.name << " is not covered";
}

}  // namespace
}  // namespace hopscotch

int main(int argc, char** argv) { return hopscotch::testing::both_worlds_main(argc, argv); }
