// SPDX-License-Identifier: Apache-2.0
// A trainer's shards for other trainers: a thread that takes RowsWanted and pushes the rows, while the trainer trains. It
// has sources of its own; a shard in memory is shared with the trainer's source, not held twice.
//   rank 3 -> 1   RowsWanted{ticket 12, shard 0, rows 7 2 9}       rank 1 -> 3   push of the three rows, header 12
#pragma once
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

class Courier;
class ShardSource;
class TrialRunner;
struct Incoming;
struct Manifest;

class RowService {
public:
    // shards: of this runner. Both must outlive the service. Throws DataError.
    RowService(Courier& courier, TrialRunner& runner, std::vector<ShardId> const& shards);
    ~RowService();
    RowService(RowService const&) = delete;
    RowService& operator=(RowService const&) = delete;

private:
    void serve();
    void answer(Incoming const& message);

    Courier& courier_;
    Manifest const& manifest_;
    std::map<ShardId, std::unique_ptr<ShardSource>> sources_;
    std::thread thread_;
};

}  // namespace hopscotch
