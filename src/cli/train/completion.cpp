// SPDX-License-Identifier: Apache-2.0
// hopscotch completion, hopscotch man: texts about the command line, written from the command line.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/common/commands.hpp"
#include "cli/completion/command_tree.hpp"
#include "cli/completion/scripts.hpp"
#include "cli/train/whole_schema.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/build_info.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace {

CommandNode tree_of(Command const& hopscotch) {
    KnownWords known{{}, strategy_names()};
    for (auto const& model : zoo()) known.models.push_back(model.name);
    return command_tree(hopscotch, known);
}

// The schema calls a key by its path. "model.width.2" is the key of a second model; ".." stands for any key.
std::vector<std::string> settings() {
    std::set<std::string> out;
    auto const schema = whole_schema();
    for (auto const& definition : schema.at("definitions").object()) {
        auto const& path = definition.key;
        auto const* type = definition.value.find("type");
        if (type != nullptr && type->is_string() && type->string() == "object") continue;
        if (path.starts_with("$") || path.starts_with("space") || path.find("..") != std::string::npos) continue;
        auto const dot = path.rfind('.');
        auto const digits =
            dot != std::string::npos && std::all_of(path.begin() + static_cast<std::ptrdiff_t>(dot) + 1, path.end(),
                                                    [](unsigned char c) { return std::isdigit(c); });
        out.insert(digits ? path.substr(0, dot) : path);
    }
    out.erase("data.augment.entry");
    return {out.begin(), out.end()};
}

SubCommand for_shell(Command const& hopscotch, std::string const& shell, auto write) {
    return {shell, fmt::format("Print the script for {}", shell), [hopscotch, write](Command) {
                return on_first_rank([hopscotch, write] {
                    fmt::print("{}", write(tree_of(hopscotch), settings()));
                    return 0;
                });
            }};
}

}  // namespace

Work add_completion(Command command) {
    command.footer(
        "For this shell:            eval \"$(hopscotch completion bash)\"\n"
        "For all shells to come:    hopscotch completion bash > ~/.local/share/bash-completion/completions/hopscotch\n"
        "zsh, a folder of fpath:    hopscotch completion zsh > ~/.zfunc/_hopscotch");
    auto const hopscotch = command.parent();
    return command.add_sub_commands(
        {for_shell(hopscotch, "bash", bash_completion), for_shell(hopscotch, "zsh", zsh_completion)});
}

Work add_man(Command command) {
    command.footer("Read it:    hopscotch man | man -l -");
    return on_first_rank([hopscotch = command.parent()] {
        fmt::print("{}", manual_page(tree_of(hopscotch), build_info().version));
        return 0;
    });
}

}  // namespace hopscotch
