// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common/command.hpp"
#include "cli/common/wrapped_text.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/json_reader.hpp"
#include "core/log.hpp"
#include "core/path_text.hpp"
#include "core/signals.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

struct CommandSummary {
    char const *name, *text;
};

// All sub-commands, in the order of --help.
constexpr CommandSummary k_commands[] = {
    {"run", "Train every trial of an experiment"},
    {"resume", "Continue a run in its directory, with the settings that it began with"},
    {"data", "Make, inspect and verify dataset directories"},
    {"init", "Write a first experiment for a dataset, with the reason of each line"},
    {"models", "Print the models, their arguments and sizes"},
    {"schema", "Print the JSON Schema of the experiment file, for editors"},
    {"replay", "Train the trials of a run again, and compare every state hash with the journal"},
    {"predict", "Predict new rows, or those of a dataset, with the best trial of a run"},
    {"compare", "Compare runs of one experiment under different strategies"},
    {"report", "Write one HTML file about a run, or about several"},
    {"export", "Write a run as a file of another tool: an Optuna study, or a table of all epochs"},
    {"plan", "Forecast hours, bytes, memory and money of an experiment under each strategy; train nothing"},
    {"what-if", "Play searches on the results of a run or of a table; train nothing"},
    {"ctl", "Print the status of a run, or send an order to its job"},
    {"doctor", "Look for what would make a run fail or slow on these hosts"},
    {"bench", "Measure the speed of this machine"},
    {"completion", "Print a script that completes these commands in a shell"},
    {"man", "Print the manual page hopscotch(1)"},
};

std::string full_name(CLI::App const& command) {
    return command.get_parent() == nullptr ? command.get_name()
                                           : full_name(*command.get_parent()) + " " + command.get_name();
}

// The command that the words lead to, and the first word that this command does not know.
struct Reached {
    CLI::App const* command;
    std::string unknown;
    std::vector<std::string> known;  // the words that it knows
};

Reached follow(CLI::App const& app, int argc, char** argv) {
    Reached at{&app, {}, {}};
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        auto const commands = at.command->get_subcommands([](CLI::App const*) { return true; });
        if (word.starts_with("--")) {
            auto const name = word.substr(0, word.find('='));
            if (at.command->get_option_no_throw(name) != nullptr) continue;
            for (auto const* option : at.command->get_options())
                if (!option->get_lnames().empty()) at.known.push_back("--" + option->get_lnames().front());
            at.unknown = name;
            return at;
        }
        if (commands.empty()) continue;  // a positional, or an option's value
        auto const found =
            std::find_if(commands.begin(), commands.end(), [&](auto const* each) { return each->get_name() == word; });
        if (found == commands.end()) {
            for (auto const* each : commands)
                if (!each->get_group().empty()) at.known.push_back(each->get_name());
            at.unknown = word;
            return at;
        }
        at.command = *found;
    }
    return at;
}

// Prints the requested help, or the problem of the command line in clearer words than those of CLI11. Bad input is reported
// by rank 0 alone; the other ranks exit with 0, because mpirun kills all ranks at the first other exit code.
int complain(CLI::App const& app, CLI::ParseError const& error, int argc, char** argv) {
    bool const asked = error.get_exit_code() == 0;
    if (!is_first_rank()) return 0;
    if (asked) {
        std::ostringstream help;
        auto const code = app.exit(error, help, help);
        auto const window = terminal_of(1);
        fmt::print("{}", window.kind == Terminal::Kind::live ? wrapped(help.str(), static_cast<std::size_t>(window.columns))
                                                             : help.str());
        return code;
    }
    auto const reached = follow(app, argc, argv);
    auto const name = full_name(*reached.command);
    if (!reached.unknown.empty()) {
        auto const near = nearest(reached.unknown, reached.known);
        fmt::print(stderr, "unknown {} \"{}\"{} (see: {} --help)\n",
                   reached.unknown.starts_with("--") ? "option" : "command", reached.unknown,
                   near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near), name);
    } else if (!reached.command->get_subcommands([](CLI::App const*) { return true; }).empty()) {
        auto const* parent = reached.command->get_parent();
        fmt::print(stderr, "{}", reached.command->help(parent != nullptr ? full_name(*parent) : ""));
    } else {
        fmt::print(stderr, "{}: {} (see: {} --help)\n", name, error.what(), name);
    }
    return 2;
}

// The words before the sub-command are options of hopscotch itself; none of them takes a value.
std::optional<std::string_view> command_word(int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        if (argv[i][0] != '-') return argv[i];
    return std::nullopt;
}

bool has(int argc, char** argv, std::string_view option) { return std::find(argv, argv + argc, option) != argv + argc; }

// True if the command line asks for something that only the other program can do.
bool belongs_to_other_program(int argc, char** argv, Program const& program) {
    auto const word = command_word(argc, argv);
    if (!word) return !program.version && has(argc, argv, "--version");
    return std::ranges::find(k_commands, *word, [](auto const& each) { return std::string_view(each.name); }) !=
               std::end(k_commands) &&
           !program.commands.contains(std::string(*word));
}

void add_general_options(CLI::App& app, Program const& program, bool verbose) {
    app.set_version_flag(
        "--version", [&program, verbose] { return program.version() + (verbose ? "\n" + fault_points_text() : ""); },
        "Print the versions of hopscotch, LibTorch and MPI");
    app.add_flag_function("--verbose", [](std::int64_t) {}, "With --version: also the points where HOPSCOTCH_FAULT strikes");
    app.set_help_flag("-h,--help", "Print this help");
    app.get_formatter()->column_width(28);
    app.footer("Each command has its own --help. Exit codes: 0 done; 1 failed; 2 bad input; 75 interrupted.");
}

Work add_commands(CLI::App& app, Program const& program) {
    std::vector<SubCommand> rows;
    for (auto const& [name, text] : k_commands) {
        auto const own = program.commands.find(name);
        auto const other = [&program](Command) { return program.other_program; };
        rows.push_back({name, text, own == program.commands.end() ? other : own->second});
    }
    return Command(app).add_sub_commands(rows);
}

// Arguments that name a file or a directory: "~" is the home directory, as in the experiment, even in --out=~/x, where no
// shell replaces it. A name that no file can have is refused before anything is written.
void settle_paths(CLI::App& app) {
    constexpr std::string_view k_kinds[] = {"FILE", "FILE.json", "FILE.csv", "RUN_DIR", "DIR", "DATASET", "FOLDER", "ROWS"};
    for (auto* command : app.get_subcommands([](CLI::App*) { return true; })) settle_paths(*command);
    for (auto* option : app.get_options()) {
        if (std::ranges::find(k_kinds, option->get_type_name()) == std::end(k_kinds)) continue;
        auto const use = option->get_name() == "--out" ? PathUse::made : PathUse::found;
        option->transform(CLI::Validator(
            [use](std::string& text) {
                auto [path, problem] = with_home(text);
                text = path;
                return problem.empty() ? too_long(text, use) : problem;
            },
            ""));
    }
}

int parse_and_run(int argc, char** argv, Program const& program) {
    if (belongs_to_other_program(argc, argv, program)) return program.other_program();
    CLI::App app("Hopscotch trains many deep-learning models at once: the data stays, the models hop.", "hopscotch");
    add_general_options(app, program, has(argc, argv, "--verbose"));
    auto const work = add_commands(app, program);
    settle_paths(app);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        return complain(app, error, argc, argv);
    }
    return work();
}

// A table that is cut off looks like a whole one.
void require_whole_output() {
    bool const flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) return;
    throw Error(fmt::format("the output was not written in full ({}); free space, or write it to another file",
                            flushed ? "an earlier write failed" : std::strerror(errno)));
}

int report(std::exception const& error, int exit_code, std::string_view who) {
    if (exit_code == 2 && !is_first_rank()) return 0;
    fmt::print(stderr, "{}{}\n", who, printable(words_of(error)));
    return exit_code;
}

}  // namespace

int run_cli(int argc, char** argv, Program const& program) {
    log_setup("", LogLevel::info);
    std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error of the write, which names the file
    try {
        check_faults();
        auto const exit_code = parse_and_run(argc, argv, program);
        if (!trains(argc, argv)) require_whole_output();  // of a run, the directory has everything
        return exit_code;
    } catch (ConfigError const& error) {
        return report(error, 2, "");
    } catch (DataError const& error) {
        return report(error, 2, "");  // files that are missing, damaged or of another kind
    } catch (std::exception const& error) {
        return report(error, is_resumable(error) ? k_exit_resumable : k_exit_failed, "hopscotch: ");
    }
}

}  // namespace hopscotch
