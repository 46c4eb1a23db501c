// SPDX-License-Identifier: Apache-2.0
// The files of report/page/, which cmake/embed_page.cmake puts into the program.
#pragma once
#include <string_view>

namespace hopscotch {

extern std::string_view const k_page_template;  // "@NAME@" stands for a text
extern std::string_view const k_page_style;
extern std::string_view const k_page_script;  // without it the page has sentences and tables, but no pictures

}  // namespace hopscotch
