// SPDX-License-Identifier: Apache-2.0
#include "cli/common/work.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace hopscotch {

bool is_first_rank() {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (auto const* rank = std::getenv(name)) return std::string(rank) == "0";
    return true;
}

Work on_first_rank(Work work) {
    return [work = std::move(work)] { return is_first_rank() ? work() : 0; };
}

}  // namespace hopscotch
