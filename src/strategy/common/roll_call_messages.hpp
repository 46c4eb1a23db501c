// SPDX-License-Identifier: Apache-2.0
// The messages at the start and the end of a job (strategy/roll_call.hpp), as structs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/histogram.hpp"
#include "model/gpu/device.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/checkpoint_target.hpp"

namespace hopscotch {

template <class A>
void fields(A& a, ShardShare& m) {
    a(m.trainer, m.until);
}
template <class A>
void fields(A& a, OwnerTable& m) {
    a(m.version, m.trainers, m.owner, m.lost, m.shares, m.speed);
}

// A file that the model names, with rank 0's hash of it.
struct NamedFile {
    std::string path;
    std::uint64_t xxh64 = 0;
};
template <class A>
void fields(A& a, NamedFile& m) {
    a(m.path, m.xxh64);
}

// Rank 0 -> trainers, the first message.
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
    a(m.name, m.model, m.uuid, m.memory_bytes, m.processors, m.versions);
}

// Trainer -> rank 0: the answer to Welcome.
struct Hello {
    std::string host, build, torch, cpu;
    DeviceInfo device;
    std::int32_t pid = 0, cores = 0;      // cores: online on its host
    std::vector<std::int32_t> own_cores;  // the process may run on these
    std::uint64_t memory_bytes = 0, dataset_hash = 0;
    double speed = 0;   // of a small dense loop on its core (core_speed()); 0: not measured
    std::string error;  // the reason why this trainer cannot train; empty: ready
};
template <class A>
void fields(A& a, Hello& m) {
    a(m.host, m.build, m.torch, m.cpu, m.device, m.pid, m.cores, m.own_cores, m.memory_bytes, m.dataset_hash, m.speed,
      m.error);
}

struct Shutdown {
    int exit_code = 0;
};
template <class A>
void fields(A& a, Shutdown& m) {
    a(m.exit_code);
}

template <class A>
void fields(A& a, Histogram& m) {
    a(m.counts, m.least_s, m.most_s);
}

// Trainer -> rank 0, the last message.
struct Goodbye {
    std::vector<std::uint64_t> bytes = std::vector<std::uint64_t>(4);  // by Traffic
    std::uint64_t peak_rss_bytes = 0;
    Histogram hop_s;  // from push to arrival
    // storage: training rows with their labels that this trainer holds or owns. staged: those that it copied from other
    // trainers.
    std::uint64_t storage_bytes = 0, staged_bytes = 0;
    std::uint64_t spilled_bytes = 0;  // of waiting states, written to the disk (run.state_memory)
};
template <class A>
void fields(A& a, Goodbye& m) {
    a(m.bytes, m.peak_rss_bytes, m.hop_s, m.storage_bytes, m.staged_bytes, m.spilled_bytes);
}

}  // namespace hopscotch
