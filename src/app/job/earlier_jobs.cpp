// SPDX-License-Identifier: Apache-2.0
#include "app/job/earlier_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/config.hpp"
#include "experiment/strategy_traits.hpp"
#include "run/checkpoint_shelf.hpp"

namespace hopscotch {
namespace {

// "train.epochs: 10, now 12": every place in which two documents differ.
void differences(Json const& before, Json const& now, std::string const& path, std::vector<std::string>& out) {
    if (before.is_object() && now.is_object()) {
        auto const at = [&](std::string const& key) { return path.empty() ? key : path + "." + key; };
        for (auto const& member : before.object())
            differences(member.value, now.find(member.key) == nullptr ? Json() : *now.find(member.key), at(member.key), out);
        for (auto const& member : now.object())
            if (before.find(member.key) == nullptr) differences(Json(), member.value, at(member.key), out);
        return;
    }
    if (before.dump() == now.dump()) return;
    auto const text = [](Json const& value) { return value.is_null() ? std::string("absent") : value.dump(); };
    out.push_back(fmt::format("{}: was {}, is {}", path, text(before), text(now)));
}

void refuse_changes(RunFacts const& facts, Experiment const& experiment, Inputs const& now) {
    std::vector<std::string> changes;
    differences(facts.experiment, experiment.document, "", changes);
    std::erase_if(changes, [](std::string const& change) {
        return change.starts_with("run.") || change.starts_with("data.stage:") || change.starts_with("$schema:") ||
               change.starts_with("strategy.owners:");
    });
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
        "{}: cannot continue this run with a changed experiment (only the section run, data.stage and strategy.owners "
        "may change); use another run.dir, or undo:{}",
        experiment.run.dir, text));
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
    refuse_changes(out.facts, experiment, inputs);
    auto const there = checkpoints_in(directory);          // older ones are deleted
    std::map<std::string, LapSink::Saved const*> by_name;  // the last line of each file counts
    for (auto const& saved : out.journal.saved) by_name[saved.file] = &saved;
    for (auto const& saved : out.journal.saved)
        if (by_name.at(saved.file) == &saved && there.contains(saved.file)) out.files[saved.trial].push_back(saved);
    for (auto& [trial, files] : out.files)
        std::ranges::stable_sort(files, std::greater(), [](auto const& file) { return place_of(file); });
    return out;
}

}  // namespace hopscotch
