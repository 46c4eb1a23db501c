// SPDX-License-Identifier: Apache-2.0
// Brings the rows of a batch from a shard into tensors on the device, normalised.
#pragma once
#include <ATen/core/Tensor.h>

#include <span>

#include "data/batches.hpp"
#include "model/trial_model.hpp"
#include "model/workspace.hpp"

namespace hopscotch {

struct Batch {
    at::Tensor x;  // [rows, shape of the data...]
    at::Tensor y;  // labels [rows], or targets [rows, outputs]
};

class Feed {
public:
    Feed(DataSchema schema, Normaliser const& normaliser, Workspace::Impl& workspace)
        : schema_(std::move(schema)), normaliser_(normaliser), workspace_(workspace) {}

    // Valid until the next gather of any model of this workspace.
    Batch gather(Shard const& shard, std::span<std::uint32_t const> picked);

    void reset() { host_ = {}; }  // drops the views that are kept from batch to batch

private:
    void view_buffers(std::int64_t rows);

    DataSchema schema_;
    Normaliser const& normaliser_;
    Workspace::Impl& workspace_;
    Batch host_;
};

}  // namespace hopscotch
