// SPDX-License-Identifier: Apache-2.0
// A sub-command: its options on the command line, and its work. The only door to CLI11 but cli.cpp and the tree of commands:
// its header would cost every file of a sub-command 6 s.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/work.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hopscotch {

// An option or a positional argument of a command, which owns it. Each function returns the same option.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(&option) {}
    Option required();
    Option type_name(std::string const& name);  // the help's word for the value. FILE, DIR, ...: a path (cli.cpp)
    Option shows_default();                     // the value of the target now
    Option repeatable();                        // one value each time; else a list takes all values that follow
    Option delimiter(char between);             // of the values of a list
    Option between(int least, int most);
    Option positive();
    Option needs(Option other);
    Option excludes(Option other);

private:
    CLI::Option* option_;
};

struct SubCommand;

// A command of the tree that cli.cpp owns.
class Command {
public:
    explicit Command(CLI::App& app) : app_(&app) {}

    // Names as "--out", or "run_dir" for a positional argument. The target must outlive the parsing. T: those of
    // command.cpp.
    template <class T>
    Option add_option(std::string const& name, T& target, std::string const& help);
    Option add_flag(std::string const& name, bool& target, std::string const& help);  // "--x,!--no-x": both ways

    // take: called while the command line is parsed; may throw ConfigError.
    Option add_value(std::string const& name, std::function<void(std::string const&)> take, std::string const& help);
    Option add_values(std::string const& name, std::function<void(std::vector<std::string> const&)> take,
                      std::string const& help);
    Option add_action(std::string const& name, std::function<void()> take, std::string const& help);  // a flag

    // One of a few words: chosen(index). Parsing throws ConfigError that lists the words.
    Option add_word(std::string const& name, std::vector<std::string> const& words,
                    std::function<void(std::size_t)> const& chosen, std::string const& help);
    template <class T>
    Option add_choice(std::string const& name, std::vector<std::pair<std::string, T>> const& words, T& target,
                      std::string const& help) {
        std::vector<std::string> names;
        for (auto const& [word, value] : words) names.push_back(word);
        return add_word(name, names, [words, &target](std::size_t i) { target = words[i].second; }, help);
    }

    // The user must give one of these. Returns the work of the given one.
    Work add_sub_commands(std::vector<SubCommand> const& rows);
    void add_retired(std::string const& name, std::string const& why);  // hidden; throws ConfigError

    void footer(std::string const& text);  // of the help
    Command parent() const;
    CLI::App const& app() const { return *app_; }

private:
    CLI::App* app_;
};

struct SubCommand {
    std::string name, summary;
    std::function<Work(Command command)> add;  // adds the options
};

}  // namespace hopscotch
