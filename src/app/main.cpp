// SPDX-License-Identifier: Apache-2.0
#include "app/cli.hpp"

int main(int argc, char** argv) { return hopscotch::run_cli(argc, argv); }
