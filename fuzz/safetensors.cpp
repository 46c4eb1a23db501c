// SPDX-License-Identifier: Apache-2.0
#include "model/state/safetensors.hpp"
#include "core/error.hpp"
#include "data/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(char const* data, unsigned long size) {
    using namespace hopscotch;
    InputFile const file({data, size});
    try {
        auto const tensors = SafetensorsFile::open(file.path());
        for (auto const& [name, entry] : tensors.entries()) {
            std::uint64_t elements = 1;  // bounded by the file, or open() has let something through
            for (auto n : entry.shape) elements *= static_cast<std::uint64_t>(n);
            if (elements > size) std::abort();
            std::vector<float> values(elements);
            tensors.read(name, values);
        }
    } catch (DataError const&) {  // what a bad file may do
    }
    return 0;
}
