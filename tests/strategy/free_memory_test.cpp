// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/free_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tiny_dataset.hpp"

namespace hopscotch {
namespace free_memory_test {

namespace fs = std::filesystem;

constexpr std::uint64_t k_gigabyte = std::uint64_t{1} << 30;
constexpr std::uint64_t k_host = 512 * k_gigabyte;  // MemAvailable
constexpr char const* k_v1_unlimited = "9223372036854771712";

// A host with a tree of control groups of its own.
class FreeMemoryTest : public ::testing::Test {
protected:
    FreeMemoryTest() {
        write("proc/meminfo", "MemTotal:       600000000 kB\nMemFree:        1 kB\nMemAvailable:   " +
                                  std::to_string(k_host / 1024) + " kB\n");
    }
    void write(fs::path const& file, std::string const& text) const {
        fs::create_directories((root_.path() / file).parent_path());
        std::ofstream(root_.path() / file) << text;
    }
    void limit(fs::path const& file, std::uint64_t bytes) const { write(file, std::to_string(bytes) + "\n"); }
    void mount_v2(std::string const& group = "/", std::string const& place = "/sys/fs/cgroup") {
        mounts_ += "30 23 0:26 " + group + " " + place + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        write("proc/self/mountinfo", mounts_);
    }
    void mount_v1(std::string const& controllers, std::string const& group = "/") {
        mounts_ += "31 23 0:27 " + group + " /sys/fs/cgroup/" + controllers + " rw,relatime - cgroup cgroup rw," +
                   controllers + "\n";
        write("proc/self/mountinfo", mounts_);
    }
    void own_groups(std::string const& lines) const { write("proc/self/cgroup", lines); }
    std::uint64_t free() const { return free_memory_bytes(root_.path()); }

    fs::path const v2_ = "sys/fs/cgroup", v1_ = "sys/fs/cgroup/memory";

private:
    testing::TemporaryDirectory root_;
    std::string mounts_ = "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n";
};

TEST_F(FreeMemoryTest, WithoutGroupsIsTheHosts) {
    EXPECT_EQ(free(), k_host);
    mount_v2();
    own_groups("0::/\n");
    EXPECT_EQ(free(), k_host);
}

// slurmd: the limit of a job is on its own group; a step and its tasks are below, without a limit.
TEST_F(FreeMemoryTest, TheLimitOfASlurmJobCountsInItsSteps) {
    mount_v2();
    own_groups("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_1\n");
    auto const job = v2_ / "system.slice/slurmstepd.scope/job_7";
    limit(job / "memory.max", 16 * k_gigabyte);
    write(job / "step_0/memory.max", "max\n");
    write(job / "step_0/user/task_1/memory.max", "max\n");
    EXPECT_EQ(free(), 16 * k_gigabyte);
    limit(job / "step_0/memory.high", 12 * k_gigabyte);
    EXPECT_EQ(free(), 12 * k_gigabyte) << "memory.high slows a job down before memory.max ends it";
    limit(v2_ / "system.slice/memory.max", 8 * k_gigabyte);
    EXPECT_EQ(free(), 8 * k_gigabyte) << "the least of all levels";
    limit(v2_ / "system.slice/slurmstepd.scope/job_8/memory.max", k_gigabyte);
    EXPECT_EQ(free(), 8 * k_gigabyte) << "another job's";
}

TEST_F(FreeMemoryTest, V1CountsTheTreeOfTheMemoryController) {
    mount_v1("cpu");
    mount_v1("memory");
    own_groups("9:cpu,cpuacct:/elsewhere\n4:memory:/slurm/uid_5/job_7/step_0\n0::/\n");
    for (auto const* group : {"", "slurm", "slurm/uid_5/job_7/step_0"})
        write(v1_ / group / "memory.limit_in_bytes", k_v1_unlimited);
    limit("sys/fs/cgroup/cpu/elsewhere/memory.limit_in_bytes", k_gigabyte);  // of no memory controller
    EXPECT_EQ(free(), k_host);
    limit(v1_ / "slurm/uid_5/job_7/memory.limit_in_bytes", 16 * k_gigabyte);
    EXPECT_EQ(free(), 16 * k_gigabyte);
}

// systemd's hybrid: v2 has the groups and no controller, v1 has the limits; and the other way round.
TEST_F(FreeMemoryTest, OfBothTreesTheLesserCounts) {
    mount_v1("memory");
    mount_v2("/", "/sys/fs/cgroup/unified");
    own_groups("4:memory:/job\n0::/job\n");
    limit(v1_ / "job/memory.limit_in_bytes", 16 * k_gigabyte);
    EXPECT_EQ(free(), 16 * k_gigabyte);
    limit("sys/fs/cgroup/unified/job/memory.max", 4 * k_gigabyte);
    EXPECT_EQ(free(), 4 * k_gigabyte);
}

// With a name space of groups the own group is "/"; without one its path is the host's, and only a part of the tree, or
// none of it, is mounted.
TEST_F(FreeMemoryTest, AContainerSeesTheLimitThatIsMounted) {
    mount_v2("/docker/abc");
    own_groups("0::/docker/abc/job\n");
    limit(v2_ / "memory.max", 16 * k_gigabyte);
    EXPECT_EQ(free(), 16 * k_gigabyte);
    limit(v2_ / "job/memory.max", 2 * k_gigabyte);
    EXPECT_EQ(free(), 2 * k_gigabyte);
    for (auto const* invisible : {"0::/../other\n", "0::/kubepods/pod1\n", "0::/docker/abcdef\n", "0::/\n"}) {
        own_groups(invisible);
        EXPECT_EQ(free(), 16 * k_gigabyte) << invisible;
    }
}

TEST_F(FreeMemoryTest, WhatIsInUseIsNotFreeAndPagesOfFilesAre) {
    mount_v2();
    own_groups("0::/job\n");
    limit(v2_ / "job/memory.max", 16 * k_gigabyte);
    limit(v2_ / "job/memory.current", 16 * k_gigabyte);
    write(v2_ / "job/memory.stat", "anon " + std::to_string(3 * k_gigabyte) + "\nfile " + std::to_string(13 * k_gigabyte) +
                                       "\nshmem " + std::to_string(k_gigabyte) + "\nanon_thp 9999999999\n");
    EXPECT_EQ(free(), 12 * k_gigabyte);
    limit(v2_ / "job/memory.max", 2 * k_gigabyte);
    EXPECT_EQ(free(), 0U) << "over the limit";
    mount_v1("memory");
    own_groups("4:memory:/job\n");
    limit(v1_ / "job/memory.limit_in_bytes", 16 * k_gigabyte);
    write(v1_ / "job/memory.stat", "cache 1\nrss 2\ntotal_cache " + std::to_string(13 * k_gigabyte) + "\ntotal_rss " +
                                       std::to_string(5 * k_gigabyte) + "\n");
    EXPECT_EQ(free(), 11 * k_gigabyte);
}

TEST_F(FreeMemoryTest, OddLinesAreNoLimits) {
    write("proc/self/mountinfo", "\n-\n- cgroup2\n1 2 3 4 5 -\n1 2 3 / /sys/fs/cgroup rw - cgroup\n");
    own_groups("\n:\n0:\nmemory\n0::\n");
    limit(v2_ / "memory.max", k_gigabyte);
    EXPECT_EQ(free(), k_host);
}

}  // namespace free_memory_test
}  // namespace hopscotch
