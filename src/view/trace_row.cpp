// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "view/trace.hpp"

namespace hopscotch {

// Of the span that began before this time and ends after it; else the time itself.
std::int64_t TraceRow::end_of_span_at(Spans const& spans, std::int64_t time) {
    auto const next = spans.lower_bound(time);
    return next == spans.begin() ? time : std::max(time, std::prev(next)->second);
}

std::int64_t TraceRow::start_of_span_at(Spans const& spans, std::int64_t time) {
    auto const next = spans.lower_bound(time);
    return next == spans.begin() || std::prev(next)->second <= time ? time : std::prev(next)->first;
}

TraceRow::Span TraceRow::unit(Span wanted) {
    auto [from, until] = wanted;
    from = end_of_span_at(units_, from);
    if (auto const next = units_.lower_bound(from); next != units_.end()) until = std::min(until, next->first);
    if (auto const end = end_of_span_at(validations_, from); end < until) from = end;
    if (auto const start = start_of_span_at(validations_, until); start > from) until = start;
    until = std::max(from, until);
    if (until > from) units_.emplace(from, until);
    return {from, until};
}

TraceRow::Span TraceRow::validation(Span wanted) {
    auto from = end_of_span_at(validations_, wanted.from);
    while (validations_.contains(from)) from = validations_.at(from);
    from = std::max(from, wanted.from);
    auto until = from + (wanted.until - wanted.from);
    if (auto const next = validations_.lower_bound(from); next != validations_.end()) until = std::min(until, next->first);
    if (auto const end = end_of_span_at(units_, from); end < until) from = end;
    if (auto const start = start_of_span_at(units_, until); start > from) until = start;
    until = std::max(from, until);
    if (until > from) validations_.emplace(from, until);
    return {from, until};
}

}  // namespace hopscotch
