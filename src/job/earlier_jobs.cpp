// SPDX-License-Identifier: Apache-2.0
#include "job/earlier_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/space.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/extension.hpp"
#include "rundir/checkpoint_shelf.hpp"

namespace hopscotch {
namespace {

struct Change {
    std::string path;
    Json before, now;
};

// Every place in which two documents differ.
void differences(Json const& before, Json const& now, std::string const& path, std::vector<Change>& out) {
    if (before.is_object() && now.is_object()) {
        auto const at = [&](std::string const& key) { return path.empty() ? key : path + "." + key; };
        for (auto const& member : before.object())
            differences(member.value, now.find(member.key) == nullptr ? Json() : *now.find(member.key), at(member.key), out);
        for (auto const& member : now.object())
            if (before.find(member.key) == nullptr) differences(Json(), member.value, at(member.key), out);
        return;
    }
    if (before.dump() != now.dump()) out.push_back({path, before, now});
}

bool may_always_change(std::string const& path) {
    return path.starts_with("run.") || path == "data.stage" || path == "$schema" || path == "strategy.owners" ||
           path == "search.chosen_because";
}

// "train.epochs: was 10, is 12 (why not)"
std::string text_of(Change const& change, std::string const& why) {
    auto const text = [](Json const& value) { return value.is_null() ? std::string("absent") : value.dump(); };
    return fmt::format("{}: was {}, is {}{}", change.path, text(change.before), text(change.now),
                       why.empty() ? "" : fmt::format(" ({})", why));
}

// Changes of the experiment with which this run cannot go on. Notes an extension in `earlier`.
std::vector<std::string> refused_changes(EarlierJobs& earlier, Experiment const& experiment) {
    std::vector<Change> changes;
    differences(earlier.facts.experiment, experiment.document, "", changes);
    std::vector<std::string> out;
    for (auto const& change : changes) {
        if (may_always_change(change.path)) continue;
        bool const trials = change.path == "search.trials", epochs = change.path == "train.epochs";
        auto const why = trials   ? why_not_more_trials(change.before, experiment, earlier.journal)
                         : epochs ? std::string("a trial that has ended keeps no state from which it could train on")
                                  : "";
        earlier.extends |= trials && why.empty();
        if (!trials || !why.empty()) out.push_back(text_of(change, why));
        if (trials && why.empty()) earlier.facts.plan.extended.push_back(change.before.integer());
    }
    return out;
}

void refuse_changes(EarlierJobs& earlier, Experiment const& experiment, Inputs const& now) {
    auto const& facts = earlier.facts;
    auto changes = refused_changes(earlier, experiment);
    if (facts.dataset_hash != now.dataset_hash)
        changes.push_back(fmt::format("the dataset's hash: was {}, is {}", facts.dataset_hash, now.dataset_hash));
    for (auto const& [path, hash] : facts.files)
        if (auto const found = now.files.find(path); found != now.files.end() && found->second != hash)
            changes.push_back(fmt::format("{}: another file has this name (its hash was {}, is {})", path, to_hex(hash),
                                          to_hex(found->second)));
    if (strategy_traits(experiment.strategy.name).bits == Bits::same_trainers && facts.trainers() != now.trainers)
        changes.push_back(fmt::format("trainers: was {}, is {} (the bits of {} depend on it)", facts.trainers(),
                                      now.trainers, experiment.strategy.name));
    if (changes.empty()) return;
    std::string text;
    for (auto const& change : changes) text += "\n  " + change;
    throw ConfigError(fmt::format(
        "{}: cannot continue this run with a changed experiment (only the section run, data.stage and strategy.owners may "
        "change, and search.trials may grow); use another run.dir, or undo:{}",
        experiment.run.dir, text));
}

// Of the best trial when the run last finished. The job that goes on removes the summary, and writes these metrics into
// experiment.json.
Json test_in_summary(std::filesystem::path const& directory) {
    if (status_of(directory) != "finished") return {};
    Problems ignored("");
    auto const summary = parse_json(read_whole(directory / "summary.json"), ignored);
    auto const* test = summary.find("test");
    return test == nullptr ? Json() : *test;
}

}  // namespace

EarlierJobs read_earlier_jobs(Experiment const& experiment, Inputs const& inputs) {
    std::filesystem::path const directory = experiment.run.dir;
    EarlierJobs out;
    try {
        out.facts = read_run_facts(directory);
        out.journal = read_journal(directory / "journal.jsonl");
    } catch (DataError const& error) {
        throw ConfigError(fmt::format("--resume: {}", error.what()));
    }
    refuse_changes(out, experiment, inputs);
    if (auto test = test_in_summary(directory); !test.is_null()) out.facts.test = std::move(test);
    out.kept = read_kept_best(directory, out.journal);
    if (!out.kept.test.is_null()) out.facts.test = out.kept.test;
    auto const there = checkpoints_in(directory);      // older ones are deleted
    std::map<std::string, SavedState const*> by_name;  // the last line of each file counts
    for (auto const& saved : out.journal.saved) by_name[saved.file] = &saved;
    for (auto const& saved : out.journal.saved)
        if (by_name.at(saved.file) == &saved && there.contains(saved.file)) out.files[saved.trial].push_back(saved);
    for (auto& [trial, files] : out.files)
        std::ranges::stable_sort(files, std::greater(), [](auto const& file) { return place_of(file); });
    return out;
}

StepValues step_values_of(Experiment experiment, Journal const& journal) {
    Problems told("");                             // of the space: reported when the experiment was read
    experiment.step_values = StepValues::decimal;  // whatever an earlier preparation of this job has set
    auto const space = read_space(experiment, told);
    bool const decimal = std::ranges::all_of(journal.released, [&](Lap const& lap) {
        return with_own_values(space, lap.assignment) == lap.assignment;
    });
    return decimal ? StepValues::decimal : StepValues::binary;
}

}  // namespace hopscotch
