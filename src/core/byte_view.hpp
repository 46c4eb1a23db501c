// SPDX-License-Identifier: Apache-2.0
// Borrowed bytes. The owner is always another type (a pooled buffer, a vector), and outlives the view.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace hopscotch {

using ByteView = std::span<std::byte const>;
using MutableBytes = std::span<std::byte>;
using Bytes = std::vector<std::byte>;  // an owner: messages

}  // namespace hopscotch
