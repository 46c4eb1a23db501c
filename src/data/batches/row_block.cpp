// SPDX-License-Identifier: Apache-2.0
#include "data/batches/row_block.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/error.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard_layout.hpp"

namespace hopscotch {
namespace {

std::size_t answer_bytes(Manifest const& manifest) {
    if (has_labels(manifest.task)) return sizeof(std::int64_t);
    return static_cast<std::size_t>(manifest.outputs) * sizeof(float);
}

ByteView answers(Shard const& shard, Manifest const& manifest) {
    return has_labels(manifest.task) ? std::as_bytes(std::span(shard.labels)) : std::as_bytes(std::span(shard.targets));
}

MutableBytes answers(Shard& shard, Manifest const& manifest) {
    return has_labels(manifest.task) ? std::as_writable_bytes(std::span(shard.labels))
                                     : std::as_writable_bytes(std::span(shard.targets));
}

std::byte* copy_picked(ByteView from, std::size_t width, std::span<std::uint32_t const> rows, std::byte* into) {
    for (auto const row : rows) {
        std::memcpy(into, from.data() + row * width, width);
        into += width;
    }
    return into;
}

}  // namespace

std::size_t stored_row_bytes(Manifest const& manifest) { return row_bytes(manifest) + answer_bytes(manifest); }

void pack_rows(PickedRows const& picked, Manifest const& manifest, MutableBytes into) {
    require(into.size() == picked.rows.size() * stored_row_bytes(manifest),
            "a block of rows does not have the size of its rows");
    auto* const behind = copy_picked(picked.shard.features, row_bytes(manifest), picked.rows, into.data());
    copy_picked(answers(picked.shard, manifest), answer_bytes(manifest), picked.rows, behind);
}

void resize_rows(Shard& shard, Manifest const& manifest, std::int64_t rows) {
    auto const count = static_cast<std::size_t>(rows);
    shard.rows = rows;
    shard.features.own().resize(count * row_bytes(manifest));
    shard.labels.resize(has_labels(manifest.task) ? count : 0);
    shard.targets.resize(has_labels(manifest.task) ? 0 : count * static_cast<std::size_t>(manifest.outputs));
}

void unpack_rows(ByteView block, Manifest const& manifest, Shard& shard, std::int64_t first) {
    auto const rows = block.size() / stored_row_bytes(manifest);
    auto const at = static_cast<std::size_t>(first);
    if (rows * stored_row_bytes(manifest) != block.size() || at + rows > static_cast<std::size_t>(shard.rows))
        throw DataError(fmt::format("a block of {} bytes is not the rows that were asked for ({} bytes each)", block.size(),
                                    stored_row_bytes(manifest)));
    auto const features = rows * row_bytes(manifest), width = answer_bytes(manifest);
    std::memcpy(shard.features.own().data() + at * row_bytes(manifest), block.data(), features);
    std::memcpy(answers(shard, manifest).data() + at * width, block.data() + features, rows * width);
}

}  // namespace hopscotch
