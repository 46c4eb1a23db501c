// SPDX-License-Identifier: Apache-2.0
#include "core/path_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace hopscotch {
namespace {

// Limits of Linux, in bytes. A made file needs room for longer names beside it ("x.0123456789abcdef.tmp") and below it.
constexpr std::size_t k_name = 255, k_path = 4095, k_made_name = 230, k_made_path = 3900, k_shown = 20;

}  // namespace

std::string too_long(std::string_view path, PathUse use) {
    std::size_t const most_name = use == PathUse::made ? k_made_name : k_name;
    std::size_t const most_path = use == PathUse::made ? k_made_path : k_path;
    for (std::size_t begin = 0; begin < path.size();) {
        auto const end = std::min(path.find('/', begin), path.size());
        if (end - begin > most_name) {
            auto cut = begin + k_shown;
            while (cut > begin && (static_cast<unsigned char>(path[cut]) & 0xc0) == 0x80) --cut;  // whole letters
            return fmt::format("the name \"{}...\" has {} bytes (at most {} are possible); choose a shorter name",
                               path.substr(begin, cut - begin), end - begin, most_name);
        }
        begin = end + 1;
    }
    if (path.size() <= most_path) return "";
    return fmt::format("the path \"{}...\" has {} bytes (at most {} are possible); choose a shorter path",
                       path.substr(0, k_shown), path.size(), most_path);
}

HomePath with_home(std::string_view path) {
    if (!path.starts_with('~')) return {std::string(path), ""};
    if (path.size() > 1 && path[1] != '/') {
        auto const name = path.substr(0, path.find('/'));
        return {
            std::string(path),
            fmt::format("{} is not known (only ~ and ~/ are: your own home directory); write the whole path, or ./{} for "
                        "a file of that name",
                        name.substr(0, k_shown), name.substr(0, k_shown))};
    }
    char const* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0')
        return {std::string(path), "~ has no meaning here (HOME is not set); write the whole path"};
    return {home + std::string(path.substr(1)), ""};
}

}  // namespace hopscotch
