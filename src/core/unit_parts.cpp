// SPDX-License-Identifier: Apache-2.0
#include "core/unit_parts.hpp"

#include <exception>
#include <utility>

#include "core/clock.hpp"

namespace hopscotch {
namespace {

std::vector<PartTime>& times_of_this_thread() {
    thread_local std::vector<PartTime> times;
    return times;
}

}  // namespace

std::string_view name_of(UnitPart part) {
    switch (part) {
        case UnitPart::bind: return "bind";
        case UnitPart::plan: return "plan";
        case UnitPart::capture: return "capture";
        case UnitPart::compare: return "compare";
        case UnitPart::wait: return "wait";
        case UnitPart::fetch: return "fetch";
        case UnitPart::hash: return "hash";
        case UnitPart::finite: return "finite";
        case UnitPart::model: return "model";
        case UnitPart::memory: return "memory";
        case UnitPart::draw: return "draw";
    }
    return "part";  // of another version
}

PartTimer::PartTimer(UnitPart part) : time_{part, unix_s(), 0}, started_s_(monotonic_s()) {}

PartTimer::~PartTimer() {
    time_.seconds = monotonic_s() - started_s_;
    auto& times = times_of_this_thread();
    if (time_.seconds < k_least_s || times.size() >= k_most) return;
    try {
        times.push_back(time_);
    } catch (std::exception const&) {  // no memory: a trace is not worth a failure
    }
}

std::vector<PartTime> take_part_times() { return std::exchange(times_of_this_thread(), {}); }

std::vector<double> packed(std::vector<PartTime> const& times) {
    std::vector<double> out;
    for (auto const& time : times) out.insert(out.end(), {static_cast<double>(time.part), time.start_unix_s, time.seconds});
    return out;
}

std::vector<PartTime> unpacked(std::vector<double> const& numbers) {
    std::vector<PartTime> out;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
        bool const known = numbers[i] >= 0 && numbers[i] < 256;
        out.push_back({known ? static_cast<UnitPart>(numbers[i]) : UnitPart{255}, numbers[i + 1], numbers[i + 2]});
    }
    return out;
}

}  // namespace hopscotch
