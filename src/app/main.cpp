// SPDX-License-Identifier: Apache-2.0
#include "app/cli.hpp"
#include "model/gpu/device.hpp"

int main(int argc, char** argv) {
    hopscotch::prepare_process();
    return hopscotch::run_cli(argc, argv);
}
