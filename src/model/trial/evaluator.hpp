// SPDX-License-Identifier: Apache-2.0
// Evaluation of the bound state on the rows of a shard, in batches of a fixed size that never span shards. Batches are added
// one by one in order, so cutting a shard into pieces changes no bit.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/unit.hpp"

namespace hopscotch {

class Evaluation;
class ShardSource;
struct ValidationScores;

// The rows of a shard that these batches of an evaluation have, and where each begins among them.
struct EvaluationCut {
    std::vector<std::uint32_t> order;
    std::vector<BatchRange> cut;
};
EvaluationCut evaluation_cut(std::int64_t shard_rows, BatchRange const& batches, std::int64_t batch);

class Evaluator {
public:
    virtual ~Evaluator() = default;

    // Adds these batches to `into`. The loss is the training loss without smoothing and class weights.
    virtual void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) = 0;
    // Of sums that this evaluator, or one of the same configuration, has made. Throws Error if a metric of the user's own is
    // not finite.
    virtual ValidationScores scores(Evaluation const& sums) const;
    // Adds the sums of the user's own metrics over these rows, whose outputs are known: [rows, outputs], as predict() gives
    // them. Labels or targets, whichever the task has.
    virtual void add_own(std::span<float const> outputs, std::span<std::int64_t const> labels,
                         std::span<float const> targets, Evaluation& into) const;
    virtual std::int64_t evaluation_batches(std::int64_t rows) const = 0;

    // The outputs of these batches, one row after the other: logits, or predicted targets.
    virtual std::vector<float> predict(ShardSource& shard, BatchRange const& batches) = 0;
};

}  // namespace hopscotch
