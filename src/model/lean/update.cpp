// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 (src/model/CMakeLists.txt). The compiler makes vectors of these loops. No operation combines elements,
// so every width rounds alike.
#include "model/lean/update.hpp"

namespace hopscotch {
namespace {

#ifdef __clang__
#define HOPSCOTCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HOPSCOTCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

// What an update has, as a set of bits. The compiler makes vectors of a loop that asks for none of them.
enum Parts : unsigned { k_decay = 1, k_averaged = 2, k_momentum = 4, k_nesterov = 8, k_mean = 16, k_end = 32 };

constexpr unsigned possible_parts(UpdateRule rule) {
    if (rule == UpdateRule::sgd) return k_decay | k_averaged | k_momentum | k_nesterov;
    return k_decay | k_averaged | (rule == UpdateRule::rmsprop ? k_momentum | k_mean : 0U);
}

unsigned parts_of(FlatUpdate const& update, float decay) {
    return (decay != 0 ? k_decay : 0U) | (update.averaged != nullptr ? k_averaged : 0U) |
           (update.momentum != nullptr ? k_momentum : 0U) | (update.nesterov ? k_nesterov : 0U) |
           (update.mean != nullptr ? k_mean : 0U);
}

template <bool exists>
void know(float*& values) {
    if (!exists) values = nullptr;
    if (exists && values == nullptr) __builtin_unreachable();
}

template <UpdateRule rule, unsigned parts>
void update_range(FlatUpdate update, UpdateNow const now, std::size_t first, std::size_t last, float const decay) {
    update.rule = rule;
    update.nesterov = (parts & k_nesterov) != 0;
    know<(parts & k_momentum) != 0>(update.momentum);
    know<(parts & k_averaged) != 0>(update.averaged);
    if (rule == UpdateRule::rmsprop) know<(parts & k_mean) != 0>(update.mean);
    if ((decay != 0) != ((parts & k_decay) != 0)) __builtin_unreachable();
    HOPSCOTCH_INDEPENDENT
    for (std::size_t i = first; i < last; ++i) update_element(update, i, now, decay);
}

// parts: those that are known by now; part: the one to look for.
template <UpdateRule rule, unsigned parts = 0, unsigned part = 1>
void update_by_parts(FlatUpdate const& update, UpdateNow const& now, std::size_t first, std::size_t last, float decay) {
    if constexpr (part == k_end)
        update_range<rule, parts>(update, now, first, last, decay);
    else if ((possible_parts(rule) & parts_of(update, decay) & part) != 0)
        update_by_parts<rule, parts | (possible_parts(rule) & part), part * 2>(update, now, first, last, decay);
    else
        update_by_parts<rule, parts, part * 2>(update, now, first, last, decay);
}

template <UpdateRule rule>
void update_ranges(FlatUpdate const& update, UpdateNow const& now) {
    update_by_parts<rule>(update, now, 0, update.decayed, now.numbers.weight_decay);
    update_by_parts<rule>(update, now, update.decayed, update.size, 0);
}

}  // namespace

void update_all(FlatUpdate const& update, UpdateNow const& now) {
    switch (update.rule) {
        case UpdateRule::sgd: return update_ranges<UpdateRule::sgd>(update, now);
        case UpdateRule::adam: return update_ranges<UpdateRule::adam>(update, now);
        case UpdateRule::adamw: return update_ranges<UpdateRule::adamw>(update, now);
        case UpdateRule::rmsprop: return update_ranges<UpdateRule::rmsprop>(update, now);
        case UpdateRule::adagrad: return update_ranges<UpdateRule::adagrad>(update, now);
    }
}

}  // namespace hopscotch
