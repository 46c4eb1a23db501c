// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/lap_codec.hpp"

#include "core/json_reader.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {

std::string text_of(Assignment const& assignment) { return to_json(assignment).dump(); }

Assignment assignment_from_text(std::string const& text) { return assignment_from_json(parse_json_or_throw(text, "lap")); }

}  // namespace hopscotch
