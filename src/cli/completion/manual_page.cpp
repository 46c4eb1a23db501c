// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/completion/scripts.hpp"

namespace hopscotch {
namespace {

// Text of one line: no request at its beginning, and hyphens that can be copied.
std::string roff(std::string_view text) {
    std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (char const each : text) {
        if (each == '\\')
            out += "\\e";
        else if (each == '-')
            out += "\\-";
        else
            out += each == '\n' ? ' ' : each;
    }
    return out;
}

// "See hopscotch(1)": lines in columns stay as they are, other lines are filled.
void add_footer(std::string& out, std::string const& footer) {
    for (std::size_t at = 0; at < footer.size();) {
        auto const end = std::min(footer.find('\n', at), footer.size());
        auto const line = footer.substr(at, end - at);
        if (line.find("  ") != std::string::npos)
            out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(line));
        else if (!line.empty())
            out += fmt::format(".PP\n{}\n", roff(line));
        at = end + 1;
    }
}

std::string names_of(CommandArgument const& argument) {
    std::vector<std::string> names;
    for (auto const& name : argument.names) names.push_back("\\fB" + roff(name) + "\\fR");
    return fmt::format("{}", fmt::join(names, ", "));
}

void add_argument(std::string& out, CommandArgument const& argument, bool positional) {
    auto const value = argument.value.empty() ? "" : "\\fI" + roff(argument.value) + "\\fR";
    auto const repeats = argument.repeats && argument.value.find("...") == std::string::npos ? " ..." : "";
    out += fmt::format(".TP\n{}{}{}{}\n", positional ? "" : names_of(argument), positional || value.empty() ? "" : " ",
                       value, repeats);
    out += roff(argument.text.empty() ? argument.names.front() : argument.text);
    if (!argument.default_value.empty()) out += " (default: " + roff(argument.default_value) + ")";
    out += argument.required && !positional ? ". Required.\n" : "\n";
}

void add_synopsis(std::string& out, CommandNode const& node) {
    if (!out.ends_with(".SH SYNOPSIS\n")) out += ".br\n";
    out += fmt::format(".B {}\n", roff(node.path));
    if (!node.options.empty()) out += "[\\fIoptions\\fR]\n";
    for (auto const& argument : node.positionals) {
        auto const repeats = argument.repeats && argument.value.find("...") == std::string::npos ? " ..." : "";
        auto const text = fmt::format("\\fI{}\\fR{}", roff(argument.value), repeats);
        out += argument.required ? text + "\n" : "[" + text + "]\n";
    }
}

template <class Do>
void for_each_leaf(CommandNode const& node, Do const& act) {
    if (node.commands.empty()) return act(node);
    for (auto const& command : node.commands) for_each_leaf(command, act);
}

void add_command(std::string& out, CommandNode const& node) {
    out += fmt::format(".SS {}\n{}.\n", roff(node.path), roff(node.summary));
    for (auto const& argument : node.positionals) add_argument(out, argument, true);
    for (auto const& option : node.options)
        if (option.names.back() != "--help") add_argument(out, option, false);
    add_footer(out, node.footer);
}

constexpr char const* k_files = R"(.SH FILES
.TP
.I journal.jsonl
In a run directory: one line for each lap, decision and file. A resumed run reads it.
.TP
.I summary.json
In a run directory: the result of the run.
.TP
.I report.html
In a run directory: the run as one page, with pictures.
.SH ENVIRONMENT
.TP
.B HOPSCOTCH_START_DEADLINE_S
Seconds that a trainer waits for rank 0 at the start of a job.
)";

}  // namespace

std::string manual_page(CommandNode const& root, std::string const& version) {
    auto out =
        fmt::format(".\\\" Made by: hopscotch man\n.TH HOPSCOTCH 1 \"\" \"Hopscotch {}\" \"User Commands\"\n", version);
    out += ".SH NAME\nhopscotch \\- train many deep\\-learning models at once\n.SH SYNOPSIS\n";
    for_each_leaf(root, [&](CommandNode const& node) { add_synopsis(out, node); });
    out += ".SH DESCRIPTION\n" + roff(root.summary) +
           "\nAn experiment file in JSON names the data, the model, the searched settings and the strategy.\n"
           ".SH OPTIONS\n";
    for (auto const& option : root.options) add_argument(out, option, false);
    out += ".SH COMMANDS\nEach command also has the option \\fB\\-\\-help\\fR.\n";
    for_each_leaf(root, [&](CommandNode const& node) { add_command(out, node); });
    out += ".SH EXIT STATUS\n";
    for (auto const* row : {"0\nDone.", "1\nFailed.", "2\nBad input; nothing was written or trained.",
                            "75\nInterrupted; \\fBhopscotch run \\-\\-resume\\fR continues the run."})
        out += fmt::format(".TP\n.B {}\n", row);
    return out + k_files;
}

}  // namespace hopscotch
