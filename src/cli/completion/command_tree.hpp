// SPDX-License-Identifier: Apache-2.0
// The command line as plain data: the source of shell completions and of the manual page.
#pragma once
#include <string>
#include <vector>

namespace hopscotch {

class Command;

enum class ValueKind { none, anything, file, directory, words, settings };

// An option or a positional argument.
struct CommandArgument {
    std::vector<std::string> names;  // "-h", "--help"; of a positional its one name
    std::string value;               // the help's name for the value: "FILE", "yes|no"; empty: the option has no value
    std::string default_value;
    std::string text;
    ValueKind kind;
    std::vector<std::string> words;  // of ValueKind::words
    bool required, repeats;
};

struct CommandNode {
    std::string path;  // "hopscotch data import"
    std::string summary, footer;
    std::vector<CommandArgument> options, positionals;
    std::vector<CommandNode> commands;

    std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// The words that stand for a name in the help: MODEL, STRATEGY.
struct KnownWords {
    std::vector<std::string> models, strategies;
};

// Local. Hidden commands and options are left out.
CommandNode command_tree(Command const& command, KnownWords const& known);

}  // namespace hopscotch
