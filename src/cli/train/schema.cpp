// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/common/commands.hpp"
#include "cli/train/whole_schema.hpp"
#include "experiment/schema.hpp"

namespace hopscotch {

Work add_schema(Command command) {
    auto const markdown = std::make_shared<bool>(false);
    command.add_flag("--markdown", *markdown, "The reference of all keys as a page, in place of the schema");
    command.footer(
        "For an editor: hopscotch schema > hopscotch.schema.json, and \"$schema\": \"./hopscotch.schema.json\" as "
        "the first key of the experiment.");
    return on_first_rank([markdown] {
        auto const schema = whole_schema();
        fmt::print("{}", *markdown ? schema_markdown(schema) : schema.dump(2) + "\n");
        return 0;
    });
}

}  // namespace hopscotch
