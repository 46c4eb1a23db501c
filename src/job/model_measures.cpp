// SPDX-License-Identifier: Apache-2.0
#include "job/model_measures.hpp"

#include <map>
#include <memory>

#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "experiment/measures.hpp"
#include "experiment/reader.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace {

Measures measured(Experiment const& experiment, Manifest const& manifest, Assignment const& assignment) {
    auto const schema = schema_of(manifest);
    Problems problems("");
    auto const config = resolve(experiment, assignment, problems);
    if (problems.empty()) check_model(config, schema, problems);
    Measures out;
    if (!problems.empty()) return out;
    Workspace workspace("cpu", experiment.run.cpu.threads);  // threads: of the whole process
    auto const model = make_trial_model(config, manifest, workspace);
    for (auto const& tensor : model.state->layout().tensors)
        if (tensor.block == Block::parameter) out.parameters += static_cast<double>(tensor.bytes / sizeof(float));
    out.state_mb = static_cast<double>(model.state->layout().bytes) / 1e6;
    out.flops_per_row = flops_per_row(config, schema);
    return out;
}

}  // namespace

Measure make_measure(Experiment const& experiment, Manifest const& manifest) {
    auto const known = std::make_shared<std::map<std::string, Measures>>();
    return [experiment, manifest, known](Assignment const& assignment) {
        auto const configuration = configuration_of(assignment);
        auto const [place, fresh] = known->try_emplace(to_json(configuration).dump());
        if (fresh) place->second = measured(experiment, manifest, configuration);
        return place->second;
    };
}

}  // namespace hopscotch
