// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/findings.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace {

constexpr std::uint64_t k_many = std::uint64_t{1} << 40;

// Two healthy hosts with two ranks each, 12.5 GB/s apart.
Checkup healthy() {
    Checkup out{"/shared/runs", k_many, 4, false, {}, {{"a", "b", 12.5e9, true}}, {}};
    for (std::int32_t rank = 0; rank < 4; ++rank) {
        RankFacts facts;
        facts.rank = rank;
        facts.host = rank < 2 ? "a" : "b";
        facts.build = "1.0 abc";
        facts.cpu = "Xeon";
        facts.memory_bytes = facts.shared_bytes = facts.limits.open_files = facts.limits.locked_bytes =
            facts.limits.file_bytes = k_many;
        facts.infiniband = true;
        facts.clock.round_trip_s = 1e-4;
        out.ranks.push_back(facts);
    }
    return out;
}

// The only finding.
Finding finding_of(Checkup const& checkup) {
    auto const findings = findings_of(checkup);
    EXPECT_EQ(findings.size(), 1U);
    return findings.empty() ? Finding{} : findings.front();
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Doctor, HealthyHostsGetNoFinding) { EXPECT_TRUE(findings_of(healthy()).empty()); }

TEST(Doctor, ARunWouldFail) {
    auto checkup = healthy();
    for (std::size_t rank : {2U, 3U}) checkup.ranks[rank].folder_error = "is another folder there";
    auto finding = finding_of(checkup);
    EXPECT_TRUE(finding.fatal);
    EXPECT_SAYS(finding.text, "rank 2-3 (b): /shared/runs is another folder there; put run.dir on a file system");

    checkup = healthy();
    checkup.ranks[3].build = "1.0 abd";
    finding = finding_of(checkup);
    EXPECT_TRUE(finding.fatal);
    EXPECT_SAYS(finding.text, "rank 3 (b): runs build 1.0 abd (rank 0 runs 1.0 abc)");

    checkup = healthy();
    checkup.ranks.resize(1);
    finding = finding_of(checkup);
    EXPECT_TRUE(finding.fatal);
    EXPECT_SAYS(finding.text, "has started 4 processes, but MPI joins 1 of them");

    checkup = healthy();
    checkup.ranks[1].training_error = "the driver is too old";
    finding = finding_of(checkup);
    EXPECT_TRUE(finding.fatal);
    EXPECT_EQ(finding.text, "rank 1 (a): the driver is too old");
}

TEST(Doctor, ARunWouldBeSlowOrLookWrong) {
    struct {
        void (*change)(Checkup&);
        char const* says;
    } const cases[] = {
        {[](Checkup& c) { c.ranks[1].limits.open_files = 256; }, "rank 1 (a): may open 256 files"},
        {[](Checkup& c) { c.ranks[1].limits.file_bytes = 1000; }, "may write files of at most 1.0 kB"},
        {[](Checkup& c) { c.ranks[2].shared_bytes = 64'000'000; }, "/dev/shm has 64.0 MB free"},
        {[](Checkup& c) { c.ranks[2].limits.locked_bytes = 65536; }, "may lock 65.5 kB of memory"},
        {[](Checkup& c) { c.ranks[2].clock.ahead_s = -90; }, "its clock is behind by 90 s"},
        {[](Checkup& c) { c.ranks[2].clock.round_trip_s = 0.05; }, "take 50 ms or more"},
        {[](Checkup& c) { c.ranks[2].cpu = "EPYC"; }, "another kind of CPU, EPYC (rank 0: Xeon)"},
        {[](Checkup& c) { c.folder_free_bytes = 1000; }, "/shared/runs has 1.0 kB free"},
        {[](Checkup& c) { c.links[0].bytes_per_s = 1e9; }, "a to b: 1.0 GB/s (slow for InfiniBand"},
        {[](Checkup& c) { c.links[0] = {"a", "b", 1e7, false}; }, "a to b: 10.0 MB/s (slower than 1 Gbit/s"},
        {[](Checkup& c) { c.ranks.resize(1), c.started = 1; }, "one process under a launcher"},
        {[](Checkup& c) { c.srun_may_crash = true; }, "SLURM_PMIX_FENCE is not ring"},
        {[](Checkup& c) { c.advice = {"two trainers share a GPU"}; }, "two trainers share a GPU"},
    };
    for (auto const& [change, says] : cases) {
        auto checkup = healthy();
        change(checkup);
        auto const finding = finding_of(checkup);
        EXPECT_FALSE(finding.fatal);
        EXPECT_SAYS(finding.text, says);
    }
}

TEST(Doctor, NoLimitOnLockedMemoryIsNeededWithoutInfiniband) {
    auto checkup = healthy();
    for (auto& rank : checkup.ranks) rank.infiniband = false, rank.limits.locked_bytes = 65536;
    checkup.links[0] = {"a", "b", 1e9, false};
    EXPECT_TRUE(findings_of(checkup).empty());
}

TEST(Doctor, WhatIsFatalComesFirst) {
    auto checkup = healthy();
    checkup.ranks[0].cpu = "EPYC";
    checkup.ranks[3].folder_error = "cannot be written there";
    auto const findings = findings_of(checkup);
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_TRUE(findings[0].fatal);
    EXPECT_SAYS(findings[1].text, "rank 1-3 (a, b): has another kind of CPU");
}

TEST(Doctor, RanksAreListedInRanges) {
    EXPECT_EQ(ranks_text({7, 0, 1, 3, 2}), "0-3, 7");
    EXPECT_EQ(ranks_text({4}), "4");
    EXPECT_EQ(ranks_text({1, 3, 5, 6}), "1, 3, 5-6");
}

}  // namespace
}  // namespace hopscotch
