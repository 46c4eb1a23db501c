// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/torch_warnings.hpp"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace hopscotch {
namespace torch_warnings_test {

int count(std::string const& text, std::string const& what) {
    int n = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
}

TEST(TorchWarnings, EachTextIsLoggedOnceWhoeverSaysItAndSomeNever) {
    ::testing::internal::CaptureStderr();
    auto const train = [] {
        log_torch_warnings();
        for (int batch = 0; batch < 5; ++batch) TORCH_WARN("weights are not in one chunk");
    };
    train();
    std::thread(train).join();
    TORCH_WARN("something else");
    TORCH_WARN("Attempting to run cuBLAS, but there was no current CUDA context! Attempting to set the primary context...");
    auto const said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(count(said, "weights are not in one chunk"), 1) << said;
    EXPECT_EQ(count(said, "something else"), 1) << said;
    EXPECT_EQ(count(said, "cuBLAS"), 0) << "no one can do anything about this one";
}

}  // namespace torch_warnings_test
}  // namespace hopscotch
