// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

namespace hopscotch {

std::string where(std::source_location const& at) {
    std::string_view file = at.file_name();
    if (auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
    return std::string(file) + ":" + std::to_string(at.line());
}

bool is_resumable(std::exception const& error) {
    return dynamic_cast<CommError const*>(&error) != nullptr || dynamic_cast<IoError const*>(&error) != nullptr;
}

}  // namespace hopscotch
