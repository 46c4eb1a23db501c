// SPDX-License-Identifier: Apache-2.0
// The exception classes and the one always-on check. Expected outcomes (a trial that diverges) are values, never
// exceptions; only main and a thread's outermost function catch.
#pragma once
#include <concepts>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hopscotch {

class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The input of the user is wrong: exit code 2, nothing is started or written.
class ConfigError : public Error {
public:
    using Error::Error;
};

// A peer is lost, silent, or speaks another protocol.
class CommError : public Error {
public:
    using Error::Error;
};

// Thrown by a trainer: rank 0 is silent. Either rank 0 and the job have ended, or this trainer is cut off and the job
// continues without it.
class SchedulerSilent : public CommError {
public:
    using CommError::CommError;
};

// The disk or its file system refuses: full, no permission, gone.
class IoError : public Error {
public:
    using Error::Error;
};

// A data file is missing, damaged or of another format.
class DataError : public Error {
public:
    using Error::Error;
};

// Exit codes besides 0: a failed run, bad input, a run that --resume can continue (EX_TEMPFAIL).
inline constexpr int k_exit_failed = 1, k_exit_bad_input = 2, k_exit_resumable = 75;

// True if another try may succeed: a peer was lost, or a disk was full.
bool is_resumable(std::exception const& error);

// what(), or our own text for exceptions of the standard library: "std::bad_alloc" tells no user what to do.
std::string words_of(std::exception const& error);

// "error.cpp:12": the file's last path component and the line.
std::string where(std::source_location const& at);

// Throws Error("<problem> [file:line]") unless the condition holds. Write problems as "problem (why); suggestion".
inline void require(bool condition, std::string_view problem, std::source_location at = std::source_location::current()) {
    if (!condition) [[unlikely]]
        throw Error(std::string(problem) + " [" + where(at) + "]");
}

// For checks of every unit: problem() is called only if the condition does not hold. Formatting takes longer than a
// schedule.
template <std::invocable Problem>
void require(bool condition, Problem const& problem, std::source_location at = std::source_location::current()) {
    if (!condition) [[unlikely]]
        require(false, std::string_view(problem()), at);
}

}  // namespace hopscotch
