// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_file.hpp"

#include <utility>

#include "rundir/metrics.hpp"

namespace hopscotch {

void MetricsFile::append(TrialId trial, Metrics const& metrics, double wall_s) {
    Json line = Json::object({{"trial", trial.value}});
    auto rest = to_json(metrics);  // named: a range-for does not keep a temporary's parts alive
    for (auto& member : rest.object()) line[member.key] = std::move(member.value);
    line["wall_s"] = wall_s;
    file_.append(line.dump() + "\n");
}

}  // namespace hopscotch
