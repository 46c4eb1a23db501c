// SPDX-License-Identifier: Apache-2.0
#include "search/tpe.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/rng.hpp"
#include "experiment/procedures.hpp"
#include "experiment/steps.hpp"
#include "search/draw.hpp"
#include "search/parzen.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

constexpr int k_model_draws = 20;         // to find something new with the model, before a random draw does it
constexpr std::size_t k_most_bad = 1000;  // the newest: the cost of a proposal must not grow for ever

// The loss by which a trial is judged. None: it has no result of that kind.
std::optional<double> loss_for(TrialHistory const& trial, int epochs) {
    if (epochs > 0 && trial.epochs() >= epochs) return trial.losses[static_cast<std::size_t>(epochs) - 1];
    if (trial.failed()) return k_worst;
    if (epochs == 0 && trial.state == TrialHistory::State::ended && !trial.losses.empty()) return trial.losses.back();
    return std::nullopt;
}

// The rule has preferred other trials so far: this one has not reached the epoch at which trials are compared. Without a
// rule every trial keeps up: a trial that stops early has its result.
bool is_left_behind(TrialHistory const& trial, Fidelity fidelity) {
    using enum TrialHistory::State;
    return fidelity == Fidelity::deepest && (trial.state == paused || trial.state == ended);
}

// Trials that fell back count as results too, but the good ones are the best third of the others at most: a rule lets few go
// far.
std::size_t good_of(std::size_t judged, std::size_t left_behind) {
    return std::min(good_results(judged + left_behind), (judged + 2) / 3);
}

// The largest number of epochs that enough trials have; 0: none.
int deepest_level(History const& history, std::size_t startup) {
    for (int epochs = history.longest(); epochs > 0; --epochs)
        if (history.reached(epochs) >= startup) return epochs;
    return 0;
}

bool is_number(Parameter const& parameter) {
    return parameter.type == Parameter::Type::real || parameter.type == Parameter::Type::integer;
}

// Nothing to learn, and a density of width 0.
bool has_one_value(Parameter const& parameter) {
    return is_number(parameter) ? parameter.low == parameter.high : parameter.values.size() == 1;
}

Axis axis_of(Parameter const& parameter) {
    Axis out;
    if (!is_number(parameter)) {
        out.categories = parameter.values.size();
        return out;
    }
    out.step = step_of(parameter);
    out.low = parameter.low - out.step / 2;
    out.high = (out.step > 0 ? parameter.low + last_step(parameter) * out.step : parameter.high) + out.step / 2;
    out.log = parameter.log;
    return out;
}

double to_number(Parameter const& parameter, Json const& value) {
    if (is_number(parameter)) return value.number();
    auto const at = std::find(parameter.values.begin(), parameter.values.end(), value);
    return static_cast<double>(at - parameter.values.begin());
}

Json to_value(Parameter const& parameter, double number) {
    if (!is_number(parameter)) return parameter.values[static_cast<std::size_t>(number)];
    double const value = std::clamp(number, parameter.low, parameter.high);
    bool const binary = parameter.type == Parameter::Type::real && parameter.step_values == StepValues::binary;
    return has_steps(parameter) && !binary ? nearest_step(parameter, value) : Json(value);
}

// Of the trials that have the keys: an inactive key carries no information.
std::vector<std::vector<double>> rows_of(History const& history, std::vector<std::size_t> const& results,
                                         std::vector<Parameter const*> const& keys) {
    std::vector<std::vector<double>> out;
    std::vector<std::size_t> places(keys.size(),
                                    0);  // of the keys in the last trial that had them: mostly the next one's, too
    for (auto index : results) {
        auto const& assignment = history.result(index).assignment;
        std::vector<double> row;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            auto const is_key = [&](auto const& entry) { return entry.first == keys[i]->path; };
            if (places[i] >= assignment.size() || !is_key(assignment[places[i]]))
                places[i] = static_cast<std::size_t>(std::find_if(assignment.begin(), assignment.end(), is_key) -
                                                     assignment.begin());
            if (places[i] < assignment.size()) row.push_back(to_number(*keys[i], assignment[places[i]].second));
        }
        if (row.size() == keys.size()) out.push_back(std::move(row));
    }
    return out;
}

class Tpe : public Sampler {
public:
    // A rule ends trials early, so their last losses do not compare.
    Tpe(Experiment const& experiment, Space const& space)
        : experiment_(experiment),
          space_(space),
          fidelity_(procedure_traits(experiment.search.procedure).has_rule ? Fidelity::deepest : Fidelity::last),
          model_(space, experiment.search.proposals.tpe),
          fresh_(space) {}

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        auto const startup = static_cast<std::size_t>(experiment_.search.proposals.tpe.startup);
        auto const split = split_results(history, fidelity_, startup);
        for (int i = 0; i < k_model_draws && !split.good.empty(); ++i)
            if (auto found = model_.propose(history, split, uniform);
                !is_forbidden(space_, found) && !history.has_seen(found))
                return found;
        return fresh_.find(history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    Experiment const& experiment_;
    Space const& space_;
    Fidelity fidelity_;
    TpeModel model_;
    Fresh fresh_;
};

}  // namespace

std::size_t good_results(std::size_t results) { return std::min<std::size_t>((results + 9) / 10, 25); }

GoodAndBad split_results(History const& history, Fidelity fidelity, std::size_t startup) {
    int const epochs = fidelity == Fidelity::deepest ? deepest_level(history, startup) : 0;
    GoodAndBad out;
    if (fidelity == Fidelity::deepest && epochs == 0) return out;
    using Result = std::pair<double, std::size_t>;
    std::vector<Result> judged;
    std::vector<std::size_t> others;
    std::size_t left_behind = 0;
    for (std::size_t i = 0; i < history.results(); ++i) {
        auto const& trial = history.result(i);
        auto const loss = loss_for(trial, epochs);
        bool const behind = !loss && is_left_behind(trial, fidelity);
        left_behind += behind ? 1U : 0U;
        if (loss) judged.emplace_back(*loss, i);
        if (behind || (!loss && trial.state == TrialHistory::State::running)) others.push_back(i);
    }
    if (judged.size() < startup) return out;
    auto ordered = judged;
    auto const last_good = ordered.begin() + static_cast<std::ptrdiff_t>(good_of(judged.size(), left_behind)) - 1;
    std::nth_element(ordered.begin(), last_good, ordered.end());
    for (auto const& each : judged)
        (each <= *last_good && each.first != k_worst ? out.good : out.bad).push_back(each.second);
    auto const results = static_cast<std::ptrdiff_t>(out.bad.size());
    out.bad.insert(out.bad.end(), others.begin(), others.end());
    std::inplace_merge(out.bad.begin(), out.bad.begin() + results, out.bad.end());
    if (out.bad.size() > k_most_bad) out.bad.erase(out.bad.begin(), out.bad.end() - k_most_bad);
    return out;
}

TpeModel::TpeModel(Space const& space, TpeConfig const& config) : space_(space), candidates_(config.candidates) {
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        if (has_one_value(parameter)) continue;
        (config.multivariate && parameter.when.empty() ? joint_ : single_).push_back(&parameter);
    }
}

Assignment TpeModel::propose(History const& history, GoodAndBad const& split, Uniform const& uniform) const {
    Assignment chosen, out;
    if (!joint_.empty()) choose(history, split, joint_, uniform, chosen);
    for (auto index : space_.order) {
        auto const& parameter = space_.parameters[index];
        if (!is_active(parameter, out)) continue;
        if (std::find(single_.begin(), single_.end(), &parameter) != single_.end())
            choose(history, split, {&parameter}, uniform, chosen);
        auto const* value = value_of(chosen, parameter.path);
        out.emplace_back(parameter.path,
                         value != nullptr ? *value : to_value(parameter, is_number(parameter) ? parameter.low : 0));
    }
    return in_order(space_, out);
}

void TpeModel::choose(History const& history, GoodAndBad const& split, Keys const& keys, Uniform const& uniform,
                      Assignment& out) const {
    std::vector<Axis> axes;
    for (auto const* key : keys) axes.push_back(axis_of(*key));
    Parzen const good(axes, rows_of(history, split.good, keys));
    Parzen const bad(axes, rows_of(history, split.bad, keys));
    auto const candidates = good.sample(static_cast<std::size_t>(candidates_), uniform);
    std::vector<double> scores;
    scores.reserve(candidates.size());
    for (auto const& each : candidates) scores.push_back(good.log_density(each) - bad.log_density(each));
    auto const& best = candidates[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
    for (std::size_t i = 0; i < keys.size(); ++i) out.emplace_back(keys[i]->path, to_value(*keys[i], best[i]));
}

std::unique_ptr<Sampler> make_tpe(Experiment const& experiment, Space const& space) {
    return std::make_unique<Tpe>(experiment, space);
}

}  // namespace hopscotch
