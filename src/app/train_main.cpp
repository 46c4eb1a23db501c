// SPDX-License-Identifier: Apache-2.0
// The program hopscotch-train: the sub-commands that compute with LibTorch. Users start it as hopscotch.
#include "app/cli.hpp"
#include "app/commands/commands.hpp"
#include "app/common/build_info.hpp"
#include "core/error.hpp"
#include "model/gpu/device.hpp"

int main(int argc, char** argv) {
    using namespace hopscotch;
    prepare_process();
    return run_cli(
        argc, argv,
        {{{"bench", add_bench}, {"models", add_models}, {"predict", add_predict}, {"replay", add_replay}, {"run", add_run}},
         version_text,
         []() -> int { throw ConfigError("hopscotch-train does not have this command; use hopscotch"); }});
}
