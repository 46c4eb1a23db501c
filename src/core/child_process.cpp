// SPDX-License-Identifier: Apache-2.0
#include "core/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/clock.hpp"

namespace hopscotch {
namespace {

constexpr auto k_look_every = std::chrono::milliseconds(10);

std::vector<char*> pointers(std::vector<std::string> const& words) {
    std::vector<char*> out;
    for (auto const& word : words) out.push_back(const_cast<char*>(word.c_str()));  // the type of posix_spawn
    out.push_back(nullptr);
    return out;
}

class SpawnFiles {
public:
    explicit SpawnFiles(std::string const& output) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        // The journal's lock and the sockets of MPI would stay open in a process that outlives the job.
        std::error_code none;
        for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd", none))
            if (int const file = std::atoi(entry.path().filename().c_str()); file > 2)
                ::posix_spawn_file_actions_addclose(&actions_, file);
        if (output.empty()) return;
        ::posix_spawn_file_actions_addopen(&actions_, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    }
    ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&actions_); }
    SpawnFiles(SpawnFiles const&) = delete;
    SpawnFiles& operator=(SpawnFiles const&) = delete;
    posix_spawn_file_actions_t const* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

class SpawnSignals {
public:
    SpawnSignals() {
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
    }
    ~SpawnSignals() { ::posix_spawnattr_destroy(&attributes_); }
    SpawnSignals(SpawnSignals const&) = delete;
    SpawnSignals& operator=(SpawnSignals const&) = delete;
    posix_spawnattr_t const* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

std::string end_text(int status) {
    if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string await_end(pid_t child, double limit_s, std::function<bool()> const& give_up) {
    int status = 0;
    auto const until_s = monotonic_s() + limit_s;
    while (true) {
        auto const ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) return end_text(status);
        if (ended < 0 && errno != EINTR) return std::strerror(errno);
        bool const late = monotonic_s() >= until_s;
        if (late || give_up()) {
            ::kill(-child, SIGKILL);
            while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
            return late ? fmt::format("not done after {:g} s, and killed", limit_s) : "killed by a signal to the job";
        }
        std::this_thread::sleep_for(k_look_every);
    }
}

}  // namespace

std::string run_child(ChildCommand const& command, std::function<bool()> const& give_up) {
    SpawnFiles const files(command.output);
    SpawnSignals const signals;
    pid_t child = 0;
    auto const words = pointers(command.words), environment = pointers(command.environment);
    int const error = ::posix_spawnp(&child, words.front(), files.get(), signals.get(), words.data(), environment.data());
    return error != 0 ? std::strerror(error) : await_end(child, command.limit_s, give_up);
}

}  // namespace hopscotch
