// SPDX-License-Identifier: Apache-2.0
#include "cli/common/launch.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "core/error.hpp"

namespace hopscotch {
namespace {

struct Names {
    char const *size, *rank;
    bool srun = false;
};

// The first that is set counts: below mpirun, Slurm's variables may be those of the step that started mpirun's helpers.
constexpr std::array k_names{Names{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, Names{"PMI_SIZE", "PMI_RANK"},
                             Names{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", true}};

}  // namespace

Launch launch_by_environment() {
    for (auto const& [size, rank, srun] : k_names) {
        auto const *started = std::getenv(size), *number = std::getenv(rank);
        if (started != nullptr && number != nullptr) return {std::atoi(started), std::atoi(number), size, srun};
    }
    return {};
}

std::string launch_problem(int started, int joined) {
    if (started <= joined) return "";
    return fmt::format(
        "the launcher has started {} processes, but MPI joins {} of them (the MPI library and the launcher do not "
        "understand each other); under Slurm write `srun --mpi=pmix`, or use the mpirun of the MPI library that "
        "hopscotch was built with",
        started, joined);
}

bool is_surplus_copy(int joined) {
    auto const launch = launch_by_environment();
    auto const problem = launch_problem(launch.started, joined);
    if (problem.empty()) return false;
    if (launch.number > 0) return true;
    throw ConfigError(fmt::format("{}; for independent runs, unset {} in each process", problem, launch.variable));
}

}  // namespace hopscotch
