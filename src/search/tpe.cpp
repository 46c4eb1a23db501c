// SPDX-License-Identifier: Apache-2.0
#include "search/tpe.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/rng.hpp"
#include "search/draw.hpp"
#include "search/parzen.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

constexpr int k_attempts = 20;              // to find something new with the model, before a random draw does it
constexpr std::size_t k_most_bad = 1000;    // the newest: what a proposal costs must not grow for ever

// The loss by which a trial is judged. None: it has no result of that kind.
std::optional<double> loss_for(TrialHistory const& trial, int epochs) {
    if (epochs > 0 && trial.epochs() >= epochs) return trial.losses[static_cast<std::size_t>(epochs) - 1];
    if (trial.failed()) return k_worst;
    if (epochs == 0 && trial.state == TrialHistory::State::ended && !trial.losses.empty()) return trial.losses.back();
    return std::nullopt;
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

Axis axis_of(Parameter const& parameter) {
    Axis out;
    if (!is_number(parameter)) {
        out.categories = parameter.values.size();
        return out;
    }
    bool const whole = parameter.type == Parameter::Type::integer;
    double const step = parameter.step.value_or(whole && !parameter.log ? 1 : 0);
    double const top = step > 0 ? parameter.low + step * std::floor((parameter.high - parameter.low) / step + 1e-9) : parameter.high;
    double const edge = parameter.log && whole ? 0.5 : step / 2;
    out.low = parameter.low - edge;
    out.high = top + edge;
    out.step = step;
    if (!parameter.log) return out;
    out.low = std::log(out.low);
    out.high = std::log(out.high);
    return out;
}

double to_number(Parameter const& parameter, Json const& value) {
    if (is_number(parameter)) return parameter.log ? std::log(value.number()) : value.number();
    auto const at = std::find(parameter.values.begin(), parameter.values.end(), value);
    return static_cast<double>(at - parameter.values.begin());
}

Json to_value(Parameter const& parameter, double number) {
    if (!is_number(parameter)) return parameter.values[static_cast<std::size_t>(number)];
    double const value = std::clamp(parameter.log ? std::exp(number) : number, parameter.low, parameter.high);
    return parameter.type == Parameter::Type::integer ? Json(static_cast<std::int64_t>(std::llround(value))) : Json(value);
}

class Tpe : public Sampler {
public:
    Tpe(Experiment const& experiment, Space const& space)
        : experiment_(experiment), space_(space), config_(experiment.search.tpe), fresh_(space) {
        // A rule ends trials early, so their last losses do not compare.
        if (experiment.search.procedure != "tpe") fidelity_ = Fidelity::deepest;
        for (auto index : space.order) {
            auto const& parameter = space.parameters[index];
            if (parameter.type == Parameter::Type::constant || (!is_number(parameter) && parameter.values.size() == 1)) continue;
            (config_.multivariate && parameter.when.empty() ? joint_ : single_).push_back(&parameter);
        }
    }

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        auto const split = split_results(history, fidelity_, static_cast<std::size_t>(config_.startup));
        for (int i = 0; i < k_attempts && !split.good.empty(); ++i)
            if (auto found = modelled(history, split, uniform); !is_forbidden(space_, found) && !history.has_seen(found))
                return found;
        return fresh_.find(
            history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    using Keys = std::vector<Parameter const*>;

    Assignment modelled(History const& history, Split const& split, Uniform const& uniform) const {
        Assignment chosen, out;
        if (!joint_.empty()) choose(history, split, joint_, uniform, chosen);
        for (auto index : space_.order) {
            auto const& parameter = space_.parameters[index];
            if (!is_active(parameter, out)) continue;
            if (std::find(single_.begin(), single_.end(), &parameter) != single_.end())
                choose(history, split, {&parameter}, uniform, chosen);
            auto const* value = value_of(chosen, parameter.path);
            out.emplace_back(parameter.path, value != nullptr ? *value : parameter.values.front());
        }
        return in_order(space_, out);
    }

    // Of the candidates drawn where good trials are, the one with the best ratio of good to bad.
    void choose(History const& history, Split const& split, Keys const& keys, Uniform const& uniform, Assignment& out) const {
        std::vector<Axis> axes;
        for (auto const* key : keys) axes.push_back(axis_of(*key));
        auto const bandwidth = config_.multivariate && keys.front()->when.empty() ? Bandwidth::scott : Bandwidth::neighbours;
        Parzen const good(axes, rows_of(history, split.good, keys), bandwidth);
        Parzen const bad(axes, rows_of(history, split.bad, keys), bandwidth);
        auto const candidates = good.sample(static_cast<std::size_t>(config_.candidates), uniform);
        std::vector<double> scores;
        for (auto const& each : candidates) scores.push_back(good.log_density(each) - bad.log_density(each));
        auto const& best = candidates[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
        for (std::size_t i = 0; i < keys.size(); ++i) out.emplace_back(keys[i]->path, to_value(*keys[i], best[i]));
    }

    // Of those that have the keys: one that is not active says nothing.
    static std::vector<std::vector<double>> rows_of(History const& history, std::vector<std::size_t> const& trials,
                                                    Keys const& keys) {
        std::vector<std::vector<double>> out;
        for (auto trial : trials) {
            std::vector<double> row;
            for (auto const* key : keys)
                if (auto const* value = value_of(history.trials()[trial].assignment, key->path))
                    row.push_back(to_number(*key, *value));
            if (row.size() == keys.size()) out.push_back(std::move(row));
        }
        return out;
    }

    Experiment const& experiment_;
    Space const& space_;
    TpeConfig config_;
    Fidelity fidelity_ = Fidelity::last;
    Fresh fresh_;
    Keys joint_, single_;
};

}  // namespace

std::size_t good_results(std::size_t results) { return std::min<std::size_t>((results + 9) / 10, 25); }

Split split_results(History const& history, Fidelity fidelity, std::size_t startup) {
    int const epochs = fidelity == Fidelity::deepest ? deepest_level(history, startup) : 0;
    Split out;
    if (fidelity == Fidelity::deepest && epochs == 0) return out;
    std::vector<std::pair<double, std::size_t>> results;
    for (std::size_t i = 0; i < history.size(); ++i) {
        auto const& trial = history.trials()[i];
        if (auto const loss = loss_for(trial, epochs))
            results.emplace_back(*loss, i);
        else if (trial.state == TrialHistory::State::running)
            out.bad.push_back(i);
    }
    if (results.size() < startup) return {};
    auto const n = good_results(results.size());
    std::partial_sort(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(n), results.end());
    for (std::size_t i = 0; i < results.size(); ++i)
        (i < n && results[i].first != k_worst ? out.good : out.bad).push_back(results[i].second);
    std::sort(out.good.begin(), out.good.end());
    std::sort(out.bad.begin(), out.bad.end());
    if (out.bad.size() > k_most_bad) out.bad.erase(out.bad.begin(), out.bad.end() - k_most_bad);
    return out;
}

std::unique_ptr<Sampler> make_tpe(Experiment const& experiment, Space const& space) {
    return std::make_unique<Tpe>(experiment, space);
}

}  // namespace hopscotch
