// SPDX-License-Identifier: Apache-2.0
// hopscotch ctl: prints the status of a run, or sends an order to the job that works on it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>

#include "cli/common/commands.hpp"
#include "cli/light/ctl_status.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "core/log.hpp"
#include "experiment/reader.hpp"
#include "rundir/inbox.hpp"
#include "rundir/run_directory.hpp"

namespace hopscotch {
namespace {

struct CtlOptions {
    std::string run_dir, action;         // status, stop, resume, clone, finish
    std::vector<std::string> arguments;  // a trial; path=value ...
    double timeout_s = 10;               // for the job's answer
    bool follow = false;
};

constexpr std::chrono::milliseconds k_look_every{50};

struct Action {
    char const* name;
    Order::Kind kind;
    bool has_trial, has_changes;
};
constexpr char const* k_status = "status";
constexpr Action k_actions[] = {{"stop", Order::Kind::stop, true, false},
                                {"resume", Order::Kind::resume, true, false},
                                {"clone", Order::Kind::clone, true, true},
                                {"finish", Order::Kind::finish, false, false}};

TrialId trial_in(std::string const& text) {
    int id = -1;
    auto const end = text.data() + text.size();
    if (auto const [at, error] = std::from_chars(text.data(), end, id); error != std::errc() || at != end || id < 0)
        throw ConfigError(fmt::format("\"{}\" is not a trial (trials are numbers from 0)", text));
    return TrialId(id);
}

// path=value as with --set: JSON, or else a string.
std::pair<std::string, Json> change_in(std::string const& text) {
    auto const equals = text.find('=');
    if (equals == text.npos || equals == 0)
        throw ConfigError(fmt::format("\"{}\": expected path=value (for example train.optimizer.lr=0.01)", text));
    Problems no_json("");
    auto const value = text.substr(equals + 1);
    auto parsed = parse_json(value, no_json);
    return {text.substr(0, equals), no_json.empty() ? std::move(parsed) : Json(value)};
}

LiveRequest request_of(CtlOptions const& options) {
    auto const action = std::ranges::find(k_actions, options.action, &Action::name);
    if (action == std::end(k_actions)) {
        std::vector<std::string> known{k_status};
        for (auto const& each : k_actions) known.emplace_back(each.name);
        auto const near = nearest(options.action, known);
        throw ConfigError(fmt::format("action \"{}\" is unknown (known: {}){}", options.action, fmt::join(known, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    std::size_t const least = action->has_trial ? 1 : 0;
    if (options.arguments.size() < least)
        throw ConfigError(
            fmt::format("ctl {}: no trial is given; for example: ctl RUN_DIR {} 3", options.action, options.action));
    if (options.arguments.size() > least && !action->has_changes)
        throw ConfigError(fmt::format("ctl {}: unexpected argument \"{}\"", options.action, options.arguments[least]));
    LiveRequest out;
    out.kind = action->kind;
    if (action->has_trial) out.trial = trial_in(options.arguments.front());
    for (std::size_t i = least; i < options.arguments.size(); ++i) out.changes.push_back(change_in(options.arguments[i]));
    out.until_unix_s = unix_s() + options.timeout_s;
    return out;
}

int ask(CtlOptions const& options) {
    auto const request = request_of(options);
    if (auto const end = status_of(options.run_dir); !end.empty()) {
        fmt::print(stderr, "{}: this run is {}; no job works on it that could obey{}\n", options.run_dir, printable(end),
                   end == "interrupted" ? " (--resume continues the run)" : "");
        return k_exit_failed;
    }
    auto const name = post(options.run_dir, request);
    for (auto const until_s = monotonic_s() + options.timeout_s; monotonic_s() < until_s;
         std::this_thread::sleep_for(k_look_every)) {
        auto const answer = take_answer(options.run_dir, name);
        if (!answer) continue;
        fmt::print(answer->ok ? stdout : stderr, "{}\n", printable(answer->text));
        return answer->ok ? 0 : k_exit_failed;
    }
    take_back(options.run_dir, name);
    fmt::print(stderr, "{}: no job has answered within {:g} s (does a job work on this run?); the request is withdrawn\n",
               options.run_dir, options.timeout_s);
    return k_exit_failed;
}

int ctl_command(CtlOptions const& options) {
    if (!holds_run(options.run_dir))
        throw ConfigError(fmt::format("{}: holds no run (journal.jsonl or experiment.json is missing)", options.run_dir));
    if (options.action != k_status) {
        if (options.follow) throw ConfigError("--follow belongs to ctl RUN_DIR status");
        return ask(options);
    }
    if (!options.arguments.empty())
        throw ConfigError(fmt::format("ctl status: unexpected argument \"{}\"", options.arguments.front()));
    return options.follow ? follow_status(options.run_dir) : print_status(options.run_dir);
}

}  // namespace

Work add_ctl(Command command) {
    auto const options = std::make_shared<CtlOptions>();
    command.add_option("run_dir", options->run_dir, "A run directory").required().type_name("RUN_DIR");
    command.add_option("action", options->action, "What the job shall do")
        .required()
        .type_name("status|stop|resume|clone|finish");
    command.add_option("arguments", options->arguments, "A trial; with clone also changes, as path=value")
        .type_name("TRIAL PATH=VALUE...");
    command.add_flag("--follow", options->follow, "With status: the live view of the run, until the run ends");
    command.add_option("--timeout", options->timeout_s, "Seconds to wait for the answer of the job")
        .shows_default()
        .positive();
    command.footer(
        "hopscotch ctl runs/digits status                            print the status; needs no job\n"
        "hopscotch ctl runs/digits status --follow                   show it live, as on the terminal of the run\n"
        "hopscotch ctl runs/digits stop 4                            end trial 4 at the end of its unit\n"
        "hopscotch ctl runs/digits resume 4                          continue a paused or stopped trial to its last epoch\n"
        "hopscotch ctl runs/digits clone 4 train.optimizer.lr=0.01   start a new trial with the state of trial 4\n"
        "hopscotch ctl runs/digits finish                            start no trial; end each at its next decision\n\n"
        "Exit codes: 0 the job obeys; 1 the job refuses, or no job answers; 2 bad input.");
    return on_first_rank([options] { return ctl_command(*options); });
}

}  // namespace hopscotch
