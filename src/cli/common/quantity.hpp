// SPDX-License-Identifier: Apache-2.0
// Quantities of the command line with their units.
#pragma once
#include <string_view>

namespace hopscotch {

// "1gbit", "100 Mbit/s" (bits), "12.5GB/s" (bytes), in thousands: bytes a second, 1kbit to 100tbit.
// Throws ConfigError that names the option.
double parse_bandwidth(std::string_view text, std::string_view option);

// "0.1ms", "20us", "1 s", "0": seconds. Throws ConfigError that names the option.
double parse_duration(std::string_view text, std::string_view option);

}  // namespace hopscotch
