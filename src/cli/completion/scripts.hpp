// SPDX-License-Identifier: Apache-2.0
// Texts made from the tree of commands: completion for shells, and the manual page.
#pragma once
#include <string>
#include <vector>

#include "cli/completion/command_tree.hpp"

namespace hopscotch {

// Scripts to be sourced, or to be put where the shell looks for completions. Settings: the keys of the experiment file that
// --set can change.
std::string bash_completion(CommandNode const& root, std::vector<std::string> const& settings);
std::string zsh_completion(CommandNode const& root, std::vector<std::string> const& settings);

// hopscotch.1 in roff, with the macros of man(7).
std::string manual_page(CommandNode const& root, std::string const& version);

}  // namespace hopscotch
