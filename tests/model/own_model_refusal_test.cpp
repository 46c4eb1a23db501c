// SPDX-License-Identifier: Apache-2.0
// What is refused before anything starts: files that are not models, models of other versions, and modules whose state would
// not be in the state. Each complaint names the file and what to do.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "model/own_model.hpp"

namespace hopscotch::testing {
namespace own_model_refusal_test {

DataSchema const k_digits{Task::classification, {1, 8, 8}, 10, 70, {}};

std::string refused(TrialConfig const& config, DataSchema const& data = k_digits) {
    auto text = complaints(config, data);
    auto const start = "e.json: /model/file: " + config.model.file + ": ";
    if (!text.starts_with(start)) return text;
    return text.substr(start.size());
}

std::string refused(std::string const& plugin) { return refused(own("plugin", k_plugins + plugin)); }

std::string damaged(std::string const& name, std::string const& bytes) {
    auto path = (std::filesystem::temp_directory_path() / ("hopscotch-own-" + std::to_string(::getpid()) + name)).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

std::string example_bytes() {
    std::ifstream file(k_example_script, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Plugin, FilesThatAreNone) {
    EXPECT_EQ(refused("nothing.so"),
              "no such file (paths are relative to the folder where hopscotch is started); build it, or give its path");
    EXPECT_EQ(refused(own("plugin", "")), "e.json: /model/file: missing (required); see docs/own-model.md");
    EXPECT_EQ(refused("no_plugin.so"),
              "has no function hopscotch_plugin (every plug-in has one); define it as include/hopscotch/model.hpp shows");
    auto const text = damaged("text.so", "no library");
    auto const said = refused(own("plugin", text));
    EXPECT_TRUE(said.starts_with("cannot be loaded (" + text)) << said;
    EXPECT_TRUE(said.ends_with("); build a shared object as docs/own-model.md shows")) << said;
    std::filesystem::remove(text);
}

// A library's constructor runs when it is loaded: dlopen() with RTLD_NOLOAD tells whether it was.
TEST(OwnFiles, NothingIsLoadedThatNobodyTrusts) {
    auto const folder = std::filesystem::temp_directory_path() / ("hopscotch-trust-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    Workspace workspace("cpu", 1);
    for (auto const& [model, from] :
         {std::pair{"plugin", k_plugins + "plugin_model.so"}, {"torchscript", k_example_script}}) {
        auto const file = (folder / model).string();
        std::filesystem::copy_file(from, file);
        auto config = model == std::string("plugin") ? example() : script();
        config.model.file = file;
        auto const said = refused(config);
        EXPECT_TRUE(said.starts_with("is not executed (your experiment does not name this file as model.file")) << said;
        EXPECT_EQ(::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << model;
        EXPECT_THROW(make_trial_model(config, plain_manifest({1, 8, 8}, 10, 4, Task::classification), workspace), Error);
        trust_code({file});
        EXPECT_EQ(refused(config), "") << model;
    }
    std::filesystem::remove_all(folder);
}

TEST(Plugin, OtherVersions) {
    std::string const again = "compile it again, as docs/own-model.md shows, with this version's header and LibTorch";
    EXPECT_EQ(refused("other_interface.so"), "has plug-in interface 99 (this hopscotch has 2); " + again);
    auto const said = refused("other_torch.so");
    EXPECT_TRUE(said.starts_with("was compiled with LibTorch 1.13.1 (this hopscotch with 2.")) << said;
    EXPECT_TRUE(said.ends_with(again)) << said;
}

TEST(Plugin, ArgumentsAreReadStrictly) {
    auto const said = [](Json arguments) {
        return complaints(own("plugin", k_plugins + "plugin_model.so", std::move(arguments)), k_digits);
    };
    EXPECT_EQ(said(Json::object({{"dropuot", 0.1}})), "e.json: /model/dropuot: unknown key; did you mean \"dropout\"?");
    EXPECT_EQ(said(Json::object({{"dropout", "much"}})), "e.json: /model/dropout: expected a number (got a string)");
    EXPECT_EQ(said(Json::object({{"dropout", 1.0}})),
              "e.json: /model/file: " + k_plugins +
                  "plugin_model.so: cannot be made (dropout must be at least 0 and less than 1)");
    EXPECT_EQ(said(Json::object({{"channels", std::vector<int>{3, 5}}})), "");
    EXPECT_EQ(complaints(own("plugin", k_plugins + "odd_model.so",
                             Json::object({{"odd", "json"}, {"nested", Json::object({{"a", std::vector<int>{1, 2}}})}})),
                         k_digits),
              "");
}

TEST(Plugin, ModelsThatCannotTrain) {
    std::vector<std::pair<char const*, char const*>> const all{
        {"", ""},
        {"null", "makes no model (its function returns null)"},
        {"make_throws", "cannot be made (odd: no such thing)"},
        {"make_throws_number", "cannot be made (it threw something that is not a std::exception)"},
        {"no_parameters", "has no parameters that require a gradient (there is nothing to train); give it at least one"},
        {"outputs", "forward makes [2, 11] of 2 rows of shape 1x8x8 (the dataset has 10 outputs: [2, 10])"},
        {"throws", "forward fails on rows of shape 1x8x8 (not today)"},
        {"throws_number", "forward throws something that is not a std::exception"},
        {"detached", "forward gives outputs without gradients (detached, or computed under no_grad); keep the graph"},
        {"cost", "multiply_adds() gives nan (it is a cost); return at least 0"},
        {"double",
         "parameter extra is Double (states hold float32); make the model float32; train.precision says what it "
         "computes in"},
        {"bool", "buffer mask is Bool (states hold float32 and int64); make it one of these, or no buffer"},
        {"shared_memory",
         "first.bias and again share their memory (in the state each has its own); use one tensor under one name"}};
    for (auto const& [what, why] : all) EXPECT_EQ(refused(odd(what)), why) << what;
}

TEST(TorchScript, FilesThatAreNone) {
    EXPECT_EQ(refused(script("nothing.pt")),
              "no such file (paths are relative to the folder where hopscotch is started); give the path of a .pt");
    auto const whole = example_bytes();
    ASSERT_GT(whole.size(), 1000U);
    for (auto const& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
             {"empty.pt", ""}, {"text.pt", "no model"}, {"cut.pt", whole.substr(0, whole.size() / 2)}}) {
        auto const file = damaged(name, bytes);
        auto const said = refused(script(file));
        EXPECT_TRUE(said.starts_with("is not a TorchScript file, or damaged (")) << said;
        EXPECT_TRUE(said.ends_with("); write it with torch.jit.script(model).save(file)")) << said;
        EXPECT_EQ(said.find('\n'), said.npos) << said;
        std::filesystem::remove(file);
    }
}

TEST(TorchScript, FilesForOtherData) {
    EXPECT_EQ(refused(script()), "");
    auto const wide = refused(script(), {Task::classification, {1, 12, 12}, 10, 70, {}});
    EXPECT_TRUE(wide.starts_with("forward fails on rows of shape 1x12x12 (")) << wide;
    EXPECT_NE(wide.find("mat1 and mat2 shapes cannot be multiplied"), wide.npos) << wide;
    EXPECT_EQ(wide.find('\n'), wide.npos) << wide;
    EXPECT_EQ(refused(script(), {Task::classification, {1, 8, 8}, 3, 70, {}}),
              "forward makes [2, 10] of 2 rows of shape 1x8x8 (the dataset has 3 outputs: [2, 3])");
    EXPECT_EQ(complaints(own("torchscript", k_example_script, Json::object({{"width", 3}})), k_digits),
              "e.json: /model/width: unknown key (no key is known here)");
}

TEST(TorchScript, ScriptsThatCannotTrain) {
    auto const said = [](std::string const& name, Tensors const& tensors, std::string const& body) {
        auto const file = written_script(name, tensors, "def forward(self, x):\n" + body);
        auto out = refused(script(file));
        std::filesystem::remove(file);
        return out;
    };
    std::string const linear = "    return torch.matmul(x.flatten(1), self.w)\n";
    auto const w = [] { return at::zeros({64, 10}); };
    EXPECT_EQ(said("fine", {{{"w", w()}}, {}}, linear), "");
    EXPECT_EQ(said("pair", {{{"w", w()}}, {}}, "    return x, self.w\n"),
              "forward fails on rows of shape 1x8x8 (forward gives Tuple instead of one tensor)");
    EXPECT_EQ(said("replaced", {{{"w", w()}}, {{"seen", at::zeros({1})}}}, "    self.seen = self.seen + 1\n" + linear),
              "forward replaces seen (its state would be lost); change it in place, with add_ or copy_");
    std::string const counted = "self.seen.add_(1)\n";
    EXPECT_EQ(said("always", {{{"w", w()}}, {{"seen", at::zeros({1})}}}, "    " + counted + linear),
              "forward changes seen in evaluation (a validation must leave the state as it is); change it in training only");
    auto const dropout = [&](std::string const& name, std::string const& on) {
        return said(name, {{{"w", at::ones({64, 10})}}, {}},
                    "    return torch.matmul(torch.dropout(x.flatten(1), 0.5, " + on + "), self.w)\n");
    };
    EXPECT_EQ(dropout("traced_evaluating", "False"), "");
    // Rows that are none of the data's: the logarithm of some is NaN, and no table has an entry for them.
    EXPECT_EQ(said("logarithms", {{{"w", at::ones({64, 10})}}, {}},
                   "    return torch.matmul(torch.log(x.flatten(1)), self.w)\n"),
              "");
    EXPECT_EQ(said("table", {{{"w", at::ones({200, 10})}}, {}},
                   "    return torch.index_select(self.w, 0, x.flatten(1)[:, 0].long())\n"),
              "");
    EXPECT_EQ(dropout("traced_training", "True"),
              "forward gives other outputs for the same rows in evaluation (it draws random numbers, as the trace of a "
              "network with dropout in training mode does); draw in training only, or write the file with "
              "torch.jit.script");
    auto const tied = w();
    EXPECT_EQ(said("tied", {{{"w", tied}, {"v", tied}}, {}}, linear), "");
    EXPECT_EQ(said("bool", {{{"w", w()}}, {{"mask", at::ones({1}).to(at::kBool)}}}, linear),
              "buffer mask is Bool (states hold float32 and int64); make it one of these, or no buffer");
}

TEST(OwnModels, WhichNeedAProcessOfTheirOwn) {
    EXPECT_FALSE(draws_from_torch(example().model, k_digits));
    EXPECT_TRUE(draws_from_torch(odd("dropout").model, k_digits));
    EXPECT_TRUE(draws_from_torch(script().model, k_digits));
    EXPECT_FALSE(draws_from_torch(trial_config("lenet").model, k_digits));
}

TEST(OwnModels, CostWhatTheySayOrTheirParameters) {
    double const pixels = 64;
    auto const example_cost = 9 * pixels * 4 + 9 * pixels / 4 * 4 * 6 + 6 * 4 * 10;
    EXPECT_EQ(flops_per_row(example().model, k_digits), 6 * example_cost);
    EXPECT_EQ(flops_per_row(script().model, k_digits), 6.0 * (72 + 16 + 128 * 10 + 10));
}

}  // namespace own_model_refusal_test
}  // namespace hopscotch::testing
