// SPDX-License-Identifier: Apache-2.0
// Log lines go to standard error with the time and the rank that speaks. Results go to standard output, by rank 0 alone.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

enum class LogLevel { debug, info, warning, error, off };

// Process-wide. who: "rank 2 node7", or empty for one process.
void log_setup(std::string_view who, LogLevel level);

// From now on each line first erases the terminal below the cursor: there stands a view that is redrawn (view/screen.hpp).
void log_above_a_view();

// The last warnings and errors of this process, oldest first, at most `most` (no more than 16 are kept).
std::vector<std::string> last_warnings(std::size_t most);

// Text for a terminal: the bytes of characters that may not be shown (core/characters.hpp) as "\\x1b"; a control character
// could move its cursor or change its title. Names in foreign datasets and run directories can hold any. Log lines are made
// so here.
std::string printable(std::string_view text);

void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

}  // namespace hopscotch
