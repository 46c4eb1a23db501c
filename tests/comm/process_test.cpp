// SPDX-License-Identifier: Apache-2.0
#include "comm/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

namespace hopscotch {
namespace process_test {

using Kind = ProcessEntry::Kind;

ProcessId const k_self{"node7 boot namespace", 70, 500};
ProcessId const k_peer{"node7 boot namespace", 71, 501};

ProcessTable table_with(ProcessEntry entry) {
    return [entry](std::int64_t pid) { return pid == k_peer.pid ? entry : ProcessEntry{Kind::absent}; };
}

TEST(Process, HasEndedIfTheTableSaysSo) {
    struct Row {
        ProcessEntry entry;
        bool ended;
    };
    for (auto const& [entry, ended] :
         {Row{{Kind::present, 'R', 501}, false}, Row{{Kind::present, 'S', 501}, false},
          Row{{Kind::present, 'T', 501}, false}, Row{{Kind::present, 'D', 501}, false}, Row{{Kind::present, 'Z', 501}, true},
          Row{{Kind::present, 'X', 501}, true}, Row{{Kind::present, 'R', 777}, true}, Row{{Kind::absent}, true},
          Row{{Kind::unknown}, false}})
        EXPECT_EQ(has_ended(k_peer, k_self, table_with(entry)), ended) << entry.state << entry.started;
}

TEST(Process, OfAnotherPlaceIsNotInThisTable) {
    auto const nothing = table_with({Kind::absent});
    for (auto const* place : {"", "node8 boot namespace", "node7 later namespace", "node7 boot container"})
        EXPECT_FALSE(has_ended({place, 71, 501}, k_self, nothing)) << place;
    EXPECT_FALSE(has_ended({"", 71, 501}, {"", 70, 500}, nothing)) << "neither knows its place";
    EXPECT_TRUE(has_ended(k_peer, k_self, nothing));
}

TEST(Process, EntriesOfTheTable) {
    auto const numbers = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
    auto const entry = parse_process_entry(std::string("71 (a) Z (b) S") + numbers);
    EXPECT_EQ(entry.kind, Kind::present);
    EXPECT_EQ(entry.state, 'S');
    EXPECT_EQ(entry.started, 4711U);
    for (auto const* text : {"", "71", "71 (name) ", "71 (name) S 1 2 3",
                             "71 (name) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 "
                             "17 18 later"})
        EXPECT_EQ(parse_process_entry(text).kind, Kind::unknown) << text;
}

TEST(Process, EachEndIsToldOnceAndAtTheSecondLook) {
    std::map<std::int64_t, ProcessEntry> table{{71, {Kind::present, 'R', 501}}, {72, {Kind::present, 'R', 502}}};
    PeerProcesses peers(k_self, [&](std::int64_t pid) { return table[pid]; });
    peers.meet(Rank(1), k_peer);
    peers.meet(Rank(2), {k_self.place, 72, 502});
    EXPECT_TRUE(peers.ended(1).empty());
    table[72].state = 'Z';
    EXPECT_TRUE(peers.ended(1.05).empty()) << "no look: the last one was just now";
    EXPECT_TRUE(peers.ended(2).empty()) << "what it said before its end may still arrive";
    EXPECT_EQ(peers.ended(3), std::vector<Rank>{Rank(2)});
    EXPECT_TRUE(peers.ended(4).empty());
    table[71].kind = Kind::absent;
    EXPECT_TRUE(peers.ended(5).empty());
    EXPECT_EQ(peers.ended(6), std::vector<Rank>{Rank(1)});
}

TEST(Process, AChildOfThisProcess) {
    auto const self = this_process();
    ASSERT_FALSE(self.place.empty());
    EXPECT_EQ(self.pid, getpid());
    EXPECT_FALSE(has_ended(self, self, read_process_entry));
    int ends[2] = {};
    ASSERT_EQ(pipe(ends), 0);
    auto const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // lives until the parent closes the pipe
        close(ends[1]);
        char byte = 0;
        _exit(static_cast<int>(read(ends[0], &byte, 1)));
    }
    close(ends[0]);
    auto const entry = read_process_entry(child);
    ProcessId const other{self.place, child, entry.started};
    EXPECT_FALSE(has_ended(other, self, read_process_entry));
    EXPECT_TRUE(has_ended({self.place, child, entry.started + 1}, self, read_process_entry)) << "a later process";
    close(ends[1]);
    siginfo_t end = {};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(has_ended(other, self, read_process_entry)) << "a zombie";
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(has_ended(other, self, read_process_entry)) << "no such process";
}

}  // namespace process_test
}  // namespace hopscotch
