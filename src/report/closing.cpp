// SPDX-License-Identifier: Apache-2.0
// The end of a report: the failures, and how to have the run again.
#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"
#include "core/hash.hpp"
#include "experiment/strategy_traits.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"
#include "schedule/policy.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_failures = 200, k_most_document = 100'000, k_most_listed_files = 50;

std::string commands_of(RunResults const& data) {
    auto const shell = [](std::string const& word) {
        bool const plain = std::ranges::all_of(word, [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                   std::string_view("./_-+").find(c) != std::string_view::npos;
        });
        if (plain && !word.empty()) return word;
        std::string out = "'";
        for (char const c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
        return out + "'";
    };
    auto const dir = shell(data.run.directory.string());
    auto out = fmt::format("# the experiment below, saved as experiment.json\nhopscotch run experiment.json --trainers {}\n",
                           data.run.facts.trainers());
    if (data.run.status() != "finished")
        out = fmt::format("# goes on with this run\nhopscotch run experiment.json --resume\n") + out;
    return out + fmt::format("# trains its trials again, and compares every state hash\nhopscotch replay {}\n", dir);
}

std::string texts_in(Json const& object) {
    std::string out;
    if (!object.is_object()) return out;
    for (auto const& [key, value, at] : object.object())
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key, value.is_string() ? value.string() : value.dump());
    return cut_text(out, 1000);
}

std::string hosts_text(std::vector<std::string> const& hosts) {
    std::map<std::string, int> count;
    for (auto const& host : hosts) ++count[host];
    std::string out;
    for (auto const& [host, trainers] : count)
        out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", host, counted(trainers, "trainer"));
    return cut_text(out, 2000);
}

std::string exactness(RunResults const& data) {
    if (data.run.facts.bits.approximate) return "a GPU trained with run.deterministic false: bits differ from run to run";
    auto const& strategy = data.run.experiment.strategy;
    if (policy_named(strategy.policy).dispatched() || has_server_log(strategy))
        return "they depend on timing; hopscotch replay follows the journal";
    if (!data.run.facts.bits.any_trainers) return "the same bits on the same number of trainers";
    return "the same bits on any number of trainers";
}

std::string facts_of(RunResults const& data) {
    auto const& facts = data.run.facts;
    Facts out{{"run directory", data.run.directory.string()}, {"seed", fmt::format("{}", facts.seed)}};
    auto const add = [&](std::string name, std::string value) { out.emplace_back(std::move(name), std::move(value)); };
    add("hopscotch", facts.build.version + (facts.build.git_hash.empty() ? "" : ", git " + facts.build.git_hash));
    add("libraries", texts_in(facts.build.libraries));
    add("strategy", data.label);
    add("trainers", hosts_text(facts.fleet.hosts));
    add("shards", fmt::format("{}", facts.shards()));
    add("dataset", data.run.experiment.data.path);
    add("hash of the dataset", facts.dataset_hash);
    std::size_t listed = 0;
    for (auto const& [path, hash] : facts.files)
        if (++listed <= k_most_listed_files) add("hash of " + path, to_hex(hash));
    add("run id", facts.run_id);
    add("bits", exactness(data));
    add("jobs that worked on it", fmt::format("{}", data.run.journal.jobs.count));
    if (auto const* best = data.best_trial())
        for (auto const& lap : data.run.journal.laps)
            if (lap.trial == best->id && lap.epoch == best->best->epoch && lap.outcome == Outcome::finished)
                add(fmt::format("state of trial {} after epoch {}", lap.trial.value, lap.epoch), to_hex(lap.state.hash));
    return facts_table(out);
}

// The first trials that failed.
std::string failed_table(RunResults const& data) {
    using enum HtmlTable::Kind;
    HtmlTable table({{"trial", numbers}, {"status"}, {"epochs", numbers}, {"reason"}, {"configuration"}});
    std::size_t count = 0;
    for (auto const& trial : data.trials) {
        if (trial.status != "failed" && trial.status != "diverged") continue;
        if (++count > k_most_failures) continue;
        table.begin_row_of(trial.id);
        table.count(trial.id.value);
        table.status(trial.status);
        table.count(trial.epochs);
        table.words(cut_text(trial.reason, 400));
        table.words(cut_text(short_config(trial.assignment), 160));
    }
    if (count == 0) return "";
    return std::move(table).take() + (count > k_most_failures ? note(fmt::format("{} more.", count - k_most_failures)) : "");
}

std::string stops_text(RunResults const& data) {
    std::map<std::string, int> count;
    for (auto const& trial : data.trials) ++count[trial.status];
    std::string out;
    for (auto const& [status, trials] : count) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", trials, status);
    return out;
}

}  // namespace

std::string failures_section(RunResults const& data) {
    auto const table = failed_table(data);
    auto out = fmt::format("<p>{}: {}.{}</p>", escaped(counted(std::ssize(data.trials), "trial")), escaped(stops_text(data)),
                           table.empty() ? " None failed." : "") +
               table;
    int retries = 0;
    for (auto const& [trial, count] : data.run.journal.retries) retries += count;
    if (retries > 0)
        out +=
            note(fmt::format("{} that did not end a trial: it went back to its checkpoint.", counted(retries, "failure")));
    for (std::size_t i = 0; i < std::min(data.run.journal.jobs.lost.size(), k_most_failures); ++i) {
        auto const& lost = data.run.journal.jobs.lost[i];
        out += note(fmt::format("Trainer {} on {} was lost: {}", lost.trainer.value, lost.host, cut_text(lost.reason, 400)));
    }
    if (auto const* reason = data.summary.find("reason"); reason != nullptr && reason->is_string())
        out += note("The run ended: " + cut_text(reason->string(), 1000));
    return out;
}

std::string reproduce_section(RunResults const& data) {
    auto const document = data.run.facts.experiment.dump(2);
    auto out = fmt::format("<pre>{}</pre>", escaped(commands_of(data))) + facts_of(data);
    out += fmt::format("<details><summary>The experiment</summary><pre>{}</pre></details>",
                       escaped(cut_text(document, k_most_document)));
    return document.size() > k_most_document ? out + note("The document is cut off; experiment.json has all of it.") : out;
}

}  // namespace hopscotch
