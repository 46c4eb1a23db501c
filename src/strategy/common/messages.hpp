// SPDX-License-Identifier: Apache-2.0
// What rank 0 and the trainers say to each other, as structs; comm/codec.hpp turns them into bytes.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/gpu/device.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/common/lap_codec.hpp"

namespace hopscotch {

// Where and when trainers write checkpoints.
struct CheckpointTarget {
    std::string run_dir, run_id;  // no run_dir: nothing is written
    int incarnation = 1;
    double every_s = 60, mbps = 0;  // RunConfig's
};
template <class A>
void fields(A& a, CheckpointTarget& m) {
    a(m.run_dir, m.run_id, m.incarnation, m.every_s, m.mbps);
}

// Trainer -> rank 0: LapSink::Saved.
struct Checkpointed {
    TrialId trial;
    int epoch = 0, step = 0;
    std::int64_t batch = 0;
    std::string file;  // in the run directory
    bool whole = true;
    double gap_s = 0;
    std::uint64_t state_hash = 0, begin_hash = 0;
};
template <class A>
void fields(A& a, Checkpointed& m) {
    a(m.trial, m.epoch, m.step, m.batch, m.file, m.whole, m.gap_s, m.state_hash, m.begin_hash);
}

// A file that the model names, as rank 0 sees it.
struct NamedFile {
    std::string path;
    std::uint64_t xxh64 = 0;
};
template <class A>
void fields(A& a, NamedFile& m) {
    a(m.path, m.xxh64);
}

// Rank 0 -> trainers, first of all.
struct Welcome {
    std::string experiment;  // the whole document, with --set applied
    std::string strategy;
    OwnerTable owners;
    std::uint64_t state_bytes = 0;  // of the largest trial: buffers of this size are touched before the run; 0: none
    CheckpointTarget checkpoints = {};
    std::vector<NamedFile> files = {};
};
template <class A>
void fields(A& a, Welcome& m) {
    a(m.experiment, m.strategy, m.owners, m.state_bytes, m.checkpoints, m.files);
}

template <class A>
void fields(A& a, DeviceInfo& m) {
    a(m.name, m.model, m.uuid, m.memory_bytes, m.versions);
}

// Trainer -> rank 0: the answer to the roll call.
struct Hello {
    std::string host, build, torch, cpu;
    DeviceInfo device;
    std::int32_t pid = 0, cores = 0;      // online on its host
    std::vector<std::int32_t> own_cores;  // it may run on these
    std::uint64_t memory_bytes = 0, dataset_hash = 0;
    std::string error;  // what keeps this trainer from training; empty: ready
};
template <class A>
void fields(A& a, Hello& m) {
    a(m.host, m.build, m.torch, m.cpu, m.device, m.pid, m.cores, m.own_cores, m.memory_bytes, m.dataset_hash, m.error);
}

// To the service of a trainer that owns this shard: it answers with a push of kind rows, whose header is the ticket.
struct RowsWanted {
    std::uint64_t ticket = 0;
    ShardId shard;
    std::uint32_t first = 0, count = 0;  // `count` rows from `first` on, unless
    std::vector<std::uint32_t> rows;     // these are named
};
template <class A>
void fields(A& a, RowsWanted& m) {
    a(m.ticket, m.shard, m.first, m.count, m.rows);
}

struct TrialMessage {  // stop, fetch_best, keep: about one trial
    TrialId trial;
    int epoch = 0;
};
template <class A>
void fields(A& a, TrialMessage& m) {
    a(m.trial, m.epoch);
}

// Rank 0 -> trainers: this trial's lap ends with the unit under way.
struct Leave {
    TrialId trial;
    std::string why;
};
template <class A>
void fields(A& a, Leave& m) {
    a(m.trial, m.why);
}

// Rank 0 -> trainers: stop at the next batch; the answer has the same round, when nothing is on its way out any more.
// settle: answer when all that was said before has been done.
struct Pause {
    int round = 0;
};
template <class A>
void fields(A& a, Pause& m) {
    a(m.round);
}

// Rank 0 -> trainers that have paused: write what has no copy of its present place on the disk, within so long.
struct Save {
    int round = 0;
    double deadline_s = 0;
};
template <class A>
void fields(A& a, Save& m) {
    a(m.round, m.deadline_s);
}

// The answer: how many states could not be written.
struct AllSaved {
    int round = 0;
    std::uint64_t unsaved = 0;
};
template <class A>
void fields(A& a, AllSaved& m) {
    a(m.round, m.unsaved);
}

struct Shutdown {
    int exit_code = 0;
};
template <class A>
void fields(A& a, Shutdown& m) {
    a(m.exit_code);
}

// Trainer -> rank 0, the last word.
struct Goodbye {
    std::vector<std::uint64_t> bytes = std::vector<std::uint64_t>(4);  // by Traffic
    std::uint64_t peak_rss_bytes = 0;
    std::vector<double> hop_s;  // push to arrival, one a hop
    // Training rows with their labels that this trainer holds or owns, and those of them that it copied from other trainers.
    std::uint64_t storage_bytes = 0, staged_bytes = 0;
    std::uint64_t spilled_bytes = 0;  // of waiting states, written to the disk (run.state_memory)
};
template <class A>
void fields(A& a, Goodbye& m) {
    a(m.bytes, m.peak_rss_bytes, m.hop_s, m.storage_bytes, m.staged_bytes, m.spilled_bytes);
}

struct Fatal {  // damaged: likewise
    std::string text;
};
template <class A>
void fields(A& a, Fatal& m) {
    a(m.text);
}

}  // namespace hopscotch
