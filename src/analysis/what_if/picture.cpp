// SPDX-License-Identifier: Apache-2.0
#include "analysis/what_if/picture.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "analysis/what_if/spread.hpp"

namespace hopscotch {
namespace {

constexpr double k_width = 760, k_left = 80, k_right = 20, k_top = 40, k_plot = 300, k_line = 18;
constexpr int k_columns = 160;  // of a curve
// Okabe and Ito's colours, which colour-blind people tell apart; later searches have dashes as well.
constexpr std::array<char const*, 6> k_colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

struct Place {
    double epochs, mean, low, high;
};

// From the first epoch at which every order has found something.
std::vector<Place> curve_of(WhatIfRow const& row, std::int64_t epochs) {
    std::vector<Place> out;
    for (int i = 1; i <= k_columns; ++i) {
        double const at = static_cast<double>(epochs) * i / k_columns;
        std::vector<double> found;
        for (auto const& played : row.played) {
            auto const& all = played.improvements;
            auto const later =
                std::ranges::find_if(all, [&](auto const& each) { return static_cast<double>(each.epochs) > at; });
            if (later != all.begin()) found.push_back(std::prev(later)->best);
        }
        if (!found.empty() && found.size() == row.played.size())
            out.push_back({at, mean(found), quantile(found, k_band), quantile(found, 1 - k_band)});
    }
    return out;
}

// Round numbers from below the lowest to above the highest value.
struct Ticks {
    double first, step;
    int count;
    double last() const { return first + step * (count - 1); }
};

Ticks ticks_of(double low, double high) {
    double const span = high > low ? high - low : std::max(std::abs(high), 1.0);
    double const power = std::pow(10, std::floor(std::log10(span / 5)));
    double step = power;
    for (double const factor : {2.0, 5.0, 10.0})
        if (step < span / 5 * 0.999) step = power * factor;
    double const first = std::floor(low / step + 1e-9) * step, last = std::ceil(high / step - 1e-9) * step;
    return {first, step, static_cast<int>(std::lround((last - first) / step)) + 1 + (last > first ? 0 : 1)};
}

std::string escaped(std::string_view text) {
    std::string out;
    for (char const c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return out;
}

class Picture {
public:
    explicit Picture(WhatIf const& what_if) : what_if_(what_if), plot_top_(k_top + k_line * rows()) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        auto const take = [&](double value) { low = std::min(low, value), high = std::max(high, value); };
        for (auto const& row : what_if.rows) curves_.push_back(curve_of(row, what_if.epochs));
        for (auto const& curve : curves_)
            for (auto const& place : curve) take(place.low), take(place.high);
        best_ = best_known(what_if.known);
        if (best_) take(*best_);
        if (!(low <= high)) low = 0, high = 1;  // nothing was found
        y_ = ticks_of(low, high);
        x_ = ticks_of(0, static_cast<double>(what_if.epochs));
    }

    std::string draw() {
        axes();
        for (std::size_t i = 0; i < curves_.size(); ++i) draw_curve(i);
        if (best_) draw_best();
        double const height = plot_top_ + k_plot + 56;
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"Helvetica, Arial, sans-serif\" "
            "font-size=\"13\" fill=\"#1a1a1a\"><rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            k_width, height, k_width, height, out_);
    }

private:
    double rows() const { return static_cast<double>(what_if_.rows.size()) + 1; }
    double x(double epochs) const { return k_left + (k_width - k_left - k_right) * epochs / x_.last(); }
    double y(double value) const { return plot_top_ + k_plot * (y_.last() - value) / (y_.last() - y_.first); }

    void text(double at_x, double at_y, std::string_view anchor, std::string_view words) {
        out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor,
                            escaped(words));
    }

    void axes() {
        auto const& known = what_if_.known;
        text(k_left, 22, "start", fmt::format("Best {} that was found: {}", known.metric, known.source));
        for (int i = 0; i < y_.count; ++i) {
            double const value = y_.first + y_.step * i, at = y(value);
            out_ += fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#dddddd\"/>\n", k_left, at, k_width - k_right);
            text(k_left - 8, at + 4, "end", fmt::format("{:.6g}", std::abs(value) < y_.step / 1e6 ? 0 : value));
        }
        for (int i = 0; i < x_.count; ++i)
            text(x(x_.step * i), plot_top_ + k_plot + 20, "middle", fmt::format("{:.6g}", x_.step * i));
        text((k_left + k_width - k_right) / 2, plot_top_ + k_plot + 44, "middle", "epochs of all trials");
    }

    void sample(std::size_t row, std::string_view stroke, std::string_view words) {
        double const at = k_top + k_line * static_cast<double>(row);
        out_ += fmt::format("<path d=\"M{} {:.1f}h24\" {}/>\n", k_left, at, stroke);
        text(k_left + 32, at + 4, "start", words);
    }

    void draw_curve(std::size_t i) {
        auto const* colour = k_colours[i % k_colours.size()];
        auto const stroke = fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}", colour,
                                        i < k_colours.size() ? "" : " stroke-dasharray=\"6 4\"");
        sample(i, stroke, what_if_.rows[i].label);
        std::string line, edge, back;
        for (auto const& place : curves_[i]) {
            line += fmt::format("{:.1f},{:.1f} ", x(place.epochs), y(place.mean));
            edge += fmt::format("{:.1f},{:.1f} ", x(place.epochs), y(place.low));
            back.insert(0, fmt::format("{:.1f},{:.1f} ", x(place.epochs), y(place.high)));
        }
        out_ += fmt::format("<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.13\"/>\n", edge, back, colour);
        out_ += fmt::format("<polyline points=\"{}\" {}/>\n", line, stroke);
    }

    void draw_best() {
        constexpr char const* stroke = "stroke=\"#4a4a4a\" stroke-dasharray=\"2 4\" fill=\"none\"";
        sample(what_if_.rows.size(), stroke, fmt::format("the best of all known trials: {:.6g}", *best_));
        out_ += fmt::format("<path d=\"M{} {:.1f}H{}\" {}/>\n", k_left, y(*best_), k_width - k_right, stroke);
    }

    WhatIf const& what_if_;
    double plot_top_;
    std::vector<std::vector<Place>> curves_;
    std::optional<double> best_;
    Ticks x_{}, y_{};
    std::string out_;
};

}  // namespace

std::string what_if_picture(WhatIf const& what_if) { return Picture(what_if).draw(); }

}  // namespace hopscotch
