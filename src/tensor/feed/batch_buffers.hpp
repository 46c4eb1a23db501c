// SPDX-License-Identifier: Apache-2.0
// The tensors of a batch as views of buffers that grow to the largest: their addresses stay the same from batch to batch.
#pragma once
#include <ATen/core/Tensor.h>

#include "data/dataset/data_schema.hpp"

namespace hopscotch {

struct Batch {
    at::Tensor x;  // [rows, shape of the data...] float32
    at::Tensor y;  // labels [rows], next tokens [rows, tokens], or targets [rows, outputs]
};

// The views of a buffer that grows. stay: they keep the smaller buffer. end: its memory is freed at once, and any use of
// such a view gets torch's error.
enum class OldViews { stay, end };

// A view of the first n elements, whose old contents are lost when the buffer grows.
at::Tensor grown(at::Tensor& buffer, std::int64_t n, at::TensorOptions const& options, OldViews old = OldViews::stay);

class BatchBuffers {
public:
    explicit BatchBuffers(at::TensorOptions where) : where_(where) {}

    // Contents are lost when a buffer grows; views of the smaller buffer stay valid.
    Batch batch(DataSchema const& schema, std::int64_t rows);

    bool has_room_for(DataSchema const& schema, std::int64_t rows) const;

private:
    at::TensorOptions where_;
    at::Tensor features_, labels_, targets_;
};

}  // namespace hopscotch
