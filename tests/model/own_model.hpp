// SPDX-License-Identifier: Apache-2.0
// What the tests of plug-ins and TorchScript files share: where the plug-ins are, and scripts written on the spot.
#pragma once
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_view.hpp"
#include "data/dataset/shard.hpp"
#include "model/fixture.hpp"
#include "model/state/state.hpp"
#include "model/trial/trial_state.hpp"
#include "model/zoo/trusted_code.hpp"

namespace hopscotch::testing {

inline std::string const k_plugins = std::string(HOPSCOTCH_BINARY_DIR) + "/tests/plugins/";
inline std::string const k_example_script = std::string(HOPSCOTCH_SOURCE_DIR) + "/examples/torchscript_model.pt";

inline TrialConfig own(std::string const& name, std::string file, Json arguments = Json(Json::Object{})) {
    auto config = trial_config(name, std::move(arguments));
    trust_code({file});
    config.model.file = std::move(file);
    return config;
}
inline TrialConfig example(double dropout = 0.3) {
    return own("plugin", k_plugins + "plugin_model.so",
               Json::object({{"channels", std::vector<int>{4, 6}}, {"dropout", dropout}}));
}
inline TrialConfig odd(std::string const& what) {
    return own("plugin", k_plugins + "odd_model.so", Json::object({{"odd", what}}));
}
inline TrialConfig script(std::string const& file = k_example_script) { return own("torchscript", file); }

// Writes a module with these tensors and this source; returns the path.
struct Tensors {
    std::vector<std::pair<std::string, at::Tensor>> parameters, buffers;
};
inline std::string written_script(std::string const& name, Tensors const& tensors, std::string const& source) {
    torch::jit::Module module("M");
    for (auto const& [key, value] : tensors.parameters) module.register_parameter(key, value.requires_grad_(), false);
    for (auto const& [key, value] : tensors.buffers) module.register_buffer(key, value);
    module.define(source);
    auto const path =
        (std::filesystem::temp_directory_path() / ("hopscotch-own-" + std::to_string(::getpid()) + name + ".pt")).string();
    module.save(path);
    return path;
}

inline std::string complaints(TrialConfig const& config, DataSchema const& data) {
    Problems problems("e.json");
    check_model(config, data, problems);
    return problems.text();
}

}  // namespace hopscotch::testing
