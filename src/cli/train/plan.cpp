// SPDX-License-Identifier: Apache-2.0
// hopscotch plan: the cost of an experiment under each strategy. Reads options, and prints the report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <thread>

#include "analysis/plan/plan_run.hpp"
#include "cli/common/commands.hpp"
#include "cli/common/quantity.hpp"
#include "core/error.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

// As written: all of them are read, and all complaints reported, at once.
struct PlanWords {
    std::vector<std::string> trainers;
    std::optional<std::string> bandwidth, latency, price, row_s, step_s, valid_s;
    bool simulate = false, json = false;
};

constexpr int k_most_trainers = 100'000;

std::size_t page_columns() {
    auto const terminal = terminal_of(1);
    return terminal.kind == Terminal::Kind::live ? static_cast<std::size_t>(terminal.columns) : 120;
}

class PlanReader {
public:
    PlanReader(PlanWords const& words, PlanOptions& out) : words_(words), out_(out) {}

    // The complaints.
    std::vector<std::string> read() {
        read_trainers();
        read_link();
        out_.price_per_trainer_hour = number("--price", words_.price);
        out_.costs.row_s = number("--seconds-per-row", words_.row_s);
        out_.costs.step_s = number("--seconds-per-step", words_.step_s);
        out_.costs.valid_s = number("--seconds-per-validation", words_.valid_s);
        if (words_.row_s && !out_.costs.like.empty())
            complain("--seconds-per-row and --like exclude each other (both give the cost of rows); leave one of them out");
        if (!words_.row_s && out_.costs.like.empty() && (words_.step_s || words_.valid_s))
            complain(
                "--seconds-per-step and --seconds-per-validation need the cost of rows too (a step has both); add "
                "--seconds-per-row or --like");
        if (words_.simulate) out_.gantt_columns = page_columns();
        return std::move(complaints_);
    }

private:
    void complain(std::string text) { complaints_.push_back(std::move(text)); }

    void read_trainers() {
        for (auto const& word : words_.trainers) {
            int value = 0;
            auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > k_most_trainers)
                complain(fmt::format("--trainers: \"{}\" is not a number of trainers (1 to {}); write for example 2,4,8",
                                     word, k_most_trainers));
            else
                out_.trainers.push_back(value);
        }
        if (!words_.trainers.empty()) return;
        out_.trainers.push_back(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
        out_.assumptions.push_back(
            fmt::format("trainers not given: {} (the cores of this machine); --trainers sets them", out_.trainers.front()));
    }

    void read_link() {
        try {
            out_.link.bytes_per_s = parse_bandwidth(words_.bandwidth.value_or("10gbit"), "--bandwidth");
        } catch (ConfigError const& error) {
            complain(error.what());
        }
        try {
            out_.link.latency_s = parse_duration(words_.latency.value_or("0.1ms"), "--latency");
        } catch (ConfigError const& error) {
            complain(error.what());
        }
        if (!words_.bandwidth) out_.assumptions.push_back("bandwidth not given: 10 Gbit/s; --bandwidth sets it");
        if (!words_.latency) out_.assumptions.push_back("latency not given: 0.1 ms; --latency sets it");
    }

    std::optional<double> number(std::string_view option, std::optional<std::string> const& word) {
        if (!word) return std::nullopt;
        double value = 0;
        auto const [end, error] = std::from_chars(word->data(), word->data() + word->size(), value);
        bool const whole = error == std::errc() && end == word->data() + word->size();
        if (!whole || !std::isfinite(value) || value < 0) {
            complain(fmt::format("{}: \"{}\" is not a number (0 or more); write for example 0.002", option, *word));
            return std::nullopt;
        }
        return value;
    }

    PlanWords const& words_;
    PlanOptions& out_;
    std::vector<std::string> complaints_;
};

int plan_command(PlanWords const& words, PlanOptions options) {
    auto complaints = PlanReader(words, options).read();
    if (options.trainers.empty()) options.trainers.push_back(1);
    std::optional<PlanReport> report;
    try {
        report = plan_run(options);
    } catch (ConfigError const& error) {
        complaints.emplace_back(error.what());
    }
    if (!complaints.empty()) throw ConfigError(fmt::format("{}", fmt::join(complaints, "\n")));
    if (words.json)
        fmt::print("{}\n", report_json(*report).dump(2));
    else
        fmt::print("{}", report_text(*report, page_columns()));
    return 0;
}

void add_text(Command command, std::string const& name, std::optional<std::string>& target, std::string const& help) {
    command.add_value(name, [&target](std::string const& text) { target = text; }, help);
}

void add_costs(Command command, PlanWords& words, PlanOptions& options) {
    command
        .add_option(
            "--like", options.costs.like,
            "Take the seconds from this run on the same dataset (repeatable; runs with other batch sizes tell a step's "
            "own cost). Default: a run in search.start_from or run.dir")
        .repeatable()
        .type_name("RUN_DIR");
    command.add_flag("--allow-code", options.costs.allow_code,
                     "Execute the plug-in or TorchScript file that the run of --like names, to know its trials' FLOPs");
    add_text(command, "--seconds-per-row", words.row_s,
             "Training seconds of a row, for the mean trial: 1 / rows_per_s of hopscotch bench step. Other trials by FLOPs");
    add_text(command, "--seconds-per-step", words.step_s, "Seconds of a step besides its rows (default: 0)");
    add_text(command, "--seconds-per-validation", words.valid_s,
             "Seconds of an epoch's validation, for the mean trial (default: a third of the rows' training cost)");
}

}  // namespace

Work add_plan(Command command) {
    auto const words = std::make_shared<PlanWords>();
    auto const options = std::make_shared<PlanOptions>();
    command.add_option("experiment", options->run.experiment, "The experiment, for example configs/digits-grid.json")
        .required()
        .type_name("FILE");
    command.add_option("--set", options->run.overrides, "Change one setting, for example train.epochs=3 (repeatable)")
        .repeatable()
        .type_name("PATH=VALUE");
    command.add_option("--trainers", words->trainers, "Numbers of trainers: 8, or 2,4,8 (default: one per core)")
        .delimiter(',')
        .repeatable()
        .type_name("N");
    add_text(command, "--bandwidth", words->bandwidth, "Of each trainer's link: 10gbit, 12.5GB/s (default: 10gbit)");
    add_text(command, "--latency", words->latency, "Of a message: 0.05ms, 20us (default: 0.1ms)");
    add_text(command, "--price", words->price, "Of a trainer for an hour, in any currency: adds the price of each strategy");
    add_costs(command, *words, *options);
    command.add_flag("--simulate", words->simulate, "Draw mop's simulated schedule as a Gantt chart");
    command.add_flag("--json", words->json, "Print one JSON document instead of text (docs/formats.md)");
    command.footer(
        "x bound: the makespan over work / trainers. a trainer: memory of a trainer without its libraries.\n"
        "W: one trainer's time for all trials, where seconds are not known.\n"
        "Example: hopscotch plan experiment.json --trainers 2,4,8 --like runs/first --bandwidth 10gbit --price 2.5");
    return on_first_rank([words, options] { return plan_command(*words, *options); });
}

}  // namespace hopscotch
