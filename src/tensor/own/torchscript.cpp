// SPDX-License-Identifier: Apache-2.0
#include "tensor/own/torchscript.hpp"

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/model_keys.hpp"
#include "model/zoo/trusted_code.hpp"
#include "tensor/own/checked_module.hpp"

namespace hopscotch {
namespace {

class ScriptModule final : public OwnModule {
public:
    explicit ScriptModule(torch::jit::Module module) : module_(std::move(module)) {}

    NamedTensors parameters() const override { return named(module_.named_parameters(true)); }
    NamedTensors buffers() const override { return named(module_.named_buffers(true)); }
    void set(Mode mode) override { module_.train(mode == Mode::training); }
    double multiply_adds() const override { return 0; }
    bool draws_from_torch() const override { return true; }  // a file does not tell whether its code draws

    at::Tensor forward(at::Tensor const& x, at::Generator*) override {
        // The optimizing executor watches the first passes and may fuse the operators of later ones: a model that hops could
        // then get other bits than one that stays.
        torch::jit::GraphOptimizerEnabledGuard const as_written(false);
        auto const outputs = module_.forward({x});
        if (!outputs.isTensor()) throw ConfigError(fmt::format("forward gives {} instead of one tensor", outputs.tagKind()));
        return outputs.toTensor();
    }

private:
    template <class List>
    static NamedTensors named(List const& list) {
        NamedTensors out;
        for (auto const& item : list) out.emplace_back(item.name, item.value);
        return out;
    }

    torch::jit::Module module_;
};

std::unique_ptr<OwnModule> loaded_script(std::string const& file) {
    require_trusted(file);
    if (!std::filesystem::is_regular_file(file))
        throw ConfigError(
            "no such file (paths are relative to the folder where hopscotch is started); give the path of a .pt");
    try {
        return std::make_unique<ScriptModule>(torch::jit::load(file, at::Device(at::kCPU)));
    } catch (std::exception const& error) {
        throw ConfigError(
            fmt::format("is not a TorchScript file, or damaged ({}); write it with torch.jit.script(model).save(file)",
                        reason_of(error)));
    }
}

}  // namespace

std::unique_ptr<Network> make_torchscript(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const before = problems.entries().size();
    ObjectReader reader(model.arguments, "/model", problems);
    reader.stand_beside(k_model_keys);
    reader.finish();
    if (problems.entries().size() != before) return nullptr;
    return make_own_network(model, data, [file = model.file](Problems&) { return loaded_script(file); }, problems);
}

}  // namespace hopscotch
