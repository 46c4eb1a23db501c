// SPDX-License-Identifier: Apache-2.0
#include "data/input_file.hpp"
#include "data/read_all.hpp"

extern "C" int LLVMFuzzerTestOneInput(char const* data, unsigned long size) {
    hopscotch::InputFile const file({data, size});
    hopscotch::read_all_idx(file.path());
    return 0;
}
