// SPDX-License-Identifier: Apache-2.0
// Damaged files for every reader, by the thousand and always the same: each is read, or refused with a ConfigError or
// DataError that names the file. Anything else (another exception, a crash, seconds without an end, gigabytes) is told with
// the words that repeat it:
//   fuzz_readers [--count 1000] [--seed 1] [--kind NAME] [--only N]      --only: this case alone; --kind: its kind
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <typeinfo>

#include "core/error.hpp"
#include "fuzz/kinds.hpp"
#include "fuzz/mutate.hpp"
#include "rundir/records.hpp"

namespace hopscotch::fuzz {
namespace {

constexpr long k_longest_s = 5;               // of processor time, of a case: other processes do not count
constexpr rlim_t k_most_memory = 2ULL << 30;  // address space

struct Options {
    std::uint32_t count = 1000;
    std::uint64_t seed = 1;
    std::string kind;
    std::optional<std::uint32_t> only;
};

// What a signal handler can print: made before each case.
char g_case[256];

void limit_time(long seconds) {
    itimerval const limit{{}, {seconds, 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
}

void tell_and_die(int signal) {
    char const* what = signal == SIGPROF ? "took too long" : "crashed";
    for (char const* text : {"fuzz_readers: ", what, ": ", static_cast<char const*>(g_case), "\n"})
        if (::write(2, text, std::strlen(text)) < 0) break;
    ::_exit(1);
}

void watch_over_this_process() {
    static std::byte stack[1 << 16];  // for the handler, when the other one is full
    stack_t const alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_handler = tell_and_die;
    action.sa_flags = SA_ONSTACK;
    for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) sigaction(signal, &action, nullptr);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is address space too
    rlimit const limit{k_most_memory, k_most_memory};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

struct Verdict {
    bool read = false;
    std::string problem;  // of the reader, if it is one
};

Verdict judge(Kind& kind, std::filesystem::path const& folder) {
    auto const named = [&](Error const& error) {
        std::string const text = error.what();
        bool const said = text.find(kind.place()) != text.npos || text.starts_with("/") || text.starts_with("trial ") ||
                          text.starts_with("--set ");
        return Verdict{false, said ? "" : "a complaint that names no place: \"" + text + "\""};
    };
    try {
        kind.read(folder);
        return {true, ""};
    } catch (ConfigError const& error) {
        return named(error);
    } catch (DataError const& error) {
        return named(error);
    } catch (std::exception const& error) {
        return {false, std::string(typeid(error).name()) + ": " + error.what()};
    }
}

int fuzz(Kind& kind, Options const& options) {
    testing::Scratch const scratch;
    std::uint32_t read = 0, refused = 0, failed = 0;
    for (auto i = options.only.value_or(0); i < options.only.value_or(options.count - 1) + 1; ++i) {
        std::snprintf(g_case, sizeof g_case, "--kind %s --seed %llu --only %u", kind.name().c_str(),
                      static_cast<unsigned long long>(options.seed), i);
        Rng rng(stream_key(options.seed, Purpose::synthetic, {static_cast<std::int64_t>(i)}));
        limit_time(k_longest_s);
        kind.damage(scratch.path(), rng);
        auto const verdict = judge(kind, scratch.path());
        limit_time(0);
        ++(verdict.read ? read : refused);
        if (verdict.problem.empty()) continue;
        ++failed;
        std::fprintf(stderr, "fuzz_readers: %s: %.600s\n", g_case, verdict.problem.c_str());
    }
    std::printf("%-16s %6u read, %6u refused, %u wrong\n", kind.name().c_str(), read, refused, failed);
    bool const blunt = !options.only && options.count >= 100 && (refused == 0 || read == 0);
    if (blunt)
        std::fprintf(stderr, "fuzz_readers: %s: all were %s: this tests nothing\n", kind.name().c_str(),
                     read == 0 ? "refused" : "read");
    return failed > 0 || blunt ? 1 : 0;
}

std::optional<Options> options_of(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return std::nullopt;
        std::string const key = argv[i];
        auto const number = std::strtoull(argv[i + 1], nullptr, 10);
        if (key == "--count")
            out.count = static_cast<std::uint32_t>(number);
        else if (key == "--seed")
            out.seed = number;
        else if (key == "--kind")
            out.kind = argv[i + 1];
        else if (key == "--only")
            out.only = static_cast<std::uint32_t>(number);
        else
            return std::nullopt;
    }
    return out.count > 0 ? std::optional(out) : std::nullopt;
}

int run(int argc, char** argv) {
    auto const options = options_of(argc, argv);
    if (!options) {
        std::fprintf(stderr, "fuzz_readers [--count 1000] [--seed 1] [--kind NAME] [--only N]\n");
        return 2;
    }
    watch_over_this_process();
    int worst = 0;
    bool known = options->kind.empty();
    for (auto const& kind : all_kinds()) {
        if (!options->kind.empty() && kind->name() != options->kind) continue;
        known = true;
        worst = std::max(worst, fuzz(*kind, *options));
    }
    if (!known) std::fprintf(stderr, "fuzz_readers: there is no kind %s\n", options->kind.c_str());
    return known ? worst : 2;
}

}  // namespace

std::vector<std::unique_ptr<Kind>> all_kinds() {
    std::vector<std::unique_ptr<Kind>> out;
    add_experiment_kind(out);
    add_run_kinds(out);
    add_dataset_kinds(out);
    return out;
}

}  // namespace hopscotch::fuzz

int main(int argc, char** argv) try {
    if (std::filesystem::exists("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);  // a hundred thousand small files
    return hopscotch::fuzz::run(argc, argv);
} catch (std::exception const& error) {
    std::fprintf(stderr, "fuzz_readers: %s\n", error.what());
    return 1;
}
