// SPDX-License-Identifier: Apache-2.0
// Tables of the page. They are complete without the script, which sorts them and saves them as CSV. PURE.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

// Texts are escaped here. The cells of a row come in the order of the columns.
class HtmlTable {
public:
    enum class Kind { words, numbers };
    struct Column {
        std::string_view name;
        Kind kind = Kind::words;
    };
    explicit HtmlTable(std::vector<Column> const& columns);

    void begin_row();
    void begin_row_of(TrialId trial);                              // lights up with the marks of the trial
    void begin_row_of_group(TrialId first, std::string_view css);  // with those of its first trial. css: a class
    void words(std::string_view text, std::string_view tip = "");
    void number(double value, std::string_view text);  // sorted by the value; one that is not finite comes last
    void count(std::int64_t value);
    void status(std::string_view status, std::string_view reason = "");
    void bar(double share, std::string_view css);  // the script draws it
    void html(std::string_view cell) { rows_ += cell; }

    bool empty() const { return rows_.empty(); }
    std::string take() &&;

private:
    void begin_row(std::string const& attributes);

    std::string head_, rows_;
};

// A table of names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string facts_table(Facts const& facts);

}  // namespace hopscotch
