// SPDX-License-Identifier: Apache-2.0
#include "tensor/zoo/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>

namespace hopscotch {

at::Tensor self_attention(at::Tensor const& qkv, std::int64_t heads, Attention kind) {
    auto const rows = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
    auto const split = qkv.view({rows, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    auto const mixed = at::scaled_dot_product_attention(split[0], split[1], split[2], /*attn_mask=*/{}, /*dropout_p=*/0.0,
                                                        kind == Attention::causal);
    return mixed.transpose(1, 2).reshape({rows, tokens, width});
}

double attention_cost(std::int64_t tokens, std::int64_t width) { return 2.0 * static_cast<double>(tokens * tokens * width); }

}  // namespace hopscotch
