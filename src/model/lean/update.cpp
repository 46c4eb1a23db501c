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

template <UpdateRule rule>
void update_range(FlatUpdate update, UpdateNow const now, std::size_t first, std::size_t last, float const decay) {
    update.rule = rule;
    HOPSCOTCH_INDEPENDENT
    for (std::size_t i = first; i < last; ++i) update_element(update, i, now, decay);
}

template <UpdateRule rule>
void update_ranges(FlatUpdate const& update, UpdateNow const& now) {
    update_range<rule>(update, now, 0, update.decayed, now.numbers.weight_decay);
    update_range<rule>(update, now, update.decayed, update.size, 0);
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
