// SPDX-License-Identifier: Apache-2.0
// The demands of a search procedure on the space and on train: checked at the start, reported at the place of the setting.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/search_section.hpp"

namespace hopscotch {
namespace {

bool is_constant(Parameter const& parameter) {
    return parameter.type == Parameter::Type::constant || parameter.values.size() == 1;
}

bool is_plain_number(Parameter const& parameter) {
    return is_range(parameter) && parameter.when.empty() && parameter.low < parameter.high;
}

// Zero means no slot in the state, and anything else one.
bool makes_a_slot(std::string_view path) { return path == "train.optimizer.momentum" || path == "train.ema"; }

bool has_zero_and_more(Parameter const& parameter) {
    if (parameter.type != Parameter::Type::choice) return parameter.low == 0 && parameter.high > 0;
    auto const is_zero = [](Json const& value) { return value.is_number() && value.number() == 0; };
    return std::any_of(parameter.values.begin(), parameter.values.end(), is_zero) && parameter.values.size() > 1;
}

// Whether the size or the meaning of the state's tensors depends on this key. A model's own arguments count: they may.
bool changes_the_layout(Parameter const& parameter) {
    constexpr std::array<std::string_view, 7> in_train{
        "train.loss",     "train.optimizer",    "train.optimizer.name", "train.optimizer.centered", "train.optimizer.decay",
        "train.schedule", "train.schedule.name"};
    if (parameter.path.starts_with("model.")) return parameter.path != "model.dropout";
    if (makes_a_slot(parameter.path)) return has_zero_and_more(parameter);
    return std::find(in_train.begin(), in_train.end(), parameter.path) != in_train.end();
}

class SearchCheck {
public:
    SearchCheck(Experiment const& experiment, Space const& space, Problems& problems)
        : search_(experiment.search), experiment_(experiment), space_(space), problems_(problems) {}

    void epochs() {
        int const most = search_.rule.max_epochs.value_or(experiment_.train.epochs);
        if (most > experiment_.train.epochs)
            add("max_epochs",
                fmt::format("must be at most train.epochs (got {} > {}; schedules end there); raise train.epochs", most,
                            experiment_.train.epochs));
        else if (auto const& fewest = search_.rule.min_epochs; fewest && *fewest > most)
            add("min_epochs", fmt::format("must be at most {} (got {} > {})",
                                          search_.rule.max_epochs ? "max_epochs" : "train.epochs", *fewest, most));
        for (auto const& parameter : space_.parameters)
            if ((parameter.path == "train.epochs" || parameter.path == "train") && !is_constant(parameter))
                problems_.add(
                    parameter.key_at, "/space/" + parameter.path,
                    fmt::format(
                        "cannot be searched with {} (it compares trials after equally many epochs, and schedules end at "
                        "train.epochs); leave it out",
                        search_.procedure));
    }

    void mutable_keys() {
        for (auto const& parameter : space_.parameters) {
            if (is_constant(parameter) || !changes_the_layout(parameter)) continue;
            auto const problem =
                makes_a_slot(parameter.path)
                    ? fmt::format(
                          "cannot be both 0 and greater with {} (trials take over each other's states, and 0 has no tensor "
                          "there); leave 0 out",
                          search_.procedure)
                    : fmt::format(
                          "cannot be searched with {} (trials take over each other's states, and this key changes their "
                          "layout); make it a constant",
                          search_.procedure);
            problems_.add(parameter.key_at, "/space/" + parameter.path, problem);
        }
    }

    void components() {
        std::size_t others = 0;
        for (auto const& parameter : space_.parameters) {
            if (is_range(parameter))
                problems_.add(parameter.at, "/space/" + parameter.path,
                              "ablation needs a list; write the value of trial 0 first, then the values that replace it");
            others += parameter.values.size() - 1;
        }
        if (others == 0)
            problems_.add(experiment_.space.at_position(), "/space",
                          "has nothing to leave out (every key has one value); list a second value for a key");
    }

    void sampler() {
        auto const& sampler = sampler_traits(search_.sampler);
        if (sampler.one_objective && search_.front.compares)
            add("objectives", fmt::format("cannot be several with {} (it learns from search.metric alone); leave it out, or "
                                          "use tpe",
                                          sampler.name));
        if (sampler.needs_numbers && std::ranges::none_of(space_.parameters, is_plain_number))
            problems_.add(experiment_.space.at_position(), "/space",
                          fmt::format("has no number that every configuration has ({} learns from those alone); use tpe",
                                      sampler.name));
        for (auto const& parameter : space_.parameters)
            if (parameter.prior && sampler.configurations != Configurations::drawn)
                problems_.add(parameter.at, "/space/" + parameter.path + "/prior",
                              fmt::format("has no effect with {} (it draws no values); leave it out, or use random",
                                          sampler.name));
        auto const searched = static_cast<std::size_t>(std::count_if(space_.parameters.begin(), space_.parameters.end(),
                                                                     [](auto const& each) { return !is_constant(each); }));
        if (sampler.most_keys > 0 && searched > sampler.most_keys)
            problems_.add(experiment_.space.at_position(), "/space",
                          fmt::format("searches {} keys ({}: at most {}); use random", searched, sampler.name,
                                      sampler.most_keys));
    }

    // Of search.race.
    void race() {
        if (!search_.copies.race) return;
        if (search_.copies.count() == 1)
            add("race", "needs repeats or folds (each configuration is trained once); set one of them, or leave race out");
        if (search_.front.compares)
            add("race", "compares one metric (search.objectives names several); leave one of the two out");
        if (search_.budget.target || search_.budget.patience)
            add("race", "would go on after the end that budget.target or budget.patience set; leave it out");
        bool const counted = search_.trials || search_.budget.trials || sampler_traits(search_.sampler).is_list();
        if (search_.budget.epochs && !counted)
            add("race", "would never begin (first copies spend all of budget.epochs); set search.trials");
        if (sampler_traits(search_.sampler).configurations == Configurations::one_changed)
            add("race",
                fmt::format("has no use with {} (which needs all copies of every trial); leave it out", search_.procedure));
    }

    void target() {
        auto const& metric = search_.metric;
        if (!is_metric(metric)) return;
        bool const loss = natural_mode(metric) == Mode::min;
        if (!search_.budget.target || loss || search_.mode == Mode::min || *search_.budget.target <= 1) return;
        auto const* given = experiment_.document.find("search")->find("budget")->find("target");
        problems_.add(given->at_position(), "/search/budget/target",
                      fmt::format("cannot be reached (got {}; {} is at most 1); write 0.9 for 90 %", *search_.budget.target,
                                  metric));
    }

private:
    void add(std::string_view key, std::string_view problem) {
        auto const* section = experiment_.document.find("search");
        auto const* given = section != nullptr ? section->find(key) : nullptr;
        problems_.add(given != nullptr ? given->at_position() : Position{}, fmt::format("/search/{}", key), problem);
    }

    SearchConfig const& search_;
    Experiment const& experiment_;
    Space const& space_;
    Problems& problems_;
};

}  // namespace

void check_target(Experiment const& experiment, Problems& problems) { SearchCheck(experiment, {}, problems).target(); }

void check_search(Experiment const& experiment, Space const& space, Problems& problems) {
    auto const& procedure = procedure_traits(experiment.search.procedure);
    SearchCheck check(experiment, space, problems);
    if (procedure.has_rule) check.epochs();
    if (procedure.clones) check.mutable_keys();
    if (sampler_traits(experiment.search.sampler).configurations == Configurations::one_changed) check.components();
    check.sampler();
    check.race();
}

}  // namespace hopscotch
