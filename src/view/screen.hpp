// SPDX-License-Identifier: Apache-2.0
// Lines that are drawn again in place, at the end of a terminal's output. Between two drawings the cursor stands above the
// lines, on an empty line. So a log line of any process goes there, and the next drawing begins below it. The next drawing
// also erases all lines, even after a change of the window's size.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

class Screen {
public:
    explicit Screen(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
    ~Screen() { erase(); }
    Screen(Screen const&) = delete;
    Screen& operator=(Screen const&) = delete;

    // Fewer lines than the window has rows. One write, without erasing first: so nothing flickers.
    void draw(std::vector<std::string> const& lines);
    void erase();  // the next output begins where the lines stood

private:
    std::function<void(std::string_view)> write_;
    bool drawn_ = false;
};

}  // namespace hopscotch
