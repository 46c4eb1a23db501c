// SPDX-License-Identifier: Apache-2.0
// Trains the trials of a run again and compares state hashes with the journal. Each trial is trained alone, with a
// comparison after every unit. If the bits depend on the number of trainers, or on strategy.group_size, as many threads
// train together, with a comparison after every lap. Of the run, only experiment.json and journal.jsonl are used.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/common/commands.hpp"
#include "cli/train/replay_together.hpp"
#include "cli/train/train_again.hpp"
#include "comm/buffer_pool.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/run_code.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/server_log.hpp"
#include "strategy/baselines/parameter_server/server_replay.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

struct ReplayOptions {
    std::string run_dir;
    std::vector<int> trials;  // empty: all
    bool allow_code = false;
};

constexpr int k_most_threads = 1024;

void require_bits(RecordedRun const& run) {
    if (run.facts.bits.approximate)
        throw ConfigError(
            fmt::format("{}: there are no bits to verify (it was trained on a GPU with run.deterministic false, where each "
                        "training differs by rounding); train with run.deterministic true to get runs that replay",
                        run.directory.string()));
}

// Otherwise a replaced file would be reported as a difference of states.
void require_files(RecordedRun const& run) {
    for (auto const& [path, hash] : run.facts.files)
        if (hash_file(path) != hash)
            throw ConfigError(
                fmt::format("{}: is not the file that the run was trained with (its content differs); restore it", path));
}

// Each trainer of the run becomes a thread, and looks up the owner of each shard.
OwnerTable recorded_owners(RecordedRun const& run) {
    auto const& owners = run.facts.fleet.owners;
    auto const shards = read_manifest(run.experiment.data.path).train.size();
    if (owners.owner.size() != shards)
        throw DataError(
            fmt::format("{}: 'owners' names the owners of {} shards (the dataset has {}); is it another dataset?",
                        (run.directory / "experiment.json").string(), owners.owner.size(), shards));
    if (owners.trainers > k_most_threads)
        throw ConfigError(fmt::format("{}: a run of {} trainers cannot be replayed in one process (at most {} can)",
                                      run.directory.string(), owners.trainers, k_most_threads));
    return owners;
}

// Any number of groups of mop gives the same bits: one is enough.
OwnerTable replay_owners(RecordedRun const& run) {
    auto const owners = recorded_owners(run);
    int const size = run.experiment.strategy.group_size;
    if (size == 1) return owners;
    return with_members(make_owners(static_cast<int>(owners.owner.size()) / size, 1, 1), size, size);
}

int tell(std::vector<std::string> const& differences, std::size_t trials, std::string const& compared,
         std::string const& run_dir) {
    for (auto const& difference : differences) fmt::print(stderr, "{}\n", difference);
    if (!differences.empty()) {
        fmt::print(stderr, "{} of {} trials differ from the journal of {}\n", differences.size(), trials, run_dir);
        return 1;
    }
    fmt::print("{} of {} trials: every state hash equals the journal's\n", compared, trials);
    return 0;
}

// Asynchronous parameter servers: one process that follows the order in which gradients came (server_log.jsonl).
ReplayedLaps replay_servers(RecordedRun const& run, std::set<TrialId> const& trials) {
    auto const file = run.directory / "server_log.jsonl";
    auto const log = read_server_log(file);
    auto const owners = recorded_owners(run);
    ReplayedLaps out;
    for (auto const trial : trials) {
        ServerReplay replay(run.experiment, owners);
        for (auto const& recorded : run.journal.laps) {
            if (recorded.trial != trial || recorded.outcome != Outcome::finished) continue;
            auto const parts = log.find({trial, recorded.epoch});
            if (parts == log.end())
                throw DataError(
                    fmt::format("{}: trial {}, epoch {} is missing", file.string(), trial.value, recorded.epoch));
            Lap lap;
            lap.trial = trial;
            lap.epoch = recorded.epoch;
            lap.assignment = run.journal.assignments.at(trial);
            auto const hash = replay.train(lap, parts->second, recorded);
            ++out.laps;
            if (hash == recorded.state.hash) continue;
            out.differences.push_back(fmt::format("trial {}, epoch {}: journal {}, replayed {}", trial.value, recorded.epoch,
                                                  to_hex(recorded.state.hash), to_hex(hash)));
            break;  // later differences are its consequence
        }
    }
    return out;
}

std::set<TrialId> wanted_trials(ReplayOptions const& options, Journal const& journal) {
    std::set<TrialId> out;
    for (auto const trial : options.trials) {
        if (!journal.assignments.contains(TrialId(trial)))
            throw ConfigError(fmt::format("{}: there is no trial {} in this run", options.run_dir, trial));
        out.insert(TrialId(trial));
    }
    if (out.empty())
        for (auto const& lap : journal.laps) out.insert(lap.trial);
    if (out.empty())
        throw ConfigError(fmt::format("{}: the journal has no lap (did a trial finish an epoch?)", options.run_dir));
    return out;
}

int replay_command(ReplayOptions const& options) {
    auto const run = read_run(options.run_dir);
    require_bits(run);
    require_allowed(if_allowed(options.allow_code), code_files(run.experiment, run.journal), options.run_dir);
    require_files(run);
    auto const wanted = wanted_trials(options, run.journal);
    if (has_server_log(run.experiment.strategy)) {
        auto const replayed = replay_servers(run, wanted);
        return tell(replayed.differences, wanted.size(), fmt::format("{} laps", replayed.laps), options.run_dir);
    }
    if (trains_together(run.experiment.strategy)) {
        auto const replayed =
            replay_together(run.experiment, run.journal, replay_owners(run), with_sources(run.journal, wanted));
        return tell(replayed.differences, wanted.size(), fmt::format("{} laps", replayed.laps), options.run_dir);
    }
    auto const pool = std::make_shared<BufferPool>();
    auto const replayed = train_again(run, wanted, *pool, [](LapId const&, ByteView) { return true; });
    return tell(replayed.differences, wanted.size(), fmt::format("{} units", replayed.units), options.run_dir);
}

}  // namespace

Work add_replay(Command command) {
    auto const options = std::make_shared<ReplayOptions>();
    command.add_option("run_dir", options->run_dir, "A run directory").required().type_name("RUN_DIR");
    command.add_option("--trial", options->trials, "Only this trial (repeatable)").repeatable().type_name("ID");
    command.add_flag("--allow-code", options->allow_code, "Execute the plug-in or TorchScript file that the run names");
    command.footer("Exit codes: 0 every hash is equal; 1 some hashes differ, and their trials and units are named.");
    return on_first_rank([options] { return replay_command(*options); });
}

}  // namespace hopscotch
