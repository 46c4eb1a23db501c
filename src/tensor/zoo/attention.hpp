// SPDX-License-Identifier: Apache-2.0
// Self-attention over several heads, for the networks that are made of it.
#pragma once
#include <ATen/core/Tensor.h>

namespace hopscotch {

enum class Attention { full, causal };  // causal: a token sees itself and those before it

// qkv: [rows, tokens, 3 x width], queries, keys and values as one linear layer makes them -> [rows, tokens, width].
// Without dropout on the attention weights: torch would draw it from its global generator.
at::Tensor self_attention(at::Tensor const& qkv, std::int64_t heads, Attention kind);

// Multiply-adds of the two products per row; a causal mask saves none of them in this count.
double attention_cost(std::int64_t tokens, std::int64_t width);

}  // namespace hopscotch
