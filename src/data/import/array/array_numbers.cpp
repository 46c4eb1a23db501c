// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_exact_integer = 1 << 24;  // float32 holds every integer up to it
constexpr std::size_t k_most_watched = 512;        // features; a watch takes some 50 kB
constexpr std::size_t k_most_offsets_named = 10;

bool may_need_offsets(NumberType type) { return type.bytes == 8 || (type.bytes == 4 && type.kind != NumberKind::real); }

[[noreturn]] void cannot_hold(std::string const& place, double offset) {
    if (offset == 0)
        throw DataError(place +
                        " is beyond 2^24 (features are float32, which rounds it); scale it, or make it an id below 2^24");
    throw DataError(
        fmt::format("{} is more than 2^24 above {:.0f}, the smallest number of its column (features are float32, "
                    "which rounds it); scale it, or leave the column out",
                    place, offset));
}

template <class T>
float held(T value, double offset, ArraySource const& features, std::int64_t row, std::size_t element) {
    auto const place = [&] { return fmt::format("{}: row {}, element {}: {}", features.name(), row, element, value); };
    if constexpr (std::is_floating_point_v<T>) {
        auto const less = offset == 0 ? value : static_cast<T>(value - offset);
        if (!(std::abs(less) <= std::numeric_limits<float>::max()))
            throw DataError(place() + " is not a finite float32 number; correct it");
        return static_cast<float>(less);
    } else {
        if (sizeof(T) < 4 && offset == 0) return static_cast<float>(value);
        auto const less = static_cast<WideInteger>(value) - static_cast<WideInteger>(offset);
        if (less > k_exact_integer || less < -k_exact_integer) cannot_hold(place(), offset);
        return static_cast<float>(less);
    }
}

}  // namespace

std::vector<double> find_offsets(std::vector<ArrayPart> const& parts, std::size_t row_rank) {
    auto const may = [](ArrayPart const& part) { return may_need_offsets(part.features->type()); };
    if (row_rank != 1 || std::ranges::none_of(parts, may)) return {};
    std::vector<NumberRange> ranges(parts.front().features->row_elements());
    for (auto const& part : parts) {
        RowCursor cursor(*part.features);
        for (std::int64_t row = 0; row < part.features->rows(); ++row) {
            auto const bytes = cursor.next();
            visit_type(part.features->type(), [&](auto element) {
                for (std::size_t i = 0; i < ranges.size(); ++i)
                    ranges[i].see(static_cast<double>(element_at<decltype(element)>(bytes, i)));
            });
        }
        cursor.finish();
    }
    std::vector<double> out;
    for (auto const& range : ranges) out.push_back(range.offset());
    return std::ranges::all_of(out, [](double offset) { return offset == 0; }) ? std::vector<double>{} : out;
}

void FloatRows::watch(std::size_t feature, double exact) {
    auto const at = by_feature_ ? feature : 0;
    if (at >= k_most_watched) return;
    if (at >= watches_.size()) watches_.resize(at + 1);
    watches_[at].see(exact);
}

void FloatRows::read(ArraySource const& features, ByteView row, std::int64_t number, std::span<float> out) {
    visit_type(features.type(), [&](auto element) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            auto const value = element_at<decltype(element)>(row, i);
            using T = std::remove_const_t<decltype(value)>;
            auto const offset = offsets_.empty() ? 0 : offsets_[i];
            out[i] = held<T>(value, offset, features, number, i);
            if constexpr (std::is_same_v<T, double>) watch(i, value - offset);
        }
    });
}

std::vector<std::string> FloatRows::decisions() const {
    std::vector<std::string> out;
    std::string shifted;
    std::size_t count = 0;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
        if (offsets_[i] == 0 || ++count > k_most_offsets_named) continue;
        shifted += fmt::format("{}{:.0f} from feature {}", shifted.empty() ? "" : ", ", offsets_[i], i);
    }
    if (count > k_most_offsets_named) shifted += fmt::format(" and others from {} more", count - k_most_offsets_named);
    if (count > 0) out.push_back(fmt::format("subtracted, as float32 has 24 bits: {}", shifted));
    auto const worst = std::ranges::max_element(watches_, {}, &RoundingWatch::lost);
    if (worst == watches_.end() || worst->lost() == 0) return out;
    auto const where = by_feature_ ? fmt::format(" of feature {}, and fewer of others,", worst - watches_.begin()) : "";
    out.push_back(fmt::format("float64 becomes float32: about {:.2g} % of the different numbers{} become equal to others",
                              100 * worst->lost(), where));
    return out;
}

}  // namespace hopscotch
