// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/completion/scripts.hpp"

namespace hopscotch {
namespace {

// Inside single quotes of an argument of _arguments or _describe.
std::string zsh_quoted(std::string_view text) {
    std::string out;
    for (char const each : text) {
        if (each == '\'')
            out += "'\\''";
        else if (std::string_view("[]:\\").find(each) != std::string_view::npos)
            out += {'\\', each};
        else
            out += each == '\n' ? ' ' : each;
    }
    return out;
}

std::string action(CommandArgument const& argument) {
    switch (argument.kind) {
        case ValueKind::none:
        case ValueKind::anything: return " ";
        case ValueKind::file: return "_files";
        case ValueKind::directory: return "_files -/";
        case ValueKind::settings: return "_hopscotch_settings";
        case ValueKind::words: break;
    }
    return fmt::format("({})", fmt::join(argument.words, " "));
}

std::string option_line(CommandArgument const& option, std::string const& name) {
    bool const has_value = option.kind != ValueKind::none;
    return fmt::format("        '{}{}{}[{}]{}'", option.repeats ? "*" : "", name,
                       !has_value               ? ""
                       : name.starts_with("--") ? "="
                                                : "+",
                       zsh_quoted(option.text),
                       has_value ? fmt::format(":{}:{}", zsh_quoted(option.value), action(option)) : "");
}

std::string function_name(CommandNode const& node) {
    auto out = "_" + node.path;
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

void add_dispatch(std::string& out, CommandNode const& node) {
    out += "    case $state in\n        command)\n            commands=(\n";
    for (auto const& command : node.commands)
        out += fmt::format("                '{}:{}'\n", command.name(), zsh_quoted(command.summary));
    out += "            )\n            _describe command commands\n            ;;\n";
    out += "        rest)\n            case $line[1] in\n";
    for (auto const& command : node.commands)
        out += fmt::format("                {}) {} ;;\n", command.name(), function_name(command));
    out += "            esac\n            ;;\n    esac\n";
}

void add_function(std::string& out, CommandNode const& node) {
    std::vector<std::string> lines;
    for (auto const& option : node.options)
        for (auto const& name : option.names) lines.push_back(option_line(option, name));
    for (auto const& argument : node.positionals)
        lines.push_back(fmt::format("        '{}:{}:{}'",
                                    argument.repeats    ? "*"
                                    : argument.required ? ""
                                                        : ":",
                                    zsh_quoted(argument.value), action(argument)));
    if (!node.commands.empty()) lines.insert(lines.end(), {"        '1: :->command'", "        '*:: :->rest'"});
    out += fmt::format("\n{}() {{\n", function_name(node));
    if (!node.commands.empty()) out += "    local state line commands\n";
    out += fmt::format("    _arguments {}\\\n{}\n", node.commands.empty() ? "" : "-C ", fmt::join(lines, " \\\n"));
    if (!node.commands.empty()) add_dispatch(out, node);
    out += "}\n";
    for (auto const& command : node.commands) add_function(out, command);
}

}  // namespace

std::string zsh_completion(CommandNode const& root, std::vector<std::string> const& settings) {
    std::string out =
        "#compdef hopscotch\n# Completion of hopscotch for zsh. Made by: hopscotch completion zsh\n"
        "# SPDX-License-Identifier: Apache-2.0\n";
    out += fmt::format("\n_hopscotch_settings() {{\n    compadd \"$@\" -S '' -- {}=\n}}\n", fmt::join(settings, "= "));
    add_function(out, root);
    return out +
           "\n# In a folder of fpath, zsh runs this file as the function. Sourced, the file names the function.\n"
           "if [[ $funcstack[1] == _hopscotch ]]; then\n    _hopscotch \"$@\"\nelse\n    compdef _hopscotch hopscotch\nfi\n";
}

}  // namespace hopscotch
