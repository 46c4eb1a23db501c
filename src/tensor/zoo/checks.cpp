// SPDX-License-Identifier: Apache-2.0
#include "tensor/zoo/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "model/trial/pretrained.hpp"
#include "tensor/network/specs.hpp"
#include "tensor/network/tail.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

std::unique_ptr<Network> network_of(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const make = maker_of(model.name);
    require(make != nullptr, "the zoo has no network of this name");
    return make(model, data, problems);
}

std::size_t frozen_stages(ModelConfig const& model, Network const& network) {
    return frozen_stages(network, frozen_parameters(model, network.parameters()));
}

std::unique_ptr<Network> without_cached_stages(ModelConfig const& model, std::unique_ptr<Network> network) {
    if (!model.cache_frozen) return network;
    auto const stages = frozen_stages(model, *network);
    return stages == 0 ? std::move(network) : tail_of(std::move(network), stages);
}

std::optional<FrozenPart> frozen_part(ModelConfig const& model, Network const& network) {
    auto const stages = frozen_stages(model, network);
    if (stages == 0) return std::nullopt;
    auto const& last = network.stages()->at(stages - 1);
    return FrozenPart{last.multiply_adds / network.multiply_adds(), elements(last.shape)};
}

void check_cached(ModelConfig const& model, Network const& network, std::vector<std::string> const& from_file,
                  Problems& problems) {
    auto const complain = [&](std::string const& why) { problems.add({}, "/model/cache_frozen", why); };
    if (network.stages() == nullptr)
        return complain(
            fmt::format("{} is not a chain of layers whose start could be computed once; leave the key out", model.name));
    auto const stages = frozen_stages(model, network);
    if (stages == 0)
        return complain(
            fmt::format("the first layer trains ({}), so that nothing can be computed once; freeze it, or leave "
                        "the key out",
                        network.parameters().front().name));
    for (std::size_t i = 0; i < network.stages()->at(stages - 1).buffers; ++i)
        if (auto const& [name, shape, element, start] = network.buffers()[i];
            element == Element::float32 && !std::ranges::binary_search(from_file, name))
            return complain(
                fmt::format("init_from has no {} (frozen layers compute with the statistics of that file); take "
                            "a file that has it, or leave the key out",
                            name));
}

}  // namespace

void check_network(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const network = network_of(model, data, problems);
    if (!network) return;
    auto const from_file = pretrained_names(model, specs_of(*network), problems);
    if (model.cache_frozen) check_cached(model, *network, from_file, problems);
}

std::optional<NetworkFacts> network_facts(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto network = network_of(model, data, problems);
    if (!network) return std::nullopt;
    NetworkFacts out;
    if (!model.freeze.empty()) out.frozen = frozen_part(model, *network);
    for (auto const& metric : network->metrics()) out.metrics.push_back({metric.name, metric.mode});
    out.draws_from_torch = network->draws_from_torch();
    out.multiply_adds = without_cached_stages(model, std::move(network))->multiply_adds();
    return out;
}

std::unique_ptr<Network> accepted_network(ModelConfig const& model, DataSchema const& data) {
    Problems problems("model");
    auto network = network_of(model, data, problems);
    problems.throw_if_any();
    return without_cached_stages(model, std::move(network));
}

}  // namespace hopscotch
