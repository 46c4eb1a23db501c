// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/characters.hpp"

namespace hopscotch {
namespace {

constexpr std::string_view k_no_character = "\xEF\xBF\xBD";

std::string coordinate(double value) {
    if (!std::isfinite(value)) return "0";
    auto text = fmt::format("{:.1f}", std::clamp(value, -1e5, 1e5));
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

std::vector<Tick> ticks_of(AxisScale const& scale, int about, TicksAt at) {
    auto out = scale.ticks(about);
    if (at == TicksAt::round_numbers) return out;
    std::erase_if(out, [](auto const& tick) { return tick.value != std::round(tick.value); });
    for (auto& tick : out) tick.text = fmt::format("{:.0f}", tick.value);
    return out;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const size = shown_bytes(text);
        if (size == 0)
            out += k_no_character;
        else if (text[0] == '&')
            out += "&amp;";
        else if (text[0] == '<')
            out += "&lt;";
        else if (text[0] == '>')
            out += "&gt;";
        else if (text[0] == '"')
            out += "&quot;";
        else if (text[0] == '\'')
            out += "&#39;";
        else
            out += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(1, size));
    }
    return out;
}

std::string cut_text(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    auto end = most < 3 ? 0 : most - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

std::string spot_text(Spot place) { return coordinate(place.x) + "," + coordinate(place.y); }

Svg::Svg(double width, double height, std::string_view label, std::string_view css_class) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        css_class, coordinate(width), coordinate(height), escaped(label));
}

void Svg::end_of(std::string_view element, std::string_view title) {
    if (title.empty())
        out_ += "/>";
    else
        out_ += fmt::format("><title>{}</title></{}>", escaped(title), element);
}

void Svg::line(Spot from, Spot to, std::string_view css) {
    out_ += fmt::format("<path class=\"{}\" d=\"M{}L{}\"/>", css, spot_text(from), spot_text(to));
}

void Svg::rect(PlotBox box, std::string_view css, std::string_view title, std::string_view more) {
    out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}", css, coordinate(box.left),
                        coordinate(box.top), coordinate(std::max(0.0, box.width())), coordinate(std::max(0.0, box.height())),
                        more.empty() ? "" : " ", more);
    end_of("rect", title);
}

void Svg::circle(Spot centre, double radius, std::string_view css, std::string_view title, std::string_view more) {
    out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}", css, coordinate(centre.x),
                        coordinate(centre.y), coordinate(radius), more.empty() ? "" : " ", more);
    end_of("circle", title);
}

void Svg::path(std::vector<Spot> const& places, std::string_view css, std::string_view title, std::string_view more) {
    if (places.empty()) return;
    out_ += fmt::format("<path class=\"{}\"{}{} d=\"M", css, more.empty() ? "" : " ", more);
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (i > 0) out_ += 'L';
        out_ += spot_text(places[i]);
    }
    out_ += '"';
    end_of("path", title);
}

void Svg::text(Spot at, std::string_view css, std::string_view words) {
    out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", css, coordinate(at.x), coordinate(at.y),
                        escaped(words));
}

void Svg::begin_clip(PlotBox box) {
    out_ += fmt::format("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
                        coordinate(box.left), coordinate(box.top), coordinate(box.width()), coordinate(box.height()));
}

std::string Svg::take() && {
    out_ += "</svg>";
    return std::move(out_);
}

Axes make_axes(PlotBox box, AxisScale const& x, AxisScale const& y) {
    return {box, x.between(box.left, box.right), y.between(box.bottom, box.top), "", ""};
}

void draw_axes(Svg& svg, Axes const& axes) {
    auto const& box = axes.box;
    for (auto const& tick : ticks_of(axes.y, axes.y_ticks, axes.y_ticks_at)) {
        double const y = axes.y.at(tick.value);
        svg.line({box.left, y}, {box.right, y}, "rule");
        svg.text({box.left - 8, y + 4}, "tick end", tick.text);
    }
    for (auto const& tick : ticks_of(axes.x, axes.x_ticks, axes.x_ticks_at)) {
        double const x = axes.x.at(tick.value);
        svg.line({x, box.bottom}, {x, box.bottom + 4}, "axis");
        svg.text({x, box.bottom + 18}, "tick mid", tick.text);
    }
    svg.line({box.left, box.bottom}, {box.right, box.bottom}, "axis");
    if (!axes.x_name.empty()) svg.text({(box.left + box.right) / 2, box.bottom + 36}, "name mid", axes.x_name);
    if (!axes.y_name.empty()) svg.text({box.left - 8, box.top - 10}, "name", axes.y_name);
}

std::string trial_mark(int trial) { return fmt::format("data-t=\"{}\"", trial); }

std::string legend(std::vector<LegendEntry> const& entries) {
    std::string out = "<p class=\"legend\">";
    for (auto const& entry : entries)
        out += fmt::format(
            "<span><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"{}\" "
            "width=\"12\" height=\"12\" rx=\"2\"/></svg>{}</span>",
            entry.css, escaped(entry.text));
    return out + "</p>";
}

}  // namespace hopscotch
