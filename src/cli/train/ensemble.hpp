// SPDX-License-Identifier: Apache-2.0
// Trained trials that answer together: the mean of their probabilities, or of their values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "cli/train/trained_model.hpp"
#include "core/ids.hpp"

namespace hopscotch {

class Evaluation;
class ShardSource;
struct Shard;
struct ValidationScores;

// The best trials of a run by summary.json, best first. If configurations have copies (repeats or folds), all copies of the
// best configuration come first. Throws ConfigError if the run has fewer trials with a finite metric, DataError for a
// damaged file.
std::vector<TrialId> best_trials(std::filesystem::path const& run_dir, int count);

// Outputs have the form of one model's: of classes the logarithm of the mean probability, of multilabel targets its
// log-odds, of values the mean. outputs: of each member, the same rows. width: outputs of a row (language: of a token).
std::vector<float> mean_answer(std::vector<std::vector<float>> const& outputs, Task task, std::size_t width);

class Ensemble {
public:
    // At least one, trained on the same data. Throws ConfigError for several language models.
    explicit Ensemble(std::vector<TrainedTrial> members);
    ~Ensemble();

    Manifest const& manifest() const { return members_.front().manifest; }
    TrialConfig const& config() const { return members_.front().config; }

    // From now on, rows have this data's type of features.
    void read_as(Manifest const& data, Workspace& workspace);

    std::int64_t batches(std::int64_t rows) const;
    std::vector<float> predict(ShardSource& source, std::int64_t batch);

    // Adds the scores of a whole shard.
    void evaluate(ShardSource& source, Shard const& answers, Evaluation& into);
    ValidationScores scores(Evaluation const& sums) const;

private:
    std::vector<TrainedTrial> members_;
};

}  // namespace hopscotch
