// SPDX-License-Identifier: Apache-2.0
#include "search/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/procedures.hpp"
#include "search/list.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_configurations = 1'000'000;

// Counts like an odometer whose last digit turns fastest.
class Odometer {
public:
    explicit Odometer(std::vector<std::vector<Json>> const& values) : values_(values), digits_(values.size(), 0) {}

    std::vector<std::size_t> const& digits() const { return digits_; }
    bool turn() {  // false after the last position
        for (std::size_t i = digits_.size(); i-- > 0;) {
            if (++digits_[i] < values_[i].size()) return true;
            digits_[i] = 0;
        }
        return false;
    }

private:
    std::vector<std::vector<Json>> const& values_;
    std::vector<std::size_t> digits_;
};

// None if an inactive parameter has a value other than its first: another position stands for that configuration.
std::optional<Assignment> configuration(Space const& space, std::vector<std::vector<Json>> const& values,
                                        std::vector<std::size_t> const& digits) {
    Assignment out;
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        if (is_active(parameter, out))
            out.emplace_back(parameter.path, values[index][digits[index]]);
        else if (digits[index] != 0)
            return std::nullopt;
    }
    return in_order(space, out);
}

}  // namespace

std::optional<std::vector<Assignment>> every_configuration(Space const& space) {
    std::vector<std::vector<Json>> values;
    std::size_t product = 1;
    for (auto const& parameter : space.parameters) {
        auto each = all_values(parameter);
        if (!each || each->empty()) return std::nullopt;
        if (each->size() > k_most_configurations / product) return std::nullopt;
        product *= each->size();
        values.push_back(std::move(*each));
    }
    std::vector<Assignment> out;
    Odometer odometer(values);
    do {
        auto next = configuration(space, values, odometer.digits());
        if (next && !is_forbidden(space, *next)) out.push_back(std::move(*next));
    } while (odometer.turn());
    return out;
}

std::unique_ptr<Sampler> make_grid(Experiment const& experiment, Space const& space) {
    auto all = every_configuration(space);
    if (!all)
        throw ConfigError(
            "/space: has more than a million points (a grid trains them all); list fewer values, or use "
            "the procedure random");
    auto const outside = static_cast<std::size_t>(
        std::count_if(space.start_with.begin(), space.start_with.end(),
                      [&](Assignment const& start) { return std::find(all->begin(), all->end(), start) == all->end(); }));
    auto const there = all->size() + outside;
    auto const& search = experiment.search;
    if (there == 0)
        throw ConfigError("/search/forbid: excludes every configuration (nothing is left to train); remove a condition");
    if (search.trials && *search.trials < static_cast<std::int64_t>(there))
        throw ConfigError(
            fmt::format("/search/trials: grid tries all {} configurations ({} trials would leave some out); leave it out or "
                        "use the {} random",
                        there, *search.trials, procedure_traits(search.procedure).has_rule ? "sampler" : "procedure"));
    return std::make_unique<List>(std::move(*all));
}

}  // namespace hopscotch
