// SPDX-License-Identifier: Apache-2.0
// The free time of one row of trace.json. Viewers drop a slice that overlaps another one of its row in part. Units never do,
// but the record of a validation has its start and its seconds alone, and other work may have come between its pieces. PURE.
#pragma once
#include <cstdint>
#include <map>

namespace hopscotch {

class TraceRow {
public:
    // In tenths of a microsecond, as trace.json rounds.
    struct Span {
        std::int64_t from = 0, until = 0;
    };

    // The part of the span that can be drawn: each two slices are apart, or one of them contains the other.
    Span unit(Span wanted);
    Span validation(Span wanted);  // begins behind a validation under way, and ends where another one begins

private:
    using Spans = std::map<std::int64_t, std::int64_t>;  // from, until; no two overlap
    static std::int64_t end_of_span_at(Spans const& spans, std::int64_t time);
    static std::int64_t start_of_span_at(Spans const& spans, std::int64_t time);

    Spans units_, validations_;
};

}  // namespace hopscotch
