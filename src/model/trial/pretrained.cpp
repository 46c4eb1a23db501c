// SPDX-License-Identifier: Apache-2.0
#include "model/trial/pretrained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "model/lean/lean_spec.hpp"
#include "model/state/safetensors.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_listed = 8;

bool matches(std::string const& pattern, std::string const& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes shapes_of(NetworkSpecs const& network) {
    Shapes shapes;
    for (auto const& spec : network.parameters) shapes[spec.name] = spec.shape;
    for (auto const& spec : network.buffers) shapes[spec.name] = spec.shape;
    return shapes;
}

std::string listed(std::vector<std::string> const& names) {
    auto const shown = std::min(names.size(), k_listed);
    return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

// Patterns of the parameters whose names begin alike: "layer1.*" at depth 1, "layer1.0.*" at depth 2. Short names stand as
// they are.
std::vector<std::string> patterns_of(std::vector<ParameterSpec> const& specs, int depth) {
    std::vector<std::string> out;
    for (auto const& spec : specs) {
        auto end = spec.name.find('.');
        for (int i = 1; i < depth && end != spec.name.npos; ++i) end = spec.name.find('.', end + 1);
        auto pattern = end == spec.name.npos ? spec.name : spec.name.substr(0, end) + ".*";
        if (std::ranges::find(out, pattern) == out.end()) out.push_back(std::move(pattern));
    }
    return out;
}

// Shows the patterns of the first depth that tells parameters apart; the nearest may be deeper.
std::string no_parameter(std::string const& pattern, std::vector<ParameterSpec> const& specs) {
    constexpr int k_deepest = 8;
    std::vector<std::string> shown, known;
    for (int depth = 1; depth <= k_deepest; ++depth) {
        auto const patterns = patterns_of(specs, depth);
        if (shown.size() < 2) shown = patterns;
        if (patterns.size() > 1) known.insert(known.end(), patterns.begin(), patterns.end());
        if (patterns.size() == specs.size()) break;
    }
    auto const near = nearest(pattern, known);
    return fmt::format("\"{}\" matches no parameter (they are called {}); {}", pattern, listed(shown),
                       near.empty() ? "choose from these" : fmt::format("did you mean \"{}\"?", near));
}

struct Matching {
    std::vector<std::string> matched, missing, unexpected, other_shape;
};

Matching match(Shapes const& wanted, SafetensorsFile const& file) {
    Matching out;
    for (auto const& [name, shape] : wanted) {
        auto const found = file.entries().find(name);
        if (found == file.entries().end())
            out.missing.push_back(name);
        else if (found->second.shape != shape)
            out.other_shape.push_back(fmt::format("{} ([{}] in the file, [{}] here)", name,
                                                  fmt::join(found->second.shape, ", "), fmt::join(shape, ", ")));
        else
            out.matched.push_back(name);
    }
    for (auto const& [name, entry] : file.entries())
        if (!wanted.contains(name)) out.unexpected.push_back(name);
    return out;
}

void check_frozen(ModelConfig const& model, std::vector<ParameterSpec> const& specs, std::set<std::string> const& loaded,
                  Problems& problems) {
    auto const complain = [&](std::string const& why) { problems.add({}, "/model/freeze", why); };
    for (auto const& pattern : model.freeze)
        if (std::none_of(specs.begin(), specs.end(), [&](auto const& spec) { return matches(pattern, spec.name); }))
            complain(no_parameter(pattern, specs));
    auto const frozen = frozen_parameters(model, specs);
    if (std::find(frozen.begin(), frozen.end(), false) == frozen.end())
        complain("every parameter is frozen (nothing is left to train); freeze fewer");
    std::vector<std::string> without;
    for (std::size_t i = 0; i < specs.size(); ++i)
        if (frozen[i] && !loaded.contains(specs[i].name)) without.push_back(specs[i].name);
    if (!without.empty())
        complain(fmt::format("frozen, but not taken from init_from: {} (they would never train)", listed(without)));
}

}  // namespace

std::string module_of(std::string const& name) {
    auto const dot = name.rfind('.');
    return dot == name.npos ? "" : name.substr(0, dot + 1);
}

NetworkSpecs specs_of(LeanModel const& model) {
    return {model.parameters, model.buffers, module_of(model.parameters.back().name)};
}

std::vector<bool> frozen_parameters(ModelConfig const& model, std::vector<ParameterSpec> const& parameters) {
    std::vector<bool> frozen;
    for (auto const& spec : parameters)
        frozen.push_back(std::any_of(model.freeze.begin(), model.freeze.end(),
                                     [&](auto const& pattern) { return matches(pattern, spec.name); }));
    return frozen;
}

std::vector<std::string> pretrained_names(ModelConfig const& model, NetworkSpecs const& network, Problems& problems) {
    if (model.init_from.empty()) return {};
    auto const complain = [&](std::string const& why) {
        problems.add({}, "/model/init_from", fmt::format("{}: {}", model.init_from, why));
    };
    try {
        auto wanted = shapes_of(network);
        auto const file = SafetensorsFile::open(model.init_from);
        auto const head = model.init_mode == InitFrom::head ? network.head : "";
        if (model.init_mode == InitFrom::head && head.empty())
            complain(fmt::format("{} has no last layer of its own (init_mode \"head\" starts it fresh); use \"partial\"",
                                 model.name));
        if (!head.empty())  // the last layer starts fresh, even if the file has values for it
            std::erase_if(wanted, [&](auto const& each) { return module_of(each.first) == head; });
        auto found = match(wanted, file);
        if (!head.empty()) std::erase_if(found.unexpected, [&](auto const& name) { return module_of(name) == head; });
        if (model.init_mode != InitFrom::partial) {
            if (!found.missing.empty()) complain(fmt::format("has no {}", listed(found.missing)));
            if (!found.unexpected.empty())
                complain(fmt::format("has tensors that this model does not have: {}", listed(found.unexpected)));
            if (!found.other_shape.empty()) complain(fmt::format("other shapes: {}", listed(found.other_shape)));
        } else if (found.matched.empty()) {
            complain(fmt::format("nothing fits this model ({} tensors, such as \"{}\")", file.entries().size(),
                                 file.entries().empty() ? "" : file.entries().begin()->first));
        }
        check_frozen(model, network.parameters, {found.matched.begin(), found.matched.end()}, problems);
        return std::move(found.matched);
    } catch (DataError const& error) {
        problems.add({}, "/model/init_from", error.what());
        return {};
    }
}

std::vector<std::string> accepted_pretrained(ModelConfig const& model, NetworkSpecs const& network) {
    Problems problems("model");
    auto names = pretrained_names(model, network, problems);
    problems.throw_if_any();
    return names;
}

void load_pretrained(std::string const& path, std::vector<std::string> const& names, StateLayout const& layout,
                     MutableBytes state) {
    if (names.empty()) return;
    auto const file = SafetensorsFile::open(path);
    for (auto const& tensor : layout.tensors) {
        auto const averaged = tensor.slot_kind == k_ema_slot;
        if (tensor.block != Block::parameter && tensor.block != Block::buffer && !averaged) continue;
        auto const name =
            averaged ? tensor.name.substr(0, tensor.name.size() - slot_name("", k_ema_slot).size()) : tensor.name;
        if (!std::binary_search(names.begin(), names.end(), name)) continue;
        auto* const at = state.data() + tensor.offset;
        if (tensor.element == Element::float32)
            file.read(name, std::span(reinterpret_cast<float*>(at), tensor.bytes / sizeof(float)));
        else
            file.read(name, std::span(reinterpret_cast<std::int64_t*>(at), tensor.bytes / sizeof(std::int64_t)));
    }
}

}  // namespace hopscotch
