// SPDX-License-Identifier: Apache-2.0
#include "view/second_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {

std::string second_place_text(Placed const& first, Placed const& second, std::optional<double> error) {
    auto const behind = std::abs(first.value - second.value);
    if (!std::isfinite(behind)) return "";
    auto const* const verb = second.name.starts_with("trials") ? "are" : "is";
    auto out = behind == 0 ? fmt::format("{} {} as good as {}", second.name, verb, first.name)
                           : fmt::format("{} {} {:.2g} behind {}", second.name, verb, behind, first.name);
    if (error && *error > 0 && behind > 0)
        out += fmt::format(", {} the noise (standard error {:.2g})", behind <= 2 * *error ? "within" : "beyond", *error);
    if (first.epochs != second.epochs) out += fmt::format("; trained {} and {} epochs", second.epochs, first.epochs);
    return out;
}

std::string as_lines(std::string_view sentence, std::size_t width) {
    std::string out, line;
    while (!sentence.empty()) {
        auto const end = std::min(sentence.find(' '), sentence.size());
        auto const word = sentence.substr(0, end);
        sentence.remove_prefix(std::min(end + 1, sentence.size()));
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            out += line + "\n";
            line.clear();
        }
        line += fmt::format("{}{}", line.empty() ? "     " : " ", word);
    }
    return line.empty() ? out : out + line + "\n";
}

std::optional<double> error_of_difference(MeanOf const& first, MeanOf const& second) {
    if (first.copies < 2 || second.copies < 2) return std::nullopt;
    auto const square = [](MeanOf const& mean) { return mean.spread * mean.spread / static_cast<double>(mean.copies); };
    return std::sqrt(square(first) + square(second));
}

}  // namespace hopscotch
