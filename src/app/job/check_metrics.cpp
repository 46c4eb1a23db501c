// SPDX-License-Identifier: Apache-2.0
#include "app/job/check_metrics.hpp"

#include <fmt/format.h>

#include "core/json_reader.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "experiment/loss_traits.hpp"
#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

// Without classes there is no accuracy, without validation shards no val_ anything. key: of search, where the metric is
// named.
void check_metric(Experiment const& experiment, Manifest const& manifest, std::string const& key, std::string const& name,
                  Problems& problems) {
    auto const* search = experiment.document.find("search");
    auto const* metric = search != nullptr ? search->find(key) : nullptr;
    auto const complain = [&](std::string const& problem) {
        problems.add(metric != nullptr ? metric->at_position() : Position{}, "/search/" + key, problem);
    };
    if (auto const loss = experiment.train.loss; !has_metric(loss, name))
        complain(fmt::format("{} needs {} (the loss is {}); use \"val_loss\" with mode \"min\"", name, needed_by(name),
                             name_of(loss)));
    bool const tokens = manifest.task == Task::language;
    bool const many_classes = tokens || (manifest.task == Task::classification && manifest.outputs != 2);
    auto const& traits = metric_traits(name);
    if (traits.fits == MetricTraits::Fits::two_classes_or_labels && many_classes)
        complain(fmt::format("{} needs two classes or a multilabel dataset (this one has {} {}); {}", name, manifest.outputs,
                             tokens ? "tokens" : "classes", tokens ? "use \"val_perplexity\"" : "use \"val_f1\""));
    if (traits.fits == MetricTraits::Fits::no_tokens && tokens)
        complain(fmt::format("{} is not measured on tokens; use \"val_perplexity\"", name));
    if (traits.is_of_validation() && manifest.valid.empty() && experiment.search.folds == 1)
        complain(fmt::format(
            "{} needs validation shards (the dataset has none); import with --valid 0.2, or use \"train_loss\"", name));
}

}  // namespace

void check_metrics(Experiment const& experiment, Manifest const& manifest, Problems& problems) {
    check_metric(experiment, manifest, "metric", experiment.search.metric, problems);
    for (auto const& name : experiment.search.pareto)
        if (is_metric(name)) check_metric(experiment, manifest, "pareto", name, problems);
}

}  // namespace hopscotch
