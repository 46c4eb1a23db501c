// SPDX-License-Identifier: Apache-2.0
// The distance of the second of a search from the first, beside the noise of the comparison. PURE.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hopscotch {

struct Placed {
    std::string name;  // "trial 3", "trials 4-5"
    double value = 0;  // of search.metric
    int epochs = 0;    // trained
};

// "trial 7 is 0.0021 behind trial 3, within the noise (standard error 0.0041); trained 9 and 27 epochs". Noise: two
// standard errors. Without an error, or with one of 0, nothing is said about noise; the epochs stand there if they differ.
std::string second_place_text(Placed const& first, Placed const& second, std::optional<double> error);

// In lines of at most `width` characters, each after five blanks. Empty: "".
std::string as_lines(std::string_view sentence, std::size_t width);

// Of the difference of two means over copies (Welch). None: one of them has no spread.
struct MeanOf {
    double spread = 0;  // standard deviation of the copies
    std::size_t copies = 0;
};
std::optional<double> error_of_difference(MeanOf const& first, MeanOf const& second);

}  // namespace hopscotch
