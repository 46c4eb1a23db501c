// SPDX-License-Identifier: Apache-2.0
// Hand-made laps whose sums can be checked in one's head, and a directory that goes away.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.hpp"
#include "schedule/lap.hpp"

namespace hopscotch::testing {

class Scratch {
public:
    Scratch() {
        auto name = (std::filesystem::temp_directory_path() / "hopscotch-run-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw Error("no temporary directory");
        path_ = name;
    }
    ~Scratch() { std::filesystem::remove_all(path_); }
    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline void write(std::filesystem::path const& path, std::string_view text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

inline std::string slurp(std::filesystem::path const& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// Two trainers, two shards, two trials, one epoch, from second 100 of the clock:
//   trainer 0:  t0 s0 [0,2)   t1 s0 [3,4)   t0 validates [4,5)
//   trainer 1:  t1 s1 [0,3)   t0 s1 [3,4)   t1 validates [4,6)
// The CPU seconds of t0 s0 were measured: 1 of 2.
// t0: 4 s in all; t1: 6 s; trainer 0: 2+1+1 = 4 s; trainer 1: 3+1+2 = 6 s; makespan 6; utilisation 10 / 12.
inline UnitRecord unit(int shard, int trainer, double start, double seconds, double wait = -1) {
    UnitRecord out;
    out.shard = ShardId(shard);
    out.trainer = TrainerId(trainer);
    out.rows = 10;
    out.loss_sum = 5;
    out.start_unix_s = 100 + start;
    out.seconds = seconds;
    out.wait_s = wait;
    out.state_hash = 0xfedcba9876543210ULL + static_cast<std::uint64_t>(shard);
    return out;
}

inline LapRecord lap_record(int trial, int epoch, double correct) {
    LapRecord out;
    out.trial = TrialId(trial);
    out.epoch = epoch;
    out.home = TrainerId(trial);
    out.hops.count = 2;
    out.hops.bytes = 128;
    out.valid.rows = 8;
    out.valid.loss = 2;
    out.valid.correct = correct;
    out.valid.top5 = 8;
    out.state.lr = 0.1;
    out.state.hash = 0x8000000000000001ULL;
    out.state.bytes = 64;
    return out;
}

// A lap of trainers that wait for each other.
inline LapRecord exchanging(LapRecord record) {
    record.sync.exposed_s = {0.5, 0.25};
    record.sync.rounds = 7;
    record.sync.staleness = {5, 0, 2};
    return record;
}

inline LapRecord first_trial(double correct = 6) {
    auto out = lap_record(0, 0, correct);
    out.units = {unit(0, 0, 0, 2), unit(1, 1, 3, 1, 0.001)};
    out.units[0].cpu_s = 1;
    out.valid.start_unix_s = 104;
    out.valid.seconds = 1;
    return out;
}

inline LapRecord second_trial(double correct = 4) {
    auto out = lap_record(1, 0, correct);
    out.units = {unit(1, 1, 0, 3), unit(0, 0, 3, 1, 0.003)};
    out.valid.start_unix_s = 104;
    out.valid.seconds = 2;
    return out;
}

}  // namespace hopscotch::testing
