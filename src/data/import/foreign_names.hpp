// SPDX-License-Identifier: Apache-2.0
// Names that sources bring along (folders, files, arrays, text labels) are UTF-8, or the import ends: with broken characters
// two names could become equal, and no program could write them down.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace hopscotch {

// The text with every byte that is not UTF-8 as \xf6, for messages and for names of sources in dataset.json.
std::string readable_name(std::string_view text);
inline std::string file_name(std::filesystem::path const& path) { return readable_name(path.filename().string()); }

// Throws DataError "<place>: <what> 'Malm\xf6' is not UTF-8; <cure>".
void require_utf8(std::string_view name, std::string_view place, std::string_view what, std::string_view cure);

}  // namespace hopscotch
