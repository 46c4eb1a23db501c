// SPDX-License-Identifier: Apache-2.0
// Brings the rows of a batch from a shard into tensors on the device, augmented and normalised.
#pragma once
#include <ATen/core/Tensor.h>

#include "data/augment.hpp"
#include "model/trial_model.hpp"
#include "model/workspace.hpp"

namespace hopscotch {

struct Batch {
    at::Tensor x;  // [rows, shape of the data...] float32
    at::Tensor y;  // labels [rows], next tokens [rows, tokens], or targets [rows, outputs]
};

class Feed {
public:
    Feed(DataConfig const& config, Manifest const& manifest, Workspace::Impl& workspace);

    // Valid until the next batch of any model of this workspace. train augments, the other does not.
    Batch train(PickedRows const& rows, UnitAddress const& address);
    Batch plain(PickedRows const& rows);

    void reset() { host_ = {}; }  // drops the views that are kept from batch to batch

private:
    void view_buffers(std::int64_t rows);
    void copy_answers(PickedRows const& rows);
    Batch on_device() const;

    DataSchema schema_;
    Normaliser normaliser_;
    Augmenter augmenter_;
    Workspace::Impl& workspace_;
    Batch host_;
};

}  // namespace hopscotch
