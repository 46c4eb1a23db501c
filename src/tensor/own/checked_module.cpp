// SPDX-License-Identifier: Apache-2.0
#include "tensor/own/checked_module.hpp"

#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_rows = 2;  // batch norm takes no single row in training

std::string type_name(at::Tensor const& tensor) { return c10::toString(tensor.scalar_type()); }

void check_types(OwnTensors const& tensors) {
    if (tensors.parameters.empty())
        throw ConfigError("has no parameters that require a gradient (there is nothing to train); give it at least one");
    for (auto const& [name, tensor] : tensors.parameters)
        if (tensor.scalar_type() != at::kFloat)
            throw ConfigError(
                fmt::format("parameter {} is {} (states hold float32); make the model float32; train.precision "
                            "says what it computes in",
                            name, type_name(tensor)));
    for (auto const& [name, tensor] : tensors.buffers)
        if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kLong)
            throw ConfigError(
                fmt::format("buffer {} is {} (states hold float32 and int64); make it one of these, or no buffer", name,
                            type_name(tensor)));
}

// Two tensors over one memory would be separate in the state.
void check_memory(OwnTensors const& tensors) {
    std::map<void const*, std::string> owners;
    for (auto const* list : {&tensors.parameters, &tensors.buffers})
        for (auto const& [name, tensor] : *list) {
            if (tensor.numel() == 0)
                throw ConfigError(fmt::format("{} has no elements (a state cannot hold it); remove it", name));
            auto const [first, is_new] = owners.emplace(tensor.storage().data(), name);
            if (!is_new)
                throw ConfigError(
                    fmt::format("{} and {} share their memory (in the state each has its own); use one tensor under "
                                "one name",
                                first->second, name));
        }
}

void check_outputs(at::Tensor const& outputs, DataSchema const& data) {
    std::vector<std::int64_t> wanted{k_rows};
    if (data.task == Task::language)
        wanted.push_back(std::accumulate(data.shape.begin(), data.shape.end(), std::int64_t{1}, std::multiplies<>()));
    wanted.push_back(data.outputs);
    if (!outputs.defined()) throw ConfigError("forward gives an undefined tensor");
    if (outputs.sizes().vec() != wanted)
        throw ConfigError(fmt::format("forward makes [{}] of {} rows of shape {} (the dataset has {} outputs: [{}])",
                                      fmt::join(outputs.sizes().vec(), ", "), k_rows, fmt::join(data.shape, "x"),
                                      data.outputs, fmt::join(wanted, ", ")));
    if (outputs.scalar_type() != at::kFloat)
        throw ConfigError(fmt::format("forward gives {} (the loss needs float32)", type_name(outputs)));
}

void check_forward(OwnModule& module, DataSchema const& data) {
    std::vector<std::int64_t> shape{k_rows};
    shape.insert(shape.end(), data.shape.begin(), data.shape.end());
    auto const x = at::zeros(shape, at::TensorOptions(at::kFloat));
    auto noise = at::globalContext().defaultGenerator(at::kCPU).clone();
    for (auto const mode : {OwnModule::Mode::training, OwnModule::Mode::evaluation}) {
        module.set(mode);
        std::vector<std::pair<at::Tensor, at::Tensor>> before;  // a buffer and its values
        for (auto const& [name, tensor] : module.buffers()) before.emplace_back(tensor, tensor.clone());
        at::Tensor outputs;
        try {
            outputs = module.forward(x, mode == OwnModule::Mode::training ? &noise : nullptr);
        } catch (std::exception const& error) {
            throw ConfigError(
                fmt::format("forward fails on rows of shape {} ({})", fmt::join(data.shape, "x"), reason_of(error)));
        } catch (...) {
            throw ConfigError("forward throws something that is not a std::exception");
        }
        check_outputs(outputs, data);
        if (mode == OwnModule::Mode::training && !outputs.requires_grad())
            throw ConfigError(
                "forward gives outputs without gradients (detached, or computed under no_grad); keep the graph");
        auto const after = module.buffers();
        for (std::size_t i = 0; mode == OwnModule::Mode::evaluation && i < std::min(before.size(), after.size()); ++i)
            if (before[i].first.is_same(after[i].second) && !before[i].second.equal(after[i].second))
                throw ConfigError(
                    fmt::format("forward changes {} in evaluation (a validation must leave the state as it is); "
                                "change it in training only",
                                after[i].first));
    }
}

// Rows that differ; a feature that is a category is 0.
at::Tensor some_rows(DataSchema const& data) {
    std::vector<std::int64_t> shape{k_rows};
    shape.insert(shape.end(), data.shape.begin(), data.shape.end());
    auto out = at::zeros(shape, at::TensorOptions(at::kFloat));
    auto* values = out.data_ptr<float>();
    auto const width = out.numel() / k_rows;
    auto const& categories = data.categories;
    for (std::int64_t i = 0; i < out.numel(); ++i) {
        auto const feature = static_cast<std::size_t>(i % width);
        auto const number = categories.empty() || (categories.size() > 1 && categories[feature] == 0);
        if (number) values[i] = static_cast<float>(i * 7 % 13 - 6) / 4;
    }
    return out;
}

// None: the module takes no such rows, but perhaps those of the dataset.
std::optional<at::Tensor> evaluated(OwnModule& module, at::Tensor const& rows, std::uint64_t seed) try {
    seed_torch(at::kCPU, seed);
    return module.forward(rows, nullptr).detach().contiguous();
} catch (...) {
    return std::nullopt;
}

// A trace of a network in training mode has its dropout on for ever.
void check_evaluation(OwnModule& module, DataSchema const& data) {
    module.set(OwnModule::Mode::evaluation);
    auto const rows = some_rows(data);
    auto const first = evaluated(module, rows, 1), second = evaluated(module, rows, 2);
    if (!first || !second) return;
    // Compares bytes: such rows may give NaN, and equal NaNs are equal outputs.
    if (std::memcmp(first->data_ptr(), second->data_ptr(), first->nbytes()) != 0)
        throw ConfigError(
            "forward gives other outputs for the same rows in evaluation (it draws random numbers, as the trace of a "
            "network with dropout in training mode does); draw in training only, or write the file with torch.jit.script");
}

// Refuses a forward that replaces a tensor: the new tensor is not part of the state.
void check_replaced(OwnTensors const& before, OwnTensors const& after) {
    auto const compare = [](NamedTensors const& a, NamedTensors const& b) {
        for (std::size_t i = 0; i < a.size(); ++i)
            if (i >= b.size() || !a[i].second.is_same(b[i].second))
                throw ConfigError(fmt::format(
                    "forward replaces {} (its state would be lost); change it in place, with add_ or copy_", a[i].first));
    };
    compare(before.parameters, after.parameters);
    compare(before.buffers, after.buffers);
}

std::vector<NetworkMetric> checked_metrics(std::vector<NetworkMetric> metrics) {
    constexpr std::size_t k_most_sums = 1'000'000;
    std::set<std::string> names;
    for (auto const& metric : metrics) {
        if (!may_be_own_metric(metric.name))
            throw ConfigError(
                fmt::format("a metric is named \"{}\" (val_ and small letters, digits or _ are possible, and no "
                            "name of a built-in metric); rename it",
                            metric.name));
        if (!names.insert(metric.name).second)
            throw ConfigError(fmt::format("two metrics are named {}; rename one", metric.name));
        if (metric.sums == 0 || metric.sums > k_most_sums)
            throw ConfigError(
                fmt::format("{} has {} sums (from 1 to {} are possible)", metric.name, metric.sums, k_most_sums));
        if (!metric.add || !metric.value)
            throw ConfigError(fmt::format("{} lacks a function (OwnMetric::add or value is null)", metric.name));
    }
    return metrics;
}

}  // namespace

OwnTensors tensors_of(OwnModule const& module) {
    OwnTensors out;
    std::set<void const*> seen;
    for (auto const& named : module.parameters())
        if (seen.insert(named.second.unsafeGetTensorImpl()).second)
            (named.second.requires_grad() ? out.parameters : out.buffers).push_back(named);
    for (auto const& named : module.buffers())
        if (seen.insert(named.second.unsafeGetTensorImpl()).second) out.buffers.push_back(named);
    return out;
}

OwnDescription described(OwnModule& module, DataSchema const& data) {
    auto const tensors = tensors_of(module);
    check_types(tensors);
    check_memory(tensors);
    check_forward(module, data);
    check_evaluation(module, data);
    check_replaced(tensors, tensors_of(module));
    OwnDescription out;
    double elements = 0;
    for (auto const& [name, tensor] : tensors.parameters) {
        out.parameters.push_back({name, tensor.sizes().vec(), Init::constant(0)});
        elements += static_cast<double>(tensor.numel());
    }
    for (auto const& [name, tensor] : tensors.buffers)
        out.buffers.push_back(
            {name, tensor.sizes().vec(), tensor.scalar_type() == at::kLong ? Element::int64 : Element::float32, 0});
    auto const said = module.multiply_adds();
    if (!std::isfinite(said) || said < 0)
        throw ConfigError(fmt::format("multiply_adds() gives {} (it is a cost); return at least 0", said));
    out.multiply_adds = said > 0 ? said : elements;
    out.draws_from_torch = module.draws_from_torch();
    out.metrics = checked_metrics(module.metrics());
    return out;
}

void seed_torch(at::Device device, std::uint64_t key) {
    auto const seed = [&](at::Device of) {
        auto generator = at::globalContext().defaultGenerator(of);
        std::lock_guard const lock(generator.mutex());
        generator.set_current_seed(key);
    };
    seed(at::kCPU);
    if (!device.is_cpu()) seed(device);
}

std::string reason_of(std::exception const& error) {
    auto const* torchs = dynamic_cast<c10::Error const*>(&error);
    std::string text = torchs != nullptr ? torchs->what_without_backtrace() : error.what();
    // The interpreter's text has the trace of the script first: "...\nRuntimeError: why\n".
    if (auto const at = text.rfind("Error: "); at != text.npos) text.erase(0, at + 7);
    auto const line = text.substr(0, text.find('\n'));
    return line.empty() ? "it does not say why" : line;
}

}  // namespace hopscotch
