// SPDX-License-Identifier: Apache-2.0
// The end of a peer's process, as the process table of this host shows it. A process that is stopped or starved is there and
// has not ended; silence alone cannot tell these apart. Peers on other hosts are not in the table: only silence shows their
// loss.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

// Couriers exchange theirs when they start.
struct ProcessId {
    std::string place;          // host name, number of the boot, namespace of pids; empty: unknown
    std::int64_t pid = 0;       // in that namespace
    std::uint64_t started = 0;  // clock ticks since the boot: a later process may have the same pid
};
template <class A>
void fields(A& a, ProcessId& m) {
    a(m.place, m.pid, m.started);
}

// The table's entry for a pid. unknown: there is an entry, but it cannot be read.
struct ProcessEntry {
    enum class Kind { absent, unknown, present } kind = Kind::unknown;
    char state = '?';  // as in /proc/PID/stat; Z: a zombie
    std::uint64_t started = 0;
};
using ProcessTable = std::function<ProcessEntry(std::int64_t pid)>;

ProcessEntry parse_process_entry(std::string_view stat);  // the text of /proc/PID/stat
ProcessEntry read_process_entry(std::int64_t pid);        // from /proc
ProcessId this_process();

// False for a process of another place, which this table does not show.
bool has_ended(ProcessId const& peer, ProcessId const& self, ProcessTable const& table);

// The processes of the other ranks. One thread.
class PeerProcesses {
public:
    explicit PeerProcesses(ProcessId self, ProcessTable table = read_process_entry);

    ProcessId const& self() const { return self_; }
    void meet(Rank rank, ProcessId process);
    // Looks at all processes, ten times a second at most. Returns each ended rank once, one look after the look that found
    // its end: between two looks, its last messages have arrived.
    std::vector<Rank> ended(double now_s);

private:
    ProcessId self_;
    ProcessTable table_;
    std::map<Rank, ProcessId> running_;
    std::set<Rank> ending_;  // since the last look
    double next_look_s_ = 0;
};

}  // namespace hopscotch
