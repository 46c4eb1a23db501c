// SPDX-License-Identifier: Apache-2.0
// The best value that each played search had found, against epochs, as SVG: the mean over the orders, and the band in
// which nine tenths of them lie.
#pragma once
#include <string>

#include "analysis/what_if/what_if.hpp"

namespace hopscotch {

std::string what_if_picture(WhatIf const& what_if);

}  // namespace hopscotch
