// SPDX-License-Identifier: Apache-2.0
#include "both_worlds.hpp"

int main(int argc, char** argv) { return hopscotch::testing::both_worlds_main(argc, argv); }
