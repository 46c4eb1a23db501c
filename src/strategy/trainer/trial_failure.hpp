// SPDX-License-Identifier: Apache-2.0
// Judges an exception from a trial's training: is the trial to blame?
#pragma once
#include <exception>

namespace hopscotch {

enum class Cause;

// Unreadable rows and missing memory are not the trial's fault.
Cause cause_of(std::exception const& error);

}  // namespace hopscotch
