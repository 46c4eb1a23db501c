// SPDX-License-Identifier: Apache-2.0
#include "select_files.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    hopscotch::testing::select_files(argc, argv);
    return RUN_ALL_TESTS();
}
