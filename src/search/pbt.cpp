// SPDX-License-Identifier: Apache-2.0
// Population based training without a barrier: at its own decision points a trial is ranked by the last losses of all
// trials. If it is among the worst it takes over the state that one of the best had after its last reported lap, and
// explores from there.
#include "search/pbt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rng.hpp"
#include "experiment/reader.hpp"
#include "experiment/steps.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

constexpr int k_explorations = 100;

std::size_t one_of(std::size_t n, Uniform const& uniform) {
    return std::min(static_cast<std::size_t>(uniform() * static_cast<double>(n)), n - 1);
}

Json neighbour(Parameter const& parameter, Json const& value, Uniform const& uniform) {
    auto const& values = parameter.values;
    auto const at = static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
    bool const up = uniform() < 0.5;
    if (at == values.size()) return values[one_of(values.size(), uniform)];
    if (up) return values[std::min(at + 1, values.size() - 1)];
    return values[at == 0 ? 0 : at - 1];
}

Json perturbed(Parameter const& parameter, double value, double factor) {
    double const next = value * factor;
    if (!has_steps(parameter)) return Json(std::clamp(next, parameter.low, parameter.high));
    // By at least one step: 1 * 0.8 must not become 1 again, or 0.
    auto const step_at = [&](double v) { return std::nearbyint((v - parameter.low) / step_of(parameter)); };
    double i = step_at(next);
    if (i == step_at(value) && factor != 1) i += (factor > 1) == (value >= 0) ? 1 : -1;
    return step_value(parameter, i);
}

Json explored_value(Parameter const& parameter, Json const& from, PbtConfig const& config, Uniform const& uniform) {
    if (parameter.type == Parameter::Type::constant) return parameter.values.front();
    if (uniform() < config.resample) return draw(parameter, uniform);
    if (parameter.type == Parameter::Type::choice) return neighbour(parameter, from, uniform);
    return perturbed(parameter, from.number(), config.factors[one_of(config.factors.size(), uniform)]);
}

class Pbt : public Rule {
public:
    Pbt(Experiment const& experiment, Space const& space)
        : experiment_(experiment), space_(space), config_(experiment.search.rule.pbt), last_(most_epochs(experiment)) {}

    bool wants() const override { return members_.size() < static_cast<std::size_t>(config_.population); }
    int start(TrialId trial, int) override {
        members_.push_back(trial);
        cloned_at_.push_back(-1);
        return std::min(config_.interval, last_);
    }
    bool clones() const override { return true; }
    void fail(TrialId, History const&) override {}

    Verdict decide(TrialId trial, History const& history) override {
        int const epochs = history.of(trial).epochs();
        Verdict out;
        out.until_epoch = std::min(epochs + config_.interval, last_);
        if (epochs >= last_) return out;
        auto const ranked = alive(history);
        auto const n = quantile_size(ranked.size(), config_.quantile);
        auto const place = static_cast<std::size_t>(std::find(ranked.begin(), ranked.end(), trial) - ranked.begin());
        if (place + n < ranked.size()) return out;
        Rng rng(stream_key(static_cast<std::uint64_t>(experiment_.seed), Purpose::search, {trial.value, epochs}));
        auto const donor = ranked[rng.below(static_cast<std::uint32_t>(n))];
        cloned_at_[trial.index()] = epochs;
        out.kind = Verdict::Kind::clone;
        out.source = donor;
        out.source_epoch = history.of(donor).epochs() - 1;
        out.assignment = allowed(history.of(donor).assignment, rng);
        out.why = fmt::format("epoch {}: rank {} of {}, takes over trial {} after its epoch {}", epochs, place + 1,
                              ranked.size(), donor.value, out.source_epoch + 1);
        return out;
    }

private:
    // Best first, by the last loss, equals by id. Trials that have ended are not donors: their states may be gone. A trial
    // that has just taken over another state is not a donor before it has a loss.
    std::vector<TrialId> alive(History const& history) const {
        std::vector<std::pair<double, TrialId>> ranked;
        for (auto member : members_)
            if (auto const& each = history.of(member); each.state != TrialHistory::State::ended && !each.losses.empty() &&
                                                       each.epochs() != cloned_at_[member.index()])
                ranked.emplace_back(each.losses.back(), member);
        std::sort(ranked.begin(), ranked.end());
        std::vector<TrialId> out;
        out.reserve(ranked.size());
        for (auto const& [loss, member] : ranked) out.push_back(member);
        return out;
    }

    // A forbidden or refused configuration is explored again; the donor's own values are always good.
    Assignment allowed(Assignment const& from, Rng& rng) const {
        for (int i = 0; i < k_explorations; ++i) {
            auto next = explored(space_, from, config_, [&] { return rng.uniform(); });
            Problems refused("");
            if (is_forbidden(space_, next)) continue;
            resolve(experiment_, next, refused);
            if (refused.empty()) return next;
        }
        return from;
    }

    Experiment const& experiment_;
    Space const& space_;
    PbtConfig config_;
    int last_;
    std::vector<TrialId> members_;
    std::vector<int> cloned_at_;  // by trial: its epochs at the last order to clone; -1
};

}  // namespace

std::size_t quantile_size(std::size_t members, double quantile) {
    if (members < 2) return 0;
    auto const size = static_cast<std::size_t>(std::ceil(static_cast<double>(members) * quantile - 1e-9));
    return std::min(size, members / 2);
}

Assignment explored(Space const& space, Assignment const& from, PbtConfig const& config, Uniform const& uniform) {
    Assignment out;
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        if (!is_active(parameter, out)) continue;
        auto const* value = value_of(from, parameter.path);  // none: it has become active with this step
        out.emplace_back(parameter.path,
                         value != nullptr ? explored_value(parameter, *value, config, uniform) : draw(parameter, uniform));
    }
    return in_order(space, out);
}

std::unique_ptr<Rule> make_pbt(Experiment const& experiment, Space const& space) {
    return std::make_unique<Pbt>(experiment, space);
}

}  // namespace hopscotch
