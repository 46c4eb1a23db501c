// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "data/import/foreign_names.hpp"
#include "data/import/number_range.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_array_classes = 65536;

// A label of any type of integer, exactly: negative ones first, then by size.
struct IntegerLabel {
    bool natural = true;     // 0 or more
    std::uint64_t bits = 0;  // of a negative one: two's complement
    auto operator<=>(IntegerLabel const&) const = default;
};

std::string text_of(IntegerLabel label) {
    return label.natural ? fmt::format("{}", label.bits) : fmt::format("{}", static_cast<std::int64_t>(label.bits));
}
std::string const& text_of(std::string const& label) { return label; }

struct HashOfLabel {
    std::size_t operator()(IntegerLabel label) const { return std::hash<std::uint64_t>()(label.bits); }
    std::size_t operator()(std::string const& label) const { return std::hash<std::string>()(label); }
};

// The different labels in the order in which they turn up.
template <class Key>
class FirstSeen {
public:
    std::uint32_t id(Key const& key, ArraySource const& source, std::int64_t row) {
        auto const [at, is_new] = ids_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
        if (!is_new) return at->second;
        if (keys_.size() == k_most_array_classes)
            throw DataError(fmt::format("{}: row {}: more than {} different labels; choose other --labels, or --regression",
                                        source.name(), row, k_most_array_classes));
        keys_.push_back(key);
        return at->second;
    }

    // Class numbers by ascending label: replaces ids in `out.classes`, and fills in the rest.
    void finish(ArrayLabels& out) const {
        std::vector<std::uint32_t> order(keys_.size()), rank(keys_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys_[a] < keys_[b]; });
        for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
        for (auto& id : out.classes) id = rank[id];
        out.class_count = keys_.size();
        if constexpr (std::is_same_v<Key, IntegerLabel>)
            if (keys_[order.front()] == IntegerLabel{} && keys_[order.back()] == IntegerLabel{true, order.size() - 1})
                return;
        for (auto const i : order) out.class_names.push_back(text_of(keys_[i]));
    }

private:
    std::unordered_map<Key, std::uint32_t, HashOfLabel> ids_;
    std::vector<Key> keys_;
};

[[noreturn]] void no_class(ArraySource const& labels, std::int64_t row, double value) {
    throw DataError(fmt::format("{}: row {}: label {} is not an integer (a class); use --regression to predict numbers",
                                labels.name(), row, value));
}

// From here on, a floating type does not hold every integer: two labels may have become one before they came here.
template <class T>
constexpr T k_first_inexact = static_cast<T>(std::int64_t{1} << std::numeric_limits<T>::digits);

template <class T>
IntegerLabel label_of(ArraySource const& labels, std::int64_t number, T value) {
    if constexpr (std::is_floating_point_v<T>) {
        auto const limit = labels.type().bytes == 2 ? T{2048} : k_first_inexact<T>;
        if (!(value == std::floor(value))) no_class(labels, number, static_cast<double>(value));
        if (!(std::abs(value) < limit))
            throw DataError(
                fmt::format("{}: row {}: label {} is too large for a class in {} (it holds every integer below {} only); "
                            "save the labels as integers, or use --regression to predict numbers",
                            labels.name(), number, value, name_of(labels.type()), limit));
        return label_of(labels, number, static_cast<std::int64_t>(value));
    } else {
        return {std::cmp_greater_equal(value, 0), static_cast<std::uint64_t>(value)};
    }
}

IntegerLabel class_label(ArraySource const& labels, ByteView row, std::int64_t number) {
    return visit_type(labels.type(),
                      [&](auto element) { return label_of(labels, number, element_at<decltype(element)>(row, 0)); });
}

// A class is named by its label.
std::string const& checked_text(ArraySource const& labels, std::string const& text, std::int64_t row) {
    require_utf8(text, fmt::format("{}: row {}", labels.name(), row), "the label",
                 "save the labels as UTF-8, for example with h5py.string_dtype('utf-8')");
    if (auto const end = text.find('\0'); end != text.npos)
        throw DataError(fmt::format("{}: row {}: the label '{}' goes on behind a NUL character; correct it", labels.name(),
                                    row, text.substr(0, end)));
    return text;
}

void require_one_column(ArraySource const& labels) {
    if (labels.row_elements() == 1) return;
    throw DataError(
        fmt::format("{}: {} numbers a row (a class is one number); use --multilabel or --regression; one-hot labels become "
                    "classes by labels.argmax(axis=1)",
                    labels.name(), labels.row_elements()));
}

template <class Key, class Next>
void scan_classes(std::vector<ArrayPart> const& parts, ArrayLabels& out, Next next) {
    FirstSeen<Key> seen;
    for (auto const& part : parts) {
        require_one_column(*part.labels);
        RowCursor cursor(*part.labels);
        for (std::int64_t row = 0; row < part.labels->rows(); ++row)
            out.classes.push_back(seen.id(next(*part.labels, cursor, row), *part.labels, row));
        cursor.finish();
    }
    seen.finish(out);
    if (out.class_count < 2)
        throw DataError(
            fmt::format("{}: all rows have the same label (there is nothing to tell apart); choose other --labels",
                        parts.front().labels->name()));
    out.outputs = static_cast<std::int64_t>(out.class_count);
}

// Refuses targets if all are constant, like a single class. Some may be constant: the corners of pictures that are targets.
void refuse_constant_targets(ArraySource const& labels, std::vector<NumberRange> const& ranges) {
    if (std::ranges::all_of(ranges, [](auto const& range) { return range.low == range.high; }))
        throw DataError(fmt::format("{}: all rows have the same target (there is nothing to learn); choose other --labels",
                                    labels.name()));
}

void scan_targets(Task task, std::vector<ArrayPart> const& parts, ArrayLabels& out) {
    std::vector<double> targets;
    std::vector<NumberRange> ranges(parts.front().labels->row_elements());
    for (auto const& part : parts) {
        RowCursor cursor(*part.labels);
        for (std::int64_t row = 0; row < part.labels->rows(); ++row) {
            read_targets(*part.labels, cursor.next(), row, task, targets);
            for (std::size_t i = 0; i < targets.size(); ++i) ranges[i].see(targets[i]);
        }
        cursor.finish();
        out.classes.resize(out.classes.size() + static_cast<std::size_t>(part.labels->rows()), 0);
    }
    if (task == Task::regression) refuse_constant_targets(*parts.front().labels, ranges);
    out.outputs = static_cast<std::int64_t>(parts.front().labels->row_elements());
}

}  // namespace

void read_targets(ArraySource const& labels, ByteView row, std::int64_t number, Task task, std::vector<double>& out) {
    out.resize(labels.row_elements());
    visit_type(labels.type(), [&](auto element) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            auto const value = element_at<decltype(element)>(row, i);
            out[i] = static_cast<double>(value);
            if constexpr (std::is_integral_v<decltype(element)> && sizeof element == 8)
                if (out[i] >= 0x1p53 || out[i] <= -0x1p53)
                    throw DataError(
                        fmt::format("{}: row {}, element {}: target {} is beyond 2^53 (from there on float64 does not hold "
                                    "every integer); subtract a number from all",
                                    labels.name(), number, i, value));
        }
    });
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (task == Task::multilabel && out[i] != 0 && out[i] != 1)
            throw DataError(
                fmt::format("{}: row {}, element {}: {} is neither 0 nor 1 (a multilabel is true or false); "
                            "correct it, or use --regression",
                            labels.name(), number, i, out[i]));
        if (!(std::abs(out[i]) <= std::numeric_limits<float>::max()))
            throw DataError(fmt::format("{}: row {}, element {}: target {} is not a finite float32 number; correct it",
                                        labels.name(), number, i, out[i]));
    }
}

ArrayLabels scan_array_labels(ImportArraysOptions const& options, std::vector<ArrayPart> const& parts) {
    ArrayLabels out;
    auto const texts = parts.front().labels->type().kind == NumberKind::text;
    for (auto const& part : parts) {
        if ((part.labels->type().kind == NumberKind::text) != texts)
            throw DataError(
                fmt::format("{}: texts and numbers as labels (a label is one or the other); make all of them one kind",
                            part.labels->name()));
        if (part.labels->row_elements() != parts.front().labels->row_elements())
            throw DataError(fmt::format("{}: {} labels a row ({} has {}); import arrays of the same shape",
                                        part.labels->name(), part.labels->row_elements(), parts.front().labels->name(),
                                        parts.front().labels->row_elements()));
    }
    if (options.task != Task::classification) {
        if (texts)
            throw DataError(fmt::format("{}: texts are not targets (only classes); leave --regression or --multilabel out",
                                        parts.front().labels->name()));
        scan_targets(options.task, parts, out);
    } else if (texts) {
        scan_classes<std::string>(parts, out, [](ArraySource const& labels, RowCursor& cursor, std::int64_t row) {
            return checked_text(labels, cursor.next_text(), row);
        });
    } else {
        scan_classes<IntegerLabel>(parts, out, [](ArraySource const& labels, RowCursor& cursor, std::int64_t row) {
            return class_label(labels, cursor.next(), row);
        });
    }
    return out;
}

}  // namespace hopscotch
