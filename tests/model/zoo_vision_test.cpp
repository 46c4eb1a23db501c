// SPDX-License-Identifier: Apache-2.0
// The networks for images: counts that torchvision and the papers give, names, costs, arguments, and that they learn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace zoo_vision_test {

struct Counts {
    std::int64_t parameters = 0, floats = 0, batch_norms = 0;
    bool operator==(Counts const&) const = default;
};

std::ostream& operator<<(std::ostream& out, Counts const& c) {
    return out << c.parameters << " parameters, " << c.floats << " floats in buffers, " << c.batch_norms << " batch norms";
}

Manifest images(std::int64_t side, std::int64_t outputs) {
    return plain_manifest({3, side, side}, outputs, 100, Task::classification);
}

// No weights are allocated.
StateLayout layout_of(TrialConfig const& config, Manifest const& manifest) {
    return Trial(config, manifest)->state->layout();
}

Counts counts(StateLayout const& layout) {
    Counts out;
    for (auto const& tensor : layout.tensors) {
        auto const floats = static_cast<std::int64_t>(tensor.bytes / sizeof(float));
        if (tensor.block == Block::parameter) out.parameters += floats;
        if (tensor.block != Block::buffer) continue;
        (tensor.element == Element::int64 ? out.batch_norms : out.floats) += tensor.element == Element::int64 ? 1 : floats;
    }
    return out;
}

TrialConfig with(char const* model, std::initializer_list<std::pair<std::string, Json>> arguments) {
    return trial_config(model, Json::object(arguments));
}

struct Published {
    TrialConfig config;
    std::int64_t side, outputs;
    Counts counts;
    double multiply_adds;  // 0: not published
};

std::vector<Published> published() {
    return {
        {trial_config("resnet18"), 224, 1000, {11689512, 9600, 20}, 1.814e9},
        {trial_config("resnet34"), 224, 1000, {21797672, 17024, 36}, 3.664e9},
        {trial_config("resnet50"), 224, 1000, {25557032, 53120, 53}, 4.089e9},
        {with("resnet18", {{"stem", "cifar"}}), 32, 10, {11173962, 9600, 20}, 0.5556e9},
        {with("resnet50", {{"stem", "cifar"}}), 32, 10, {23520842, 53120, 53}, 0},
        {trial_config("resnet20"), 32, 10, {269722, 1376, 19}, 40.55e6},
        {trial_config("resnet32"), 32, 10, {464154, 2272, 31}, 0},
        {trial_config("resnet56"), 32, 10, {853018, 4064, 55}, 125.5e6},
        {trial_config("vgg16"), 224, 1000, {138357544, 0, 0}, 15.47e9},
        {trial_config("vgg16_bn"), 224, 1000, {138365992, 8448, 13}, 15.47e9},
        {trial_config("mobilenet_v2"), 224, 1000, {3504872, 34112, 52}, 0.3008e9},
        {with("mobilenet_v2", {{"width", 0.35}}), 224, 1000, {1677128, 14080, 52}, 0},
        {trial_config("cnn"), 32, 10, {113962, 448, 3}, 10.34e6},
    };
}

TEST(Vision, CountsAreThePublishedOnes) {
    for (auto const& p : published()) {
        auto const manifest = images(p.side, p.outputs);
        EXPECT_EQ(counts(layout_of(p.config, manifest)), p.counts) << p.config.model.name;
        if (p.multiply_adds == 0) continue;
        EXPECT_NEAR(flops_per_row(p.config, schema_of(manifest)) / 6 / p.multiply_adds, 1, 0.002) << p.config.model.name;
    }
}

using Shape = std::vector<std::int64_t>;

TEST(Vision, NamesAndShapesAreTorchvisions) {
    auto const resnet = layout_of(trial_config("resnet50"), images(224, 1000));
    EXPECT_EQ(resnet.tensors.front().name, "conv1.weight");
    EXPECT_EQ(resnet.find("layer3.0.conv2.weight").shape, (Shape{256, 256, 3, 3}));
    EXPECT_EQ(resnet.find("layer4.0.downsample.0.weight").shape, (Shape{2048, 1024, 1, 1}));
    EXPECT_EQ(resnet.find("layer1.0.downsample.1.running_var").shape, (Shape{256}));
    EXPECT_EQ(resnet.find("bn1.num_batches_tracked").element, Element::int64);
    EXPECT_EQ(resnet.find("fc.weight").shape, (Shape{1000, 2048}));
    auto const vgg = layout_of(trial_config("vgg16_bn"), images(224, 1000));
    EXPECT_EQ(vgg.find("features.41.bias").shape, (Shape{512}));
    EXPECT_EQ(vgg.find("classifier.0.weight").shape, (Shape{4096, 25088}));
    EXPECT_EQ(vgg.find("classifier.6.weight").shape, (Shape{1000, 4096}));
    auto const mobilenet = layout_of(trial_config("mobilenet_v2"), images(224, 1000));
    EXPECT_EQ(mobilenet.find("features.0.0.weight").shape, (Shape{32, 3, 3, 3}));
    EXPECT_EQ(mobilenet.find("features.1.conv.1.weight").shape, (Shape{16, 32, 1, 1}));
    EXPECT_EQ(mobilenet.find("features.2.conv.1.0.weight").shape, (Shape{96, 1, 3, 3}));
    EXPECT_EQ(mobilenet.find("features.18.0.weight").shape, (Shape{1280, 320, 1, 1}));
    EXPECT_EQ(mobilenet.find("classifier.1.bias").shape, (Shape{1000}));
    auto const cnn = layout_of(trial_config("cnn"), images(32, 10));
    EXPECT_EQ(cnn.find("layers.2.conv.weight").shape, (Shape{128, 64, 3, 3}));
    EXPECT_EQ(cnn.find("layers.2.bn.weight").shape, (Shape{128}));
    EXPECT_EQ(cnn.find("fc.weight").shape, (Shape{10, 2048}));
}

double standard_deviation(float const* values, std::size_t n) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i], squares += static_cast<double>(values[i]) * values[i];
    auto const mean = sum / static_cast<double>(n);
    return std::sqrt(squares / static_cast<double>(n) - mean * mean);
}

// torchvision's start: N(0, 2 / (channels out x kernel)), also in depthwise convolutions; N(0, 0.01^2) before the outputs.
TEST(Vision, WeightsStartAsInTorchvision) {
    Trial trial(trial_config("mobilenet_v2"), images(32, 10));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    for (auto const& [name, expected] :
         {std::pair("features.17.conv.1.0.weight", std::sqrt(2.0 / (960 * 9))),
          std::pair("features.18.0.weight", std::sqrt(2.0 / 1280)), std::pair("classifier.1.weight", 0.01)}) {
        auto const& tensor = trial->state->layout().find(name);
        auto const n = tensor.bytes / sizeof(float);
        EXPECT_NEAR(standard_deviation(state.floats() + tensor.offset / sizeof(float), n) / expected, 1, 0.04) << name;
    }
    EXPECT_EQ(state.floats()[trial->state->layout().find("classifier.1.bias").offset / sizeof(float)], 0);
}

// Whatever comes in, a last batch norm of scale 0 and shift 100 leaves 6 in every channel that the classifier adds up.
TEST(Vision, MobileNetClipsAtSix) {
    Trial trial(with("mobilenet_v2", {{"width", 0.1}}), images(32, 2));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    for (auto const& [name, value] : {std::pair("features.18.1.weight", 0.0F), std::pair("features.18.1.bias", 100.0F),
                                      std::pair("classifier.1.weight", 1.0F)}) {
        auto const& tensor = trial->state->layout().find(name);
        std::fill_n(state.floats() + tensor.offset / sizeof(float), tensor.bytes / sizeof(float), value);
    }
    trial->state->bind(state.bytes());
    for (auto const output : trial->evaluation->predict(*source(random_shard(trial.manifest, 3, 1)), {0, 1}))
        EXPECT_EQ(output, 6 * 1280);
}

// Every family, as small as it gets, and what else its arguments can change.
std::vector<TrialConfig> small_models() {
    return {with("cnn", {{"channels", Json(Json::Array{4, 6})}, {"dropout", 0.2}}),
            with("cnn", {{"channels", Json(Json::Array{4})}, {"batch_norm", false}}),
            with("resnet20", {{"width", 3}}),
            with("resnet18", {{"width", 4}, {"stem", "cifar"}}),
            with("resnet50", {{"width", 2}}),
            with("vgg16", {{"width", 4}, {"hidden", 16}}),
            with("vgg16_bn", {{"width", 2}, {"hidden", 16}}),
            with("mobilenet_v2", {{"width", 0.1}, {"stem", "cifar"}})};
}

Manifest tiny_images() { return plain_manifest({3, 32, 33}, 3, 24, Task::classification); }

double summed_loss(Trial& trial, Shard const& shard) {
    Evaluation sums(trial.manifest.task, trial.manifest.outputs);
    trial->evaluation->evaluate(*source(shard), {0, trial->evaluation->evaluation_batches(shard.rows)}, sums);
    EXPECT_EQ(sums.rows(), shard.rows);
    return sums.loss();
}

TEST(Vision, EveryParameterLearnsAndTheLossFalls) {
    for (auto config : small_models()) {
        auto const which = config.model.name + " " + config.model.arguments.dump();
        config.train.batch_size = 8;
        config.train.optimizer.kind = OptimizerKind::adam;
        config.train.optimizer.lr = 0.002;
        Trial trial(config, tiny_images());
        auto const shard = random_shard(trial.manifest, 24, 5);
        AlignedBlock state(trial->state->layout().bytes), start(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->initialise(start.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        auto first = 0.0, last = 0.0;
        for (int epoch = 0; epoch < 6; ++epoch) {
            last = trial->training->train_unit(*source(shard), unit(0, epoch, 0), {}).loss;
            if (epoch == 0) first = last;
        }
        EXPECT_LT(last, first) << which;
        EXPECT_TRUE(std::isfinite(summed_loss(trial, shard))) << which;
        for (auto const& tensor : trial->state->layout().tensors) {
            if (tensor.block != Block::parameter && tensor.block != Block::buffer) continue;
            EXPECT_NE(std::memcmp(state.bytes().data() + tensor.offset, start.bytes().data() + tensor.offset, tensor.bytes),
                      0)
                << which << ": " << tensor.name << " has not moved";
        }
    }
}

TEST(Vision, TakesImagesOfAnyShapeItSays) {
    for (auto const& [config, shape] :
         std::vector<std::pair<TrialConfig, Shape>>{{with("cnn", {{"channels", Json(Json::Array{2, 2, 2})}}), {1, 8, 9}},
                                                    {with("resnet20", {{"width", 2}}), {1, 8, 8}},
                                                    {with("resnet20", {{"width", 2}}), {4, 9, 7}},
                                                    {with("resnet18", {{"width", 2}}), {1, 33, 40}},
                                                    {with("vgg16", {{"width", 1}, {"hidden", 4}}), {1, 32, 40}},
                                                    {with("mobilenet_v2", {{"width", 0.1}}), {1, 28, 28}}}) {
        Trial trial(config, plain_manifest(shape, 5, 20, Task::classification));
        auto const shard = random_shard(trial.manifest, 20, 1);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        EXPECT_EQ(trial->training->train_unit(*source(shard), unit(0, 0, 0), {}).rows, 20) << config.model.name;
        EXPECT_EQ(trial->evaluation->predict(*source(shard), {0, trial->evaluation->evaluation_batches(20)}).size(), 100U)
            << config.model.name;
        EXPECT_TRUE(trial->state->finite()) << config.model.name;
    }
}

TEST(Vision, TrainsUnderAutocast) {
    for (auto config : {with("cnn", {}), with("resnet20", {{"width", 4}}), with("mobilenet_v2", {{"width", 0.1}})}) {
        config.train.arithmetic.precision = Precision::bf16;
        Trial trial(config, tiny_images());
        auto const shard = random_shard(trial.manifest, 14, 5);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        auto const loss = trial->training->train_unit(*source(shard), unit(0, 0, 0), {}).loss;
        EXPECT_TRUE(std::isfinite(loss) && loss > 0) << config.model.name;
    }
}

void expect_complaint(TrialConfig const& config, Manifest const& manifest, std::string const& expected) {
    Problems problems("x.json");
    check_model(config, schema_of(manifest), problems);
    EXPECT_NE(problems.text().find(expected), std::string::npos) << "expected: " << expected << "\ngot: " << problems.text();
    EXPECT_THROW(Trial(config, manifest), ConfigError);
}

TEST(Vision, RefusesWhatDoesNotFit) {
    expect_complaint(with("cnn", {{"channels", Json(Json::Array{8, 0})}}), tiny_images(),
                     "/model/channels: must be at least 1");
    expect_complaint(with("cnn", {{"chanels", 1}}), tiny_images(), "did you mean \"channels\"?");
    expect_complaint(with("cnn", {{"dropout", 1}}), tiny_images(), "/model/dropout");
    expect_complaint(trial_config("cnn"), plain_manifest({1, 7, 8}, 3, 9, Task::classification), "at least 8x8");
    expect_complaint(with("resnet20", {{"stem", "cifar"}}), tiny_images(), "/model/stem: unknown key");
    expect_complaint(with("resnet18", {{"stem", "cifr"}}), tiny_images(), "did you mean \"cifar\"?");
    expect_complaint(with("resnet18", {{"width", 0}}), tiny_images(), "/model/width");
    expect_complaint(trial_config("resnet50"), plain_manifest({64}, 3, 9, Task::classification),
                     "import with --shape 1x8x8");
    expect_complaint(trial_config("vgg16"), digits(9), "vgg16 needs images of at least 32x32");
    expect_complaint(with("vgg16_bn", {{"hidden", 0}}), tiny_images(), "/model/hidden");
    expect_complaint(with("mobilenet_v2", {{"width", 0}}), tiny_images(), "/model/width");
    expect_complaint(with("mobilenet_v2", {{"stem", "none"}}), tiny_images(), "/model/stem");
}

}  // namespace zoo_vision_test
}  // namespace hopscotch::testing
