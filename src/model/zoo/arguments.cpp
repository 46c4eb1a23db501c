// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hopscotch {
Check<double> fraction() {
    auto const refuse = [](double v) {
        return v >= 0 && v < 1 ? "" : fmt::format("must be at least 0 and less than 1 (got {})", v);
    };
    return {refuse, {.least = 0, .below = 1}};
}

std::string shape_text(std::vector<std::int64_t> const& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::int64_t vocabulary(DataSchema const& data) { return data.categories.size() == 1 ? data.categories.front() : 0; }

void complain_of_data(ModelConfig const& model, std::string const& why, Problems& problems) {
    problems.add(model.arguments.at_position(), "/model/name", why);
}

}  // namespace hopscotch
