// SPDX-License-Identifier: Apache-2.0
#include "tensor/own/own_network.hpp"
#include "tensor/network/noise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <optional>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "tensor/network/gradient_hook.hpp"
#include "tensor/own/checked_module.hpp"

namespace hopscotch {
namespace {

// A module that draws from both generators should not see the same numbers twice.
constexpr std::uint64_t k_torchs_own = 0x9E3779B97F4A7C15;

// Shared by the process, not owned by a trainer: torch's generator, from which constructors draw, and the results of checks.
// A check costs a construction and two passes, and a search asks about every trial several times.
struct Shared {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<OwnDescription const>> checked;
};

Shared& shared() {
    static Shared all;
    return all;
}

std::string key_of(ModelConfig const& model, DataSchema const& data) {
    return fmt::format("{}\n{}\n{}\n{} {} {} {}", model.name, model.file, model.arguments.dump(), fmt::join(data.shape, "x"),
                       data.outputs, static_cast<int>(data.task), fmt::join(data.categories, ","));
}

class OwnNetwork final : public Network {
public:
    OwnNetwork(std::string file, std::shared_ptr<OwnDescription const> description, MakeOwnModule make)
        : file_(std::move(file)), description_(std::move(description)), make_(std::move(make)) {}

    std::vector<ParameterSpec> const& parameters() const override { return description_->parameters; }
    std::vector<BufferSpec> const& buffers() const override { return description_->buffers; }
    double multiply_adds() const override { return description_->multiply_adds; }
    bool draws_from_torch() const override { return description_->draws_from_torch; }
    char const* against_graphs() const override { return "a network of your own may compute on the host between kernels"; }

    std::vector<NetworkMetric> const& metrics() const override { return description_->metrics; }

    std::optional<std::vector<at::Tensor>> initial_values(std::uint64_t key) override {
        auto const module = made(key);
        std::vector<at::Tensor> values;
        auto const tensors = tensors_of(*module);
        for (auto const* list : {&tensors.parameters, &tensors.buffers})
            for (auto const& [name, tensor] : *list) values.push_back(tensor.detach().contiguous());
        return values;
    }

    void bind(BoundTensors tensors) override {
        if (!module_) {
            module_ = made(0);  // its values are never read
            tensors_ = tensors_of(*module_);
        }
        for (std::size_t i = 0; i < tensors_.parameters.size(); ++i) {
            auto& parameter = tensors_.parameters[i].second;
            parameter.set_requires_grad(tensors.gradients[i].defined());  // not frozen
            parameter.set_data(tensors.parameters[i]);
            parameter.mutable_grad() = tensors.gradients[i];
            bool const told = tensors.on_gradient && tensors.gradients[i].defined();
            if (told) on_accumulated(parameter, [tell = tensors.on_gradient, i] { tell(i); });
        }
        for (std::size_t i = 0; i < tensors_.buffers.size(); ++i) tensors_.buffers[i].second.set_data(tensors.buffers[i]);
    }

    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto const mode = pass.training() ? OwnModule::Mode::training : OwnModule::Mode::evaluation;
        if (mode_ != mode) module_->set(mode);
        mode_ = mode;
        if (draws_from_torch()) seed_torch(x.device(), pass.training() ? pass.noise->key() ^ k_torchs_own : 0);
        try {
            return module_->forward(x, pass.training() ? &pass.noise->generator() : nullptr);
        } catch (std::exception const& error) {
            throw Error(fmt::format("{}: {}", file_, reason_of(error)));
        } catch (...) {
            throw Error(fmt::format("{}: forward threw something that is not a std::exception", file_));
        }
    }

    void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) override {
        outputs.backward(output_gradient);
    }

private:
    std::unique_ptr<OwnModule> made(std::uint64_t key) const {
        std::lock_guard const alone(shared().mutex);
        seed_torch(at::kCPU, key);
        Problems problems(file_);
        auto module = make_(problems);
        problems.throw_if_any();
        check_unchanged(tensors_of(*module));
        return module;
    }

    void check_unchanged(OwnTensors const& tensors) const {
        auto const same = [](NamedTensors const& found, auto const& specs) {
            if (found.size() != specs.size()) return false;
            for (std::size_t i = 0; i < specs.size(); ++i)
                if (found[i].first != specs[i].name || found[i].second.sizes().vec() != specs[i].shape) return false;
            return true;
        };
        if (!same(tensors.parameters, parameters()) || !same(tensors.buffers, buffers()))
            throw Error(
                fmt::format("{}: has other tensors than when it was checked (the file has changed, or the model depends "
                            "on more than its arguments)",
                            file_));
    }

    std::string file_;
    std::shared_ptr<OwnDescription const> description_;
    MakeOwnModule make_;
    std::unique_ptr<OwnModule> module_;  // from the first bind on
    OwnTensors tensors_;
    std::optional<OwnModule::Mode> mode_;
};

// Null when it complained.
std::shared_ptr<OwnDescription const> checked(ModelConfig const& model, DataSchema const& data, MakeOwnModule const& make,
                                              Problems& problems) {
    std::lock_guard const alone(shared().mutex);
    auto& known = shared().checked[key_of(model, data)];
    if (known) return known;
    auto const complain = [&](std::string const& why) {
        problems.add(model.arguments.at_position(), "/model/file", fmt::format("{}: {}", model.file, why));
    };
    try {
        seed_torch(at::kCPU, 0);
        auto const before = problems.entries().size();
        auto const module = make(problems);
        if (module && problems.entries().size() == before)
            known = std::make_shared<OwnDescription>(described(*module, data));
    } catch (ConfigError const& error) {
        complain(error.what());
    } catch (std::exception const& error) {
        complain(fmt::format("cannot be made ({})", reason_of(error)));
    } catch (...) {
        complain("cannot be made (it threw something that is not a std::exception)");
    }
    return known;
}

}  // namespace

std::unique_ptr<Network> make_own_network(ModelConfig const& model, DataSchema const& data, MakeOwnModule make,
                                          Problems& problems) {
    if (model.file.empty()) {
        problems.add(model.arguments.at_position(), "/model/file", "missing (required); see docs/own-model.md");
        return nullptr;
    }
    auto const description = checked(model, data, make, problems);
    return description ? std::make_unique<OwnNetwork>(model.file, description, std::move(make)) : nullptr;
}

}  // namespace hopscotch
