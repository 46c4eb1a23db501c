// SPDX-License-Identifier: Apache-2.0
#include "cli/common/command.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "core/error.hpp"

namespace hopscotch {

Option Option::required() {
    option_->required();
    return *this;
}

Option Option::type_name(std::string const& name) {
    option_->type_name(name);
    return *this;
}

Option Option::shows_default() {
    option_->capture_default_str();
    return *this;
}

Option Option::repeatable() {
    option_->allow_extra_args(false);
    return *this;
}

Option Option::delimiter(char between) {
    option_->delimiter(between);
    return *this;
}

Option Option::between(int least, int most) {
    option_->check(CLI::Range(least, most));
    return *this;
}

Option Option::positive() {
    auto const problem = [](std::string const& text) {  // CLI11's own names the largest double, with 309 digits
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && value > 0 ? "" : fmt::format("{} is not a number above 0", text);
    };
    option_->check(CLI::Validator(problem, "POSITIVE"));
    return *this;
}

Option Option::needs(Option other) {
    option_->needs(other.option_);
    return *this;
}

Option Option::excludes(Option other) {
    option_->excludes(other.option_);
    return *this;
}

template <class T>
Option Command::add_option(std::string const& name, T& target, std::string const& help) {
    return Option(*app_->add_option(name, target, help));
}

template Option Command::add_option(std::string const&, std::string&, std::string const&);
template Option Command::add_option(std::string const&, std::filesystem::path&, std::string const&);
template Option Command::add_option(std::string const&, int&, std::string const&);
template Option Command::add_option(std::string const&, std::int64_t&, std::string const&);
template Option Command::add_option(std::string const&, std::uint64_t&, std::string const&);
template Option Command::add_option(std::string const&, double&, std::string const&);
template Option Command::add_option(std::string const&, std::optional<int>&, std::string const&);
template Option Command::add_option(std::string const&, std::optional<double>&, std::string const&);
template Option Command::add_option(std::string const&, std::optional<std::string>&, std::string const&);
template Option Command::add_option(std::string const&, std::vector<int>&, std::string const&);
template Option Command::add_option(std::string const&, std::vector<std::int64_t>&, std::string const&);
template Option Command::add_option(std::string const&, std::vector<std::string>&, std::string const&);
template Option Command::add_option(std::string const&, std::vector<std::filesystem::path>&, std::string const&);

Option Command::add_flag(std::string const& name, bool& target, std::string const& help) {
    return Option(*app_->add_flag(name, target, help));
}

Option Command::add_value(std::string const& name, std::function<void(std::string const&)> take, std::string const& help) {
    return Option(*app_->add_option_function(name, std::move(take), help));
}

Option Command::add_values(std::string const& name, std::function<void(std::vector<std::string> const&)> take,
                           std::string const& help) {
    return Option(*app_->add_option_function(name, std::move(take), help));
}

Option Command::add_action(std::string const& name, std::function<void()> take, std::string const& help) {
    return Option(*app_->add_flag_callback(name, std::move(take), help));
}

// CLI11's own transformer prints its table into the help.
Option Command::add_word(std::string const& name, std::vector<std::string> const& words,
                         std::function<void(std::size_t)> const& chosen, std::string const& help) {
    auto const read = [=](std::string const& given) {
        auto const found = std::find(words.begin(), words.end(), given);
        if (found == words.end())
            throw ConfigError(fmt::format("{} {}: unknown value (known: {})", name, given, fmt::join(words, ", ")));
        chosen(static_cast<std::size_t>(found - words.begin()));
    };
    return add_value(name, read, help).type_name(fmt::format("{}", fmt::join(words, "|")));
}

Work Command::add_sub_commands(std::vector<SubCommand> const& rows) {
    app_->require_subcommand(1);
    std::map<std::string, Work> works;
    for (auto const& row : rows) works[row.name] = row.add(Command(*app_->add_subcommand(row.name, row.summary)));
    return [app = app_, works = std::move(works)] { return works.at(app->get_subcommands().front()->get_name())(); };
}

void Command::add_retired(std::string const& name, std::string const& why) {
    auto* retired = app_->add_subcommand(name, "")->group("")->allow_extras();
    retired->set_help_flag();
    retired->callback([why] { throw ConfigError(why); });
}

void Command::footer(std::string const& text) { app_->footer(text); }

Command Command::parent() const { return Command(*app_->get_parent()); }

}  // namespace hopscotch
