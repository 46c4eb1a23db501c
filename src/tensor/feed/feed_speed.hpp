// SPDX-License-Identifier: Apache-2.0
// Measures feeding alone, which `bench step` prints beside the step that contains it.
#pragma once

namespace hopscotch {

struct Manifest;
class ShardSource;
struct TrialConfig;
class Workspace;

// Seconds of one pass over the shard: order, gather, normalisation and augmentation of all its batches, with nothing trained
// on them. On a GPU: until the last batch is there. That is more than feeding adds to a step, because the step's kernels
// hide work of the host.
double feed_seconds(TrialConfig const& config, Manifest const& manifest, Workspace& workspace, ShardSource& shard);

}  // namespace hopscotch
