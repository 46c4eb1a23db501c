// SPDX-License-Identifier: Apache-2.0
// What an exception that a trial's training threw says about the trial.
#pragma once
#include <exception>
#include <string>

namespace hopscotch {

enum class Cause;

// Unreadable rows and missing memory are not the trial's fault.
Cause cause_of(std::exception const& error);
std::string failure_words(std::exception const& error);  // a sentence even of std::bad_alloc

}  // namespace hopscotch
