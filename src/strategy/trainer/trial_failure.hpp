// SPDX-License-Identifier: Apache-2.0
// What an exception that a trial's training threw says about the trial.
#pragma once
#include <exception>

namespace hopscotch {

enum class Cause;

// Unreadable rows and missing memory are not the trial's fault.
Cause cause_of(std::exception const& error);

}  // namespace hopscotch
