// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/batch_buffers.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

namespace hopscotch {

namespace {

void free_under_views(at::Tensor const& buffer) {
    auto& memory = *buffer.storage().unsafeGetStorageImpl();
    memory.reset();
    memory.release_data_and_set_meta_custom_data_ptr_error_msg_(
        "this memory was freed when a larger model came; bind again");
}

}  // namespace

at::Tensor grown(at::Tensor& buffer, std::int64_t n, at::TensorOptions const& options, OldViews old) {
    // Autograd refuses inference tensors, so a buffer that grows during inference must be an ordinary tensor.
    c10::InferenceMode const ordinary(false);
    if (buffer.defined() && buffer.numel() < n) {  // first: a device may not have room for both
        if (old == OldViews::end) free_under_views(buffer);
        buffer = at::Tensor();
    }
    if (!buffer.defined()) buffer = at::empty({n}, options);
    at::AutoDispatchBelowADInplaceOrView const unrecorded;  // autograd's records of views take longer than the view
    return buffer.narrow(0, 0, n);
}

Batch BatchBuffers::batch(DataSchema const& schema, std::int64_t rows) {
    auto const row_size = elements(schema.shape);
    std::vector<std::int64_t> shape{rows};
    shape.insert(shape.end(), schema.shape.begin(), schema.shape.end());
    Batch out;
    out.x = grown(features_, rows * row_size, where_.dtype(at::kFloat)).view(shape);
    if (schema.task == Task::language)
        out.y = grown(labels_, rows * row_size, where_.dtype(at::kLong)).view({rows, row_size});
    else if (schema.task == Task::classification)
        out.y = grown(labels_, rows, where_.dtype(at::kLong));
    else
        out.y = grown(targets_, rows * schema.outputs, where_.dtype(at::kFloat)).view({rows, schema.outputs});
    return out;
}

bool BatchBuffers::has_room_for(DataSchema const& schema, std::int64_t rows) const {
    auto const holds = [](at::Tensor const& buffer, std::int64_t n) { return buffer.defined() && buffer.numel() >= n; };
    auto const row_size = elements(schema.shape);
    if (!holds(features_, rows * row_size)) return false;
    if (!has_labels(schema.task)) return holds(targets_, rows * schema.outputs);
    return holds(labels_, schema.task == Task::language ? rows * row_size : rows);
}

}  // namespace hopscotch
