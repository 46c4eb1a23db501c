// SPDX-License-Identifier: Apache-2.0
// Pictures as SVG text, for a page that has the style sheet of report_page.hpp. Every text that comes from outside goes
// through escaped(): names in run directories can hold anything.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/scale.hpp"

namespace hopscotch {

// For text and for attributes in double quotes. Control characters and bytes that are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

std::string cut_text(std::string_view text, std::size_t most);  // longer text ends in "..."; never within a character

struct Spot {
    double x = 0, y = 0;
};
struct PlotBox {
    double left = 0, top = 0, right = 0, bottom = 0;
    double width() const { return right - left; }
    double height() const { return bottom - top; }
};

std::string spot_text(Spot place);  // "12.3,4"

class Svg {
public:
    // label: a description of the picture, for people who cannot see it.
    Svg(double width, double height, std::string_view label, std::string_view css_class = "wide");

    // css: classes. more: further attributes, already escaped. title: shown when the mouse rests there; escaped here.
    void line(Spot from, Spot to, std::string_view css);
    void rect(PlotBox box, std::string_view css, std::string_view title = "", std::string_view more = "");
    void circle(Spot centre, double radius, std::string_view css, std::string_view title = "", std::string_view more = "");
    void path(std::vector<Spot> const& places, std::string_view css, std::string_view title = "",
              std::string_view more = "");
    void text(Spot at, std::string_view css, std::string_view words);
    void raw(std::string_view svg) { out_ += svg; }

    // Later shapes lie in this box; parts outside of it are cut off.
    void begin_clip(PlotBox box);
    void end_clip() { out_ += "</svg>"; }

    std::string take() &&;

private:
    void end_of(std::string_view element, std::string_view title);
    std::string out_;
};

// Axes with ticks, grid lines and names. The scales lie between the edges of the box.
enum class TicksAt { round_numbers, whole_numbers };  // whole: of epochs and trials
struct Axes {
    PlotBox box;
    AxisScale x, y;
    std::string x_name, y_name;
    int x_ticks = 8, y_ticks = 5;
    TicksAt x_ticks_at = TicksAt::round_numbers, y_ticks_at = TicksAt::round_numbers;

    Spot at(double x_value, double y_value) const { return {x.at(x_value), y.at(y_value)}; }
};
Axes make_axes(PlotBox box, AxisScale const& x, AxisScale const& y);
void draw_axes(Svg& svg, Axes const& axes);

// "data-t=\"7\"": marks of one trial light up together.
std::string trial_mark(int trial);

// Small squares with their meanings, one after another.
struct LegendEntry {
    std::string css, text;
};
std::string legend(std::vector<LegendEntry> const& entries);

}  // namespace hopscotch
