// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "schedule/lap_metric.hpp"

namespace hopscotch {

Metrics metrics_of(LapRecord const& record, LossKind loss) {
    Metrics out;
    out.rows = totals_of(record).rows;
    out.epoch = record.epoch;
    std::ranges::transform(metric_traits(), out.values.begin(),
                           [&](auto const& metric) { return lap_metric(record, metric, loss); });
    out.own = record.valid.own;
    out.lr = record.state.lr;
    return out;
}

double& metric_place(Metrics& metrics, std::string_view name) {
    auto const row = &metric_traits(name) - metric_traits().data();
    return metrics.values[static_cast<std::size_t>(row)];
}

double metric_value(Metrics const& metrics, std::string_view name) {
    if (may_be_own_metric(name)) {
        auto const found = std::ranges::find(metrics.own, name, &OwnScore::name);
        return found == metrics.own.end() ? k_no_score : found->value;
    }
    auto const row = &metric_traits(name) - metric_traits().data();
    return metrics.values[static_cast<std::size_t>(row)];
}

bool better(double a, double b, Mode mode) {
    if (!std::isfinite(a)) return false;
    if (!std::isfinite(b)) return true;
    return mode == Mode::max ? a > b : a < b;
}

Json to_json(Metrics const& metrics) {
    auto out = Json::object({{"epoch", metrics.epoch}});
    for (std::size_t row = 0; row < metrics.values.size(); ++row) out[metric_traits()[row].name] = metrics.values[row];
    for (auto const& score : metrics.own) out[score.name] = score.value;
    out["lr"] = metrics.lr;
    out["rows"] = metrics.rows;
    return out;
}

Json test_to_json(Metrics const& test) {
    auto out = Json::object({{"epoch", test.epoch}});
    for (auto const& metric : metric_traits())
        if (metric.is_of_validation()) out[metric.short_name()] = metric_value(test, metric.name);
    for (auto const& score : test.own) out[score.name.substr(4)] = score.value;
    out["rows"] = test.rows;
    return out;
}

double end_unix_s(LapRecord const& record) {
    return std::max(record.valid.start_unix_s + record.valid.seconds, totals_of(record).end_unix_s);
}

}  // namespace hopscotch
