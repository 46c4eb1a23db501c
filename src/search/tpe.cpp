// SPDX-License-Identifier: Apache-2.0
#include "search/tpe.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/rng.hpp"
#include "search/axis.hpp"
#include "search/draw.hpp"
#include "search/parzen.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

constexpr int k_model_draws = 20;  // to find something new with the model, before a random draw does it
constexpr std::size_t k_most_good = 25, k_most_good_of_several = 100;
constexpr std::size_t k_most_bad = 1000;  // the newest: the cost of a proposal must not grow for ever

// Trials that fell back count as results too, but the good ones are the best third of the others at most: a rule lets few go
// far.
std::size_t good_of(std::size_t judged, std::size_t left_behind, std::size_t objectives) {
    return std::min(good_results(judged + left_behind, objectives), (judged + 2) / 3);
}

// Whether each of the points is among the best `count`.
std::vector<bool> best_by_loss(std::vector<Point> const& points, std::size_t count) {
    std::vector<std::pair<double, std::size_t>> ordered;
    for (std::size_t i = 0; i < points.size(); ++i) ordered.emplace_back(points[i].losses[0], i);
    std::ranges::nth_element(ordered, ordered.begin() + static_cast<std::ptrdiff_t>(count) - 1);
    std::vector<bool> out(points.size());
    for (std::size_t i = 0; i < count; ++i) out[ordered[i].second] = true;
    return out;
}

std::vector<bool> best_by_fronts(std::vector<Point> const& points, std::size_t count, std::size_t objectives) {
    std::vector<bool> out(points.size());
    for (auto const& front : fronts_of(points)) {
        auto const taken = std::min(count, front.size());
        if (taken == front.size()) {
            for (auto const i : front) out[i] = true;
        } else {
            for (auto const i : hypervolume_subset(losses_of(points, front), taken, objectives)) out[front[i]] = true;
        }
        count -= taken;
        if (count == 0) break;
    }
    return out;
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
    Tpe(Experiment const& experiment, Space const& space)
        : experiment_(experiment),
          space_(space),
          judging_(judging_of(experiment, static_cast<std::size_t>(experiment.search.proposals.tpe.startup))),
          model_(space, experiment.search.proposals.tpe, judging_.objectives),
          fresh_(space) {}

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        auto const split = split_results(history, judging_);
        for (int i = 0; i < k_model_draws && !split.good.empty(); ++i)
            if (auto found = model_.propose(history, split, uniform);
                !is_forbidden(space_, found) && !history.has_seen(found))
                return found;
        return fresh_.find(history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    Experiment const& experiment_;
    Space const& space_;
    Judging judging_;
    TpeModel model_;
    Fresh fresh_;
};

}  // namespace

std::size_t good_results(std::size_t results, std::size_t objectives) {
    auto const tenth = (results + 9) / 10;
    return std::min(tenth, objectives == 1 ? k_most_good : k_most_good_of_several);
}

GoodAndBad split_results(History const& history, Judging const& judging) {
    auto const [judged, points, others, left_behind] = judge(history, judging);
    GoodAndBad out;
    if (judged.empty() || judged.size() < judging.startup) return out;
    auto const count = good_of(judged.size(), left_behind, judging.objectives);
    auto const is_good =
        judging.objectives == 1 ? best_by_loss(points, count) : best_by_fronts(points, count, judging.objectives);
    for (std::size_t i = 0; i < judged.size(); ++i)
        (is_good[i] && !has_failed(points[i]) ? out.good : out.bad).push_back(judged[i]);
    auto const results = static_cast<std::ptrdiff_t>(out.bad.size());
    out.bad.insert(out.bad.end(), others.begin(), others.end());
    std::inplace_merge(out.bad.begin(), out.bad.begin() + results, out.bad.end());
    if (out.bad.size() > k_most_bad) out.bad.erase(out.bad.begin(), out.bad.end() - k_most_bad);
    return out;
}

TpeModel::TpeModel(Space const& space, TpeConfig const& config, std::size_t objectives)
    : space_(space),
      candidates_(config.candidates),
      weights_of_good_(objectives == 1 ? Parzen::Weights::newer_more : Parzen::Weights::equal) {
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
                         value != nullptr ? *value : to_value(parameter, is_range(parameter) ? parameter.low : 0));
    }
    return in_order(space_, out);
}

void TpeModel::choose(History const& history, GoodAndBad const& split, Keys const& keys, Uniform const& uniform,
                      Assignment& out) const {
    std::vector<Axis> axes;
    for (auto const* key : keys) axes.push_back(axis_of(*key));
    Parzen const good(axes, rows_of(history, split.good, keys), weights_of_good_);
    for (auto& axis : axes) axis.prior = nullptr;  // it says where good results are expected
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
