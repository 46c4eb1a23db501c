// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_array_classes = 65536;

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
        if constexpr (!std::is_same_v<Key, std::string>)
            if (keys_[order.front()] == 0 && keys_[order.back()] == static_cast<Key>(order.size() - 1)) return;
        for (auto const i : order) out.class_names.push_back(fmt::format("{}", keys_[i]));
    }

private:
    std::unordered_map<Key, std::uint32_t> ids_;
    std::vector<Key> keys_;
};

[[noreturn]] void no_class(ArraySource const& labels, std::int64_t row, double value) {
    throw DataError(fmt::format("{}: row {}: label {} is not an integer (a class); use --regression to predict numbers",
                                labels.name(), row, value));
}

std::int64_t class_label(ArraySource const& labels, ByteView row, std::int64_t number) {
    return visit_type(labels.type(), [&](auto element) -> std::int64_t {
        auto const value = element_at<decltype(element)>(row, 0);
        if constexpr (std::is_floating_point_v<decltype(value)>)
            if (!(value == std::floor(value)) || !(std::abs(value) <= 0x1p53)) no_class(labels, number, value);
        if constexpr (std::is_same_v<decltype(value), std::uint64_t const>)
            if (value > INT64_MAX) no_class(labels, number, static_cast<double>(value));
        return static_cast<std::int64_t>(value);
    });
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

void scan_targets(Task task, std::vector<ArrayPart> const& parts, ArrayLabels& out) {
    std::vector<double> targets;
    for (auto const& part : parts) {
        RowCursor cursor(*part.labels);
        for (std::int64_t row = 0; row < part.labels->rows(); ++row)
            read_targets(*part.labels, cursor.next(), row, task, targets);
        cursor.finish();
        out.classes.resize(out.classes.size() + static_cast<std::size_t>(part.labels->rows()), 0);
    }
    out.outputs = static_cast<std::int64_t>(parts.front().labels->row_elements());
}

}  // namespace

void read_targets(ArraySource const& labels, ByteView row, std::int64_t number, Task task, std::vector<double>& out) {
    out.resize(labels.row_elements());
    visit_type(labels.type(), [&](auto element) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(element_at<decltype(element)>(row, i));
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
            throw DataError(fmt::format("{}: texts are no targets (only classes); leave --regression or --multilabel out",
                                        parts.front().labels->name()));
        scan_targets(options.task, parts, out);
    } else if (texts) {
        scan_classes<std::string>(parts, out, [](auto&, RowCursor& cursor, std::int64_t) { return cursor.next_text(); });
    } else {
        scan_classes<std::int64_t>(parts, out, [](ArraySource const& labels, RowCursor& cursor, std::int64_t row) {
            return class_label(labels, cursor.next(), row);
        });
    }
    return out;
}

}  // namespace hopscotch
