// SPDX-License-Identifier: Apache-2.0
#include "model/trial/torch_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr char const* k_file = "libhopscotch_torch.so";

// GLOBAL: plug-ins find LibTorch's symbols there.
TorchLibrary& loaded() {
    auto* const library = dlopen(k_file, RTLD_NOW | RTLD_GLOBAL);
    auto* const entry = library == nullptr ? nullptr : dlsym(library, "hopscotch_torch_library");
    if (entry == nullptr)
        throw Error(fmt::format(
            "LibTorch cannot be loaded ({}); see docs/install.md on its place, or allow more memory with `ulimit -v "
            "unlimited`",
            dlerror()));
    return *reinterpret_cast<TorchLibrary* (*)()>(entry)();
}

}  // namespace

// tensor/tensor_library.cpp. Null in a program that does not link it.
extern "C" [[gnu::weak]] TorchLibrary* hopscotch_torch_library();

TorchLibrary& torch_library() {
    static auto& library = hopscotch_torch_library != nullptr ? *hopscotch_torch_library() : loaded();
    return library;
}

}  // namespace hopscotch
