// SPDX-License-Identifier: Apache-2.0
#include "job/extension.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "experiment/config.hpp"
#include "experiment/procedures.hpp"
#include "rundir/journal.hpp"

namespace hopscotch {
namespace {

// Also orders that have not come with a lap.
std::vector<Order::Kind> orders_in(Journal const& journal) {
    std::vector<Order::Kind> out;
    for (auto const& order : journal.orders) out.push_back(order.kind);
    for (auto const& lap : journal.laps)
        for (auto const& order : lap.orders) out.push_back(order.kind);
    return out;
}

std::vector<std::string_view> extendable_procedures() {
    std::vector<std::string_view> out;
    for (auto const& row : procedure_traits())
        if (row.more_trials != MoreTrials::never) out.push_back(row.name);
    return out;
}

bool stops_early(Experiment const& experiment) {
    auto const in_space = [](auto const& member) { return member.key.starts_with("train.early_stopping"); };
    return experiment.train.early_stopping.patience > 0 ||
           (experiment.space.is_object() && std::ranges::any_of(experiment.space.object(), in_space));
}

// Clones have the numbers after the trials that the search knew.
std::string why_not_after(std::vector<Order::Kind> const& orders) {
    if (std::ranges::count(orders, Order::Kind::clone) > 0)
        return "a user has cloned a trial, and its number would be that of a new trial";
    if (std::ranges::count(orders, Order::Kind::finish) > 0)
        return "an order or a limit of hours has finished the run, so that no trial starts any more";
    return "";
}

// A budget is a promise of the run, and does not change.
std::string why_not_within(SearchBudget const& budget, std::int64_t before, Journal const& journal) {
    if (budget.trials && *budget.trials <= before)
        return fmt::format(
            "search.budget.trials lets no more than {} begin; a new run can go on from this one with "
            "search.start_from",
            *budget.trials);
    if (budget.epochs && std::ssize(journal.laps) >= *budget.epochs)
        return fmt::format(
            "the {} epochs of search.budget.epochs are spent; a new run can go on from this one with "
            "search.start_from",
            *budget.epochs);
    return "";
}

}  // namespace

std::string why_not_more_trials(Json const& before, Experiment const& now, Journal const& journal) {
    auto const& search = now.search;
    auto const& traits = procedure_traits(search.procedure);
    if (traits.more_trials == MoreTrials::never)
        return fmt::format(
            "what {} decides depends on the number of trials; {} can get more, and a new run can go on from "
            "this one with search.start_from",
            search.procedure, fmt::join(extendable_procedures(), ", "));
    if (!before.is_integer() || !search.trials) return "it must be a number before and now";
    if (search.copies.race) return "search.race has compared the configurations, and their copies have the next numbers";
    if (*search.trials < before.integer())
        return fmt::format("a run keeps its trials; resume it with --set search.trials={}", before.integer());
    if (search.budget.target || search.budget.patience)
        return "search.budget.target and patience end the search by its results";
    if (auto why = why_not_within(search.budget, before.integer(), journal); !why.empty()) return why;
    auto const orders = orders_in(journal);
    if (auto why = why_not_after(orders); !why.empty()) return why;
    if (traits.more_trials != MoreTrials::if_undisturbed) return "";
    if (!orders.empty()) return fmt::format("after orders, {} would decide otherwise", search.procedure);
    if (stops_early(now)) return fmt::format("with train.early_stopping, {} would decide otherwise", search.procedure);
    return "";
}

}  // namespace hopscotch
