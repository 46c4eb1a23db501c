// SPDX-License-Identifier: Apache-2.0
// From values to places on a picture, with ticks at round numbers. PURE.
#pragma once
#include <string>
#include <vector>

namespace hopscotch {

struct Tick {
    double value = 0;
    std::string text;
};

enum class ScaleKind { linear, log };

// Values from low to high lie between the places `from` and `to`, which may be the smaller. low == high lies in the middle.
class AxisScale {
public:
    // A logarithmic scale of values that are not all above 0 is linear.
    AxisScale(ScaleKind kind, double low, double high);
    AxisScale between(double from, double to) const;

    double at(double value) const;             // values outside lie at the nearer end; NaN at `from`
    std::vector<Tick> ticks(int about) const;  // within low to high, at most 12
    bool is_log() const { return kind_ == ScaleKind::log; }
    double low() const { return low_; }
    double high() const { return high_; }

private:
    double position(double value) const;
    std::vector<Tick> linear_ticks(int about) const;
    std::vector<Tick> decades(int about) const;

    ScaleKind kind_;
    double low_, high_, from_ = 0, to_ = 1;
};

// A linear scale that is a little wider than the values, and logarithmic where positive values span over two decades.
AxisScale scale_over(std::vector<double> const& values);

std::string short_number(double value);    // 4 digits: "0.9722", "1.5e-05"; NaN: "-"
std::string seconds_text(double seconds);  // "0.42 s", "12.3 s", "4 min 05 s", "2 h 05 min", "3.2 d"

// Seconds as hours, minutes or seconds, whichever suits the longest time.
struct TimeUnit {
    double seconds = 1;
    std::string name = "s";
};
TimeUnit time_unit(double longest_s);

}  // namespace hopscotch
