// SPDX-License-Identifier: Apache-2.0
#include "report/html_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/page_text.hpp"

namespace hopscotch {

HtmlTable::HtmlTable(std::vector<Column> const& columns) {
    for (auto const& column : columns)
        head_ += fmt::format("<th scope=\"col\"{}>{}</th>", column.kind == Kind::numbers ? " class=\"n\"" : "",
                             escaped(column.name));
}

void HtmlTable::begin_row(std::string const& attributes) {
    rows_ += fmt::format("{}<tr{}>", rows_.empty() ? "" : "</tr>\n", attributes);
}

void HtmlTable::begin_row() { begin_row(std::string()); }

void HtmlTable::begin_row_of(TrialId trial) { begin_row(fmt::format(" data-t=\"{}\"", trial.value)); }

void HtmlTable::begin_row_of_group(TrialId first, std::string_view css) {
    begin_row(fmt::format(" data-g data-t=\"{}\"{}", first.value, css.empty() ? "" : fmt::format(" class=\"{}\"", css)));
}

void HtmlTable::words(std::string_view text, std::string_view tip) {
    rows_ += tip.empty() ? "<td>" : fmt::format("<td title=\"{}\">", escaped(tip));
    rows_ += escaped(text) + "</td>";
}

// The value stands beside the text only where the text alone does not say it.
void HtmlTable::number(double value, std::string_view text) {
    auto const sorted = std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
    bool const same = sorted == text || (sorted.empty() && text == "-");
    rows_ += same ? "<td class=\"n\">" : fmt::format("<td class=\"n\" data-v=\"{}\">", sorted);
    rows_ += escaped(text) + "</td>";
}

void HtmlTable::count(std::int64_t value) { rows_ += fmt::format("<td class=\"n\">{}</td>", value); }

void HtmlTable::status(std::string_view status, std::string_view reason) {
    bool const bad = status == "failed" || status == "diverged";
    auto const title = reason.empty() ? "" : fmt::format(" title=\"{}\"", escaped(cut_text(reason, 300)));
    rows_ += fmt::format("<td{}><span class=\"st{}\">{}</span></td>", title, bad ? " bad" : "", escaped(status));
}

void HtmlTable::bar(double share, std::string_view css) {
    rows_ += fmt::format("<td data-bar=\"{:.4f}\" data-css=\"{}\"></td>", std::isfinite(share) ? share : 0, css);
}

std::string HtmlTable::take() && {
    if (!rows_.empty()) rows_ += "</tr>";
    return fmt::format(
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>", head_,
        rows_);
}

std::string facts_table(Facts const& facts) {
    std::string rows;
    for (auto const& [name, value] : facts)
        rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escaped(name), escaped(value));
    return "<div class=\"scroll\"><table class=\"facts\"><tbody>" + rows + "</tbody></table></div>";
}

}  // namespace hopscotch
