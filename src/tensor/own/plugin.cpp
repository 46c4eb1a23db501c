// SPDX-License-Identifier: Apache-2.0
#include "tensor/own/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "experiment/model_keys.hpp"
#include "hopscotch/model.hpp"
#include "model/zoo/trusted_code.hpp"
#include "tensor/own/checked_module.hpp"
#include "tensor/own/own_network.hpp"

namespace hopscotch {
namespace {

// From interface 2 on a plug-in has metrics.
constexpr int k_oldest_interface = 1, k_with_metrics = 2;

constexpr char const* k_build_again =
    "compile it again, as docs/own-model.md shows, with this version's header and LibTorch";

void check_versions(Plugin const& plugin) {
    if (plugin.interface < k_oldest_interface || plugin.interface > k_plugin_interface)
        throw ConfigError(fmt::format("has plug-in interface {} (this hopscotch has {}); {}", plugin.interface,
                                      k_plugin_interface, k_build_again));
    if (std::string_view(plugin.torch) != TORCH_VERSION)
        throw ConfigError(fmt::format("was compiled with LibTorch {} (this hopscotch with {}); {}", plugin.torch,
                                      TORCH_VERSION, k_build_again));
    if (plugin.make == nullptr) throw ConfigError("names no function that makes the model (Plugin::make is null)");
}

// RTLD_LOCAL: two plug-ins may use the same names. Never closed: objects of its classes may still exist.
Plugin const& loaded(std::string const& file) {
    require_trusted(file);
    auto const path = std::filesystem::absolute(file);  // a name without a slash would be searched for as a library
    if (!std::filesystem::is_regular_file(path))
        throw ConfigError(
            "no such file (paths are relative to the folder where hopscotch is started); build it, or give its path");
    auto* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw ConfigError(
            fmt::format("cannot be loaded ({}); build a shared object as docs/own-model.md shows", ::dlerror()));
    auto* const symbol = ::dlsym(library, "hopscotch_plugin");
    if (symbol == nullptr)
        throw ConfigError(
            "has no function hopscotch_plugin (every plug-in has one); define it as include/hopscotch/model.hpp shows");
    auto const* const plugin = reinterpret_cast<decltype(&hopscotch_plugin)>(symbol)();
    if (plugin == nullptr) throw ConfigError("hopscotch_plugin() returns null");
    check_versions(*plugin);
    return *plugin;
}

// Reading an argument makes its key known, so that unread keys can be reported.
class Arguments final : public ModelArguments {
public:
    Arguments(Json const& arguments, Problems& problems) : arguments_(arguments), reader_(arguments, "/model", problems) {
        reader_.stand_beside(k_model_keys);
    }

    bool flag(std::string const& key, bool fallback) override { return read(key, fallback); }
    std::int64_t integer(std::string const& key, std::int64_t fallback) override { return read(key, fallback); }
    double number(std::string const& key, double fallback) override { return read(key, fallback); }
    std::string text(std::string const& key, std::string const& fallback) override { return read(key, fallback); }
    std::vector<std::int64_t> integers(std::string const& key, std::vector<std::int64_t> const& fallback) override {
        return read(key, fallback);
    }
    std::vector<std::string> texts(std::string const& key, std::vector<std::string> const& fallback) override {
        return read(key, fallback);
    }
    std::string json() override {
        for (auto const& member : arguments_.object()) reader_.take(member.key);
        return arguments_.dump();
    }

    void finish() { reader_.finish(); }

private:
    template <class T>
    T read(std::string const& key, T value) {
        reader_.read(key, value);
        return value;
    }

    Json const& arguments_;
    ObjectReader reader_;
};

// The functions of the plug-in, with errors that name the metric.
template <class Function>
auto named(std::string const& file, std::string const& metric, Function function) {
    return [what = file + ": " + metric, function](auto const&... arguments) {
        try {
            return function(arguments...);
        } catch (std::exception const& error) {
            throw Error(fmt::format("{}: {}", what, reason_of(error)));
        } catch (...) {
            throw Error(what + " threw something that is not a std::exception");
        }
    };
}

std::vector<NetworkMetric> metrics_of(Plugin const& plugin, std::string const& file) {
    std::vector<NetworkMetric> out;
    if (plugin.interface < k_with_metrics) return out;
    for (auto const& metric : plugin.metrics) {
        NetworkMetric made{metric.name, metric.better == Better::larger ? Mode::max : Mode::min, metric.sums, {}, {}};
        if (metric.add != nullptr)
            made.add = named(file, metric.name, [add = metric.add](auto const& outputs, auto const& answers, auto sums) {
                add(outputs.to(at::kCPU).contiguous(), answers.to(at::kCPU).contiguous(), sums);
            });
        if (metric.value != nullptr) made.value = named(file, metric.name, metric.value);
        out.push_back(std::move(made));
    }
    return out;
}

class PluginModule final : public OwnModule {
public:
    PluginModule(std::shared_ptr<OwnModel> model, std::vector<NetworkMetric> metrics)
        : model_(std::move(model)), metrics_(std::move(metrics)) {}

    NamedTensors parameters() const override { return named(model_->named_parameters(true)); }
    NamedTensors buffers() const override { return named(model_->named_buffers(true)); }
    void set(Mode mode) override { model_->train(mode == Mode::training); }
    at::Tensor forward(at::Tensor const& x, at::Generator* noise) override { return model_->forward(x, noise); }
    double multiply_adds() const override { return model_->multiply_adds(); }
    bool draws_from_torch() const override { return model_->randomness() == Randomness::torch; }
    std::vector<NetworkMetric> metrics() const override { return metrics_; }

private:
    static NamedTensors named(torch::OrderedDict<std::string, at::Tensor> const& tensors) {
        NamedTensors out;
        for (auto const& item : tensors)
            if (item.value().defined()) out.emplace_back(item.key(), item.value());
        return out;
    }

    std::shared_ptr<OwnModel> model_;
    std::vector<NetworkMetric> metrics_;
};

std::unique_ptr<OwnModule> made(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const& plugin = loaded(model.file);
    Arguments arguments(model.arguments, problems);
    auto network = plugin.make({data.shape, data.outputs, std::string(name_of(data.task)), data.categories, arguments});
    arguments.finish();
    if (!network) throw ConfigError("makes no model (its function returns null)");
    return std::make_unique<PluginModule>(std::move(network), metrics_of(plugin, model.file));
}

}  // namespace

std::unique_ptr<Network> make_plugin(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    return make_own_network(model, data, [model, data](Problems& found) { return made(model, data, found); }, problems);
}

}  // namespace hopscotch
