// SPDX-License-Identifier: Apache-2.0
// Operators by which the host learns what the device has computed. On a GPU the host would wait for them, and a graph could
// not be captured. They are seen on a CPU, too.
#pragma once
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace hopscotch::testing {

// Those of the work, by name. The work must have some operator.
inline std::set<std::string> device_waits(std::function<void()> const& work) {
    static thread_local std::set<std::string> seen;
    seen.clear();
    auto const handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](at::RecordFunction const& f) -> std::unique_ptr<at::ObserverContext> {
            seen.insert(f.name());
            return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
    work();
    at::removeCallback(handle);
    std::set<std::string> out;
    for (auto const* name :
         {"aten::masked_select", "aten::nonzero", "aten::item", "aten::_local_scalar_dense", "aten::equal",
          "aten::is_nonzero", "aten::_unique2", "aten::bincount", "aten::repeat_interleave"})
        if (seen.contains(name)) out.insert(name);
    EXPECT_FALSE(seen.empty());
    return out;
}

}  // namespace hopscotch::testing
