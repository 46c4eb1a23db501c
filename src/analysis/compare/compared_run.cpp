// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/compared_run.hpp"

#include "experiment/strategy_label.hpp"

namespace hopscotch {

std::string ComparedRun::status() const {
    auto const* status = summary.find("status");
    return status != nullptr && status->is_string() ? status->string() : "not ended";
}

ComparedRun read_compared_run(std::string const& dir) {
    ComparedRun out{read_run(dir), {}, read_summary(dir), read_metric_lines(dir)};
    out.label = strategy_label(out.recorded.facts.experiment, out.recorded.facts.strategy);
    return out;
}

}  // namespace hopscotch
