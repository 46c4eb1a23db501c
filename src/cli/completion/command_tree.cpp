// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/command_tree.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "cli/common/command.hpp"

namespace hopscotch {
namespace {

std::vector<std::string> parts_of(std::string const& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= text.size();) {
        auto const end = std::min(text.find('|', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

// The help's word for a value names the possible values.
void add_kind(CommandArgument& argument, KnownWords const& known) {
    static std::map<std::string, ValueKind> const kinds{
        {"FILE", ValueKind::file},         {"FILE.json", ValueKind::file},      {"FILE.csv", ValueKind::file},
        {"ROWS", ValueKind::file},         {"DIR", ValueKind::directory},       {"RUN_DIR", ValueKind::directory},
        {"DATASET", ValueKind::directory}, {"FOLDER", ValueKind::directory},    {"MODEL", ValueKind::words},
        {"STRATEGY", ValueKind::words},    {"PATH=VALUE", ValueKind::settings},
    };
    auto const found = kinds.find(argument.value);
    bool const choice = argument.value.find('|') != std::string::npos;
    argument.kind = choice ? ValueKind::words : found != kinds.end() ? found->second : ValueKind::anything;
    if (choice) argument.words = parts_of(argument.value);
    if (argument.value == "MODEL") argument.words = known.models;
    if (argument.value == "STRATEGY") argument.words = known.strategies;
}

CommandArgument argument_of(CLI::Option const& option, KnownWords const& known) {
    CommandArgument out{};
    for (auto const& name : option.get_snames()) out.names.push_back("-" + name);
    for (auto const& name : option.get_lnames()) out.names.push_back("--" + name);
    if (option.get_positional()) out.names = {option.get_name(true)};
    out.text = option.get_description();
    out.default_value = option.get_default_str();
    out.required = option.get_required();
    out.repeats = option.get_items_expected_max() > 1;
    if (option.get_items_expected_max() == 0) return out;
    out.value = option.get_type_name();
    out.value.resize(std::min(out.value.find(':'), out.value.size()));  // without the text that checks the value
    add_kind(out, known);
    return out;
}

CommandNode node_of(CLI::App const& app, std::string const& before, KnownWords const& known) {
    CommandNode out;
    out.path = before + app.get_name();
    out.summary = app.get_description();
    out.footer = app.get_footer();
    for (auto const* option : app.get_options())
        if (!option->get_group().empty())
            (option->get_positional() ? out.positionals : out.options).push_back(argument_of(*option, known));
    for (auto const* command : app.get_subcommands([](CLI::App const* each) { return !each->get_group().empty(); }))
        out.commands.push_back(node_of(*command, out.path + " ", known));
    return out;
}

}  // namespace

CommandNode command_tree(Command const& command, KnownWords const& known) { return node_of(command.app(), "", known); }

}  // namespace hopscotch
