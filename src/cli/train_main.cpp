// SPDX-License-Identifier: Apache-2.0
// The program hopscotch-train: the sub-commands that train, or talk with MPI. Users start it as hopscotch. It knows the
// other commands too, because `completion` and `man` write about all of them.
#include <cstdio>
#include <cstdlib>

#include "cli/cli.hpp"
#include "cli/common/commands.hpp"
#include "core/signals.hpp"
#include "job/build_info.hpp"
#include "model/gpu/device.hpp"

extern "C" void __gcov_dump() __attribute__((weak));  // only in a build that measures coverage

namespace {

// Without the static destructors: LibTorch's take 0.1 s of CPU, a quarter of a short command.
[[noreturn]] void leave(int exit_code) {
    std::fflush(nullptr);
    if (__gcov_dump != nullptr) __gcov_dump();
    std::_Exit(exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace hopscotch;
    if (trains(argc, argv)) catch_signals();
    prepare_process();
    leave(run_cli(argc, argv,
                  {{{"bench", add_bench},
                    {"compare", add_compare},
                    {"completion", add_completion},
                    {"ctl", add_ctl},
                    {"data", add_data},
                    {"doctor", add_doctor},
                    {"export", add_export},
                    {"init", add_init},
                    {"man", add_man},
                    {"models", add_models},
                    {"plan", add_plan},
                    {"predict", add_predict},
                    {"replay", add_replay},
                    {"report", add_report},
                    {"resume", add_resume},
                    {"run", add_run},
                    {"schema", add_schema},
                    {"what-if", add_what_if}},
                   version_text,
                   nullptr}));
}
