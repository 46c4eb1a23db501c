// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/trial_failure.hpp"

#include <new>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "model/gpu/device.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// LibTorch reports missing memory only in its text. A trial that has a GPU for itself and is too large for it would fail
// again.
Cause cause_of(std::exception const& error) {
    if (auto const* large = dynamic_cast<DoesNotFit const*>(&error))
        return large->why() == DoesNotFit::Why::too_large ? Cause::trial : Cause::surroundings;
    bool const data = dynamic_cast<DataError const*>(&error) != nullptr || dynamic_cast<IoError const*>(&error) != nullptr ||
                      dynamic_cast<std::system_error const*>(&error) != nullptr;
    std::string_view const text = error.what();
    bool const memory = dynamic_cast<std::bad_alloc const*>(&error) != nullptr || text.find("out of memory") != text.npos ||
                        text.find("not enough memory") != text.npos;
    return data || memory ? Cause::surroundings : Cause::trial;
}

}  // namespace hopscotch
