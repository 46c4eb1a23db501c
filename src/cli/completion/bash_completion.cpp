// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/scripts.hpp"

namespace hopscotch {
namespace {

// Bash cuts a line at = and : too. The words are put together again, and the answer is cut where bash cuts.
constexpr char const* k_bash_head = R"(# Completion of hopscotch for bash (4.2 or later). Made by: hopscotch completion bash
# SPDX-License-Identifier: Apache-2.0

_hopscotch_complete() {  # kind of the value, its beginning
    local word=$2 found
    case $1 in
        file) compopt -o filenames; mapfile -t found < <(compgen -f -- "$word") ;;
        directory) compopt -o filenames; mapfile -t found < <(compgen -d -- "$word") ;;
        settings) compopt -o nospace; mapfile -t found < <(compgen -W "$_hopscotch_settings" -- "$word") ;;
        words:*) mapfile -t found < <(compgen -W "${1#words:}" -- "$word") ;;
        *) found=() ;;
    esac
    COMPREPLY=("${found[@]}")
}

_hopscotch() {
    COMPREPLY=()
    local commands options arguments command='' word='' pending='' place=0 i words=()
    local -A values
    for ((i = 1; i <= COMP_CWORD; ++i)); do
        if [[ $word == *= || (-n $word && ${COMP_WORDS[i]} == =*) ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
        word=${words[${#words[@]} - 1]}
    done
    _hopscotch_facts ''
    for ((i = 0; i + 1 < ${#words[@]}; ++i)); do
        if [[ -n $pending ]]; then
            pending=''
        elif [[ ${words[i]} == -* ]]; then
            [[ ${words[i]} == *=* ]] || pending=${values[${words[i]}]}
        elif [[ " $commands " == *" ${words[i]} "* ]]; then
            command+=" ${words[i]}"
            _hopscotch_facts "$command"
        else
            place=$((place + 1))
        fi
    done
    local value=${word#*=}
    if [[ -n $pending ]]; then
        _hopscotch_complete "$pending" "$word"
    elif [[ $word == --*=* ]]; then
        _hopscotch_complete "${values[${word%%=*}]}" "$value"
        [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/${word%%=*}=}")
    elif [[ $word == -* ]]; then
        _hopscotch_complete "words:$options" "$word"
    elif [[ -n $commands ]]; then
        _hopscotch_complete "words:$commands" "$word"
    else
        local last=$((${#arguments[@]} - 1))
        ((place <= last)) || place=$last
        ((place < 0)) || _hopscotch_complete "${arguments[place]}" "$word"
    fi
}
)";

std::string kind_text(CommandArgument const& argument) {
    switch (argument.kind) {
        case ValueKind::none: return "";
        case ValueKind::anything: return "anything";
        case ValueKind::file: return "file";
        case ValueKind::directory: return "directory";
        case ValueKind::settings: return "settings";
        case ValueKind::words: break;
    }
    return fmt::format("words:{}", fmt::join(argument.words, " "));
}

void add_facts(std::string& out, CommandNode const& node) {
    std::vector<std::string> commands, options, values, arguments;
    for (auto const& command : node.commands) commands.push_back(command.name());
    for (auto const& option : node.options)
        for (auto const& name : option.names) {
            options.push_back(name);
            if (option.kind != ValueKind::none) values.push_back(fmt::format("[{}]='{}'", name, kind_text(option)));
        }
    for (auto const& argument : node.positionals) {
        arguments.push_back(fmt::format("'{}'", kind_text(argument)));
    }
    if (!node.positionals.empty() && !node.positionals.back().repeats) arguments.emplace_back("''");
    out += fmt::format("        '{}')\n", node.path.substr(std::min(node.path.find(' '), node.path.size())));
    out += fmt::format("            commands='{}'\n            options='{}'\n", fmt::join(commands, " "),
                       fmt::join(options, " "));
    out += fmt::format("            values=({})\n            arguments=({})\n            ;;\n", fmt::join(values, " "),
                       fmt::join(arguments, " "));
    for (auto const& command : node.commands) add_facts(out, command);
}

}  // namespace

std::string bash_completion(CommandNode const& root, std::vector<std::string> const& settings) {
    std::string out = k_bash_head;
    out += fmt::format("\n_hopscotch_settings='{}='\n", fmt::join(settings, "= "));
    out += "\n_hopscotch_facts() {  # of the command: sets commands, options, values and arguments\n    case $1 in\n";
    add_facts(out, root);
    return out + "    esac\n}\n\ncomplete -F _hopscotch hopscotch\n";
}

}  // namespace hopscotch
