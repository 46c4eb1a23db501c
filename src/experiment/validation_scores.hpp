// SPDX-License-Identifier: Apache-2.0
// The scores of one validation, as one value with one table of names: the journal, messages and metrics go through the
// table. A new score is a field, a row of k_scores, and a line of Evaluation::scores (src/model).
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

// Of a metric of the user's own (docs/own-model.md).
struct OwnScore {
    std::string name;  // "val_cost"
    double value = 0;
};

struct ValidationScores {
    static constexpr double none = std::numeric_limits<double>::quiet_NaN();

    std::int64_t rows = 0;
    double loss = 0, correct = 0, top5 = 0;  // sums over rows; correct: rows, or fractions of a row's labels
    // Of all rows together, exact; NaN where the task has none, or too little data (an AUC without both classes).
    // f1: binary classification: of class 1; more classes, multilabel: the mean over classes (macro), 0 for a class that is
    // never predicted correctly
    double f1 = none;
    double auc = none;  // binary classification; multilabel: the mean over labels (macro) that have both values
    double mae = none, r2 = none, rmse = none;  // regression: the mean over targets; mae, rmse: in the units of the source
    std::vector<OwnScore> own = {};             // of at least one row, in the order of the plug-in

    double of_own(std::string_view name) const {  // none: not measured
        for (auto const& score : own)
            if (score.name == name) return score.value;
        return none;
    }
};

struct ScoreRow {
    std::string_view key;  // in the journal
    double ValidationScores::* score;
    bool in_every_journal;  // false: journals of earlier versions have no such key
};
inline constexpr std::array<ScoreRow, 8> k_scores{{{"loss_sum", &ValidationScores::loss, true},
                                                   {"correct", &ValidationScores::correct, true},
                                                   {"top5", &ValidationScores::top5, true},
                                                   {"f1", &ValidationScores::f1, false},
                                                   {"auc", &ValidationScores::auc, false},
                                                   {"mae", &ValidationScores::mae, false},
                                                   {"r2", &ValidationScores::r2, false},
                                                   {"rmse", &ValidationScores::rmse, false}}};

}  // namespace hopscotch
