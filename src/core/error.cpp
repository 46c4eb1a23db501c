// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include <algorithm>
#include <new>
#include <system_error>

namespace hopscotch {

std::string where(std::source_location const& at) {
    std::string_view file = at.file_name();
    if (auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
    return std::string(file) + ":" + std::to_string(at.line());
}

bool is_resumable(std::exception const& error) {
    return dynamic_cast<CommError const*>(&error) != nullptr || dynamic_cast<IoError const*>(&error) != nullptr;
}

std::string words_of(std::exception const& error) {
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr)
        return "there is not enough memory; look at `ulimit -v`, the memory of the batch job, and the other processes here";
    auto const* system = dynamic_cast<std::system_error const*>(&error);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
        return "a thread cannot be started (Resource temporarily unavailable); raise `ulimit -v` or `ulimit -u`, or start "
               "fewer trainers on this host";
    std::string text = error.what();
    // The text that LibTorch adds for its developers: hints, and the stack of the throw.
    for (auto const* addition : {"\nSearch for `cuda", "\nCUDA kernel errors might", "\nException raised from "})
        text.erase(std::min(text.find(addition), text.size()));
    return text;
}

}  // namespace hopscotch
