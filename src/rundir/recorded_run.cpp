// SPDX-License-Identifier: Apache-2.0
#include "rundir/recorded_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

Experiment experiment_of(RunFacts const& facts, fs::path const& directory) {
    auto document = facts.experiment;
    take_out_risky_keys(document);
    Problems problems((directory / "experiment.json").string());
    auto out = read_experiment(document.dump(), {}, problems);
    if (!problems.empty())
        throw DataError(
            fmt::format("{}: is an experiment that this version cannot read:\n{}", directory.string(), problems.text()));
    return out;
}

}  // namespace

std::string RecordedRun::status() const { return journal.end.status.empty() ? "running" : journal.end.status; }

TrialConfig RecordedRun::config_of(TrialId trial) const {
    return resolve(experiment, journal.assignments.at(trial), directory.string());
}

RecordedRun read_run(fs::path const& directory) {
    std::error_code error;
    if (!fs::exists(directory / "experiment.json", error))
        throw ConfigError(fmt::format("{}: not a run directory (it has no experiment.json)", directory.string()));
    RecordedRun out;
    out.directory = directory;
    out.facts = read_run_facts(directory);
    out.experiment = experiment_of(out.facts, directory);
    if (auto const file = directory / "journal.jsonl"; fs::exists(file, error)) out.journal = read_journal(file);
    return out;
}

Json read_summary(fs::path const& run_dir) {
    auto const file = run_dir / "summary.json";
    std::error_code error;
    return fs::exists(file, error) ? parse_json_or_throw(read_whole(file), file.string()) : Json();
}

std::vector<Json> read_metric_lines(fs::path const& run_dir) {
    std::vector<Json> out;
    auto const file = run_dir / "metrics.jsonl";
    std::error_code error;
    if (!fs::exists(file, error)) return out;
    LineReader lines(file);
    while (auto const line = lines.next())
        out.push_back(parse_json_or_throw(*line, fmt::format("{} (line {})", file.string(), lines.number())));
    return out;
}

std::vector<std::string> take_out_risky_keys(Json& document) {
    std::vector<std::string> out;
    std::pair<std::string, std::string> const risky[] = {{"run", "on_end"}, {"run", "spill"}, {"data", "stage"}};
    for (auto const& [section, key] : risky) {
        auto const* found = document.find(section);
        if (found == nullptr || found->find(key) == nullptr) continue;
        std::erase_if(document[section].object(), [&](auto const& member) { return member.key == key; });
        out.push_back(section + "." + key);
    }
    return out;
}

}  // namespace hopscotch
