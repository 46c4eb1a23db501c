// SPDX-License-Identifier: Apache-2.0
#include "job/check_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "experiment/loss_traits.hpp"
#include "experiment/metric.hpp"
#include "experiment/reader.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace {

// The model of the document, or with the first of the files that are searched.
ModelConfig first_model(Experiment const& experiment) {
    auto model = experiment.model;
    auto const* files = experiment.space.find("model.file");
    if (files != nullptr && files->is_object()) files = files->find("values");
    if (files != nullptr && files->is_array() && !files->array().empty() && files->array().front().is_string())
        model.file = files->array().front().string();
    return model;
}

void complain_of(Experiment const& experiment, std::string const& key, std::string const& problem, Problems& problems) {
    auto const* search = experiment.document.find("search");
    auto const* metric = search != nullptr ? search->find(key) : nullptr;
    problems.add(metric != nullptr ? metric->at_position() : Position{}, "/search/" + key, problem);
}

// The reason why no trial can have this metric; "": a trial can, or an older import has not counted. Of two classes, both
// must be there; of labels, one that is true in some rows and false in others.
std::string not_measurable(Manifest const& manifest, std::string_view metric) {
    auto const& counts = manifest.class_rows.valid;
    bool const auc = metric == k_val_auc, f1 = metric == k_val_f1;
    if (counts.empty() || (!auc && !f1)) return "";
    if (manifest.task == Task::multilabel) {
        auto const both = [&](auto count) { return count > 0 && (f1 || count < manifest.rows(Split::valid)); };
        return std::ranges::any_of(counts, both) ? "" : "no label is true in some validation rows and false in others";
    }
    if (counts.size() != 2) return "";
    for (std::size_t i = auc ? 0 : 1; i < counts.size(); ++i)
        if (counts[i] == 0)
            return fmt::format("no validation row has the class '{}'",
                               manifest.class_names.empty() ? std::to_string(i) : manifest.class_names[i]);
    return "";
}

// Without classes there is no accuracy, without validation shards there are no val_ metrics. key: of search, where the
// metric is named.
void check_metric(Experiment const& experiment, Manifest const& manifest, std::string const& key, std::string const& name,
                  Problems& problems) {
    auto const complain = [&](std::string const& problem) { complain_of(experiment, key, problem, problems); };
    if (manifest.valid.empty() && experiment.search.copies.folds == 1 &&
        !(is_metric(name) && !metric_traits(name).is_of_validation()))
        complain(fmt::format(
            "{} needs validation shards (the dataset has none); import with --valid 0.2, or use \"train_loss\"", name));
    if (!is_metric(name)) return;
    if (auto const loss = experiment.train.loss; !has_metric(loss, name))
        complain(fmt::format("{} needs {} (the loss is {}); use \"val_loss\"{}", name, needed_by(name), name_of(loss),
                             key == "metric" ? " with mode \"min\"" : ""));
    bool const tokens = manifest.task == Task::language;
    bool const many_classes = tokens || (manifest.task == Task::classification && manifest.outputs != 2);
    auto const& traits = metric_traits(name);
    if (traits.fits == MetricTraits::Fits::two_classes_or_labels && many_classes)
        complain(fmt::format("{} needs two classes or a multilabel dataset (this one has {} {}); {}", name, manifest.outputs,
                             tokens ? "tokens" : "classes", tokens ? "use \"val_perplexity\"" : "use \"val_f1\""));
    if (auto const problem = not_measurable(manifest, name); experiment.search.copies.folds == 1 && !problem.empty())
        complain(fmt::format("{} cannot be computed ({}); import with --stratify or a larger --valid, or use another metric",
                             name, problem));
    if (traits.fits == MetricTraits::Fits::no_tokens && tokens)
        complain(fmt::format("{} is not measured on tokens; use \"val_perplexity\"", name));
}

// The key of search that names the front.
std::string key_of(FrontConfig const& front) { return front.compares ? "objectives" : "pareto"; }

// Also in the document, so that whoever reads the run knows the mode without the model.
void set_mode(Experiment& experiment, std::string const& name, Mode mode) {
    if (!experiment.search.front.modes.try_emplace(name, mode).second) return;
    experiment.document["search"]["modes"][name] = mode == Mode::max ? "max" : "min";
}

}  // namespace

void check_own_metrics(Experiment& experiment, Manifest const& manifest, Problems& problems) {
    std::vector<std::pair<std::string, std::string>> asked;  // key of search, name
    if (auto const& name = experiment.search.metric; !is_metric(name)) asked.emplace_back("metric", name);
    auto& front = experiment.search.front;
    for (auto const& name : front.names)
        if (may_be_own_metric(name)) asked.emplace_back(key_of(front), name);
    if (asked.empty()) return;
    auto const model = first_model(experiment);
    auto const schema = schema_of(manifest);
    Problems refused("");
    check_model(model, schema, refused);
    if (!refused.empty()) return;
    auto const own = own_metrics(model, schema);
    std::vector<std::string> names;
    for (auto const& each : own) names.push_back(each.name);
    for (auto const& [key, name] : asked) {
        auto const found = std::ranges::find(own, name, &OwnMetricName::name);
        if (found == own.end())
            complain_of(experiment, key,
                        fmt::format("metric \"{}\" is unknown (known: {}; of {}: {})", name, fmt::join(metric_names(), ", "),
                                    model.file, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
                        problems);
        else if (key == "metric")
            default_mode(experiment, found->mode);
        else
            set_mode(experiment, name, found->mode);
    }
}

void check_metrics(Experiment const& experiment, Manifest const& manifest, Problems& problems) {
    check_metric(experiment, manifest, "metric", experiment.search.metric, problems);
    auto const& front = experiment.search.front;
    for (auto const& name : front.names)
        if (is_metric(name) || may_be_own_metric(name)) check_metric(experiment, manifest, key_of(front), name, problems);
}

}  // namespace hopscotch
