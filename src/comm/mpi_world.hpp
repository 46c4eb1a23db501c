// SPDX-License-Identifier: Apache-2.0
// The job as MPI processes. mpi_world.cpp is the only file that includes mpi.h. No call is collective after the start. Two
// threads of a process may use a world each: one thread at a time calls the library.
#pragma once
#include <memory>
#include <span>

#include "comm/world.hpp"

namespace hopscotch {

class MpiWorld : public World {
public:
    // Collective. Initialises MPI with MPI_THREAD_SERIALIZED (throws CommError if the library gives less), on a duplicated
    // communicator with MPI_ERRORS_RETURN.
    MpiWorld();
    // Collective. The same ranks again, for a second courier of a process: neither sees the other's messages. The first
    // world is the last to go.
    explicit MpiWorld(MpiWorld const& other);
    // Does not finalise: MPI_Finalize hangs when other ranks are lost. Call finish() on the healthy path.
    ~MpiWorld() override;
    // Collective. MPI_Finalize. If another rank has died on the way, a rank that waits in MPI_Finalize for 30 s ends with
    // exit_code.
    void finish(int exit_code = 0);
    // Instead of finish() if ranks are lost: no rank can wait for the others. Rank 0 is the last one, and ends the rest of
    // the job.
    [[noreturn]] void finish_without_the_lost(int exit_code);

    Rank rank() const override;
    int size() const override;
    std::string name() const override { return "mpi"; }
    int number_on_host() const override;
    int trainers_on_host() const override;
    int processes_on_host() const;  // trainers or not
    int processes_before_on_host() const;
    Request send(Rank to, int tag, ByteView bytes) override;
    Request receive(Rank from, int tag, MutableBytes into) override;
    bool done(Request request) override;
    void cancel(Request request) override;
    std::optional<Arrival> probe(int tag) override;
    void keep(std::shared_ptr<void> memory) override;
    std::vector<Rank> failed() override;
    void lose(Rank rank) override;
    bool whole() const;  // no rank is lost
    [[noreturn]] void vanish() override;
    [[noreturn]] void abort(int exit_code) override;

    // Collective. The library's own all-reduce, as a yardstick for benchmarks. No courier may use this world meanwhile.
    void library_all_reduce(std::span<float> values);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// True under mpirun, srun with PMI, or mpiexec. Looks at the environment only, so that a run without a launcher never pays
// for MPI_Init. SLURM_* alone does not count: a batch script has these variables too.
bool launched_by_mpi();

// The version of the MPI library, "Open MPI 4.1.4"; may be called without MPI_Init.
std::string mpi_version();

}  // namespace hopscotch
