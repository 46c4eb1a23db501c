// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace hopscotch {

class Buffer;
struct LapRecord;
struct SavedState;

// Receives the trainers' reports, on rank 0.
class LapSink {
public:
    virtual ~LapSink() = default;
    virtual void lap_done(LapRecord record) = 0;
    virtual void saved(SavedState const&) {}
    virtual void fetched(Buffer&& /*state*/) {}              // Dispatcher::fetch_best
    virtual void scored(LapRecord const&) {}                 // the best trial on the test shards, in LapRecord::valid
    virtual void analysed(std::string const& /*errors*/) {}  // Dispatcher::analyse_best
};

}  // namespace hopscotch
