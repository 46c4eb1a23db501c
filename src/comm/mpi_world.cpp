// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_world.hpp"

#include <fmt/format.h>
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <source_location>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {
namespace {

void check(int code, std::source_location at = std::source_location::current()) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw CommError(fmt::format("MPI: {} [{}]", text, where(at)));
}

// For a library with ULFM, if the peer is dead: the call has no effect, but the communicator stays usable.
bool says_peer_failed(int code) {
#ifdef MPIX_ERR_PROC_FAILED
    if (code == MPI_SUCCESS) return false;
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_PROC_FAILED_PENDING;
#else
    static_cast<void>(code);
    return false;
#endif
}

constexpr unsigned k_vanished_s = 600, k_finished_s = 1,
                   k_finalize_s = 30;  // then a rank that still waits in MPI_Finalize ends itself

[[noreturn]] void sleep_and_exit(unsigned seconds, int exit_code) {
    std::fflush(nullptr);
    while (seconds > 0) seconds = ::sleep(seconds);
    std::_Exit(exit_code);
}

struct CloseCommunicator {
    static MPI_Comm null() { return MPI_COMM_NULL; }
    void operator()(MPI_Comm comm) noexcept { MPI_Comm_free(&comm); }
};
using Communicator = UniqueHandle<MPI_Comm, CloseCommunicator>;

// MPI_THREAD_SERIALIZED: one caller at a time.
std::mutex& library() {
    static std::mutex mutex;
    return mutex;
}

void initialise() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    if (provided < MPI_THREAD_SERIALIZED)
        throw CommError(
            "this MPI library does not offer MPI_THREAD_SERIALIZED (the courier thread needs it); use another build");
}

MPI_Comm copy_of(MPI_Comm other) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(other, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    return comm;
}

// The ranks of the processes on this host.
std::vector<int> ranks_on_host() {
    MPI_Comm here = MPI_COMM_NULL;
    int rank = 0, size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here));
    Communicator const comm(here);
    check(MPI_Comm_size(comm.handle(), &size));
    std::vector<int> ranks(static_cast<std::size_t>(size));
    check(MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm.handle()));
    return ranks;
}

}  // namespace

struct MpiWorld::Impl {
    explicit Impl(MPI_Comm own) : comm(own) {
        int number = 0;
        check(MPI_Comm_rank(comm.handle(), &number));
        check(MPI_Comm_size(comm.handle(), &size));
        rank = Rank(number);
    }

    Communicator comm;
    Rank rank;
    int size = 0;
    std::vector<int> on_host;  // ranks
    std::vector<MPI_Request> requests;
    std::vector<std::size_t> free_slots;
    // Shared with copies of this world: their memory too must last until MPI_Finalize, which the first world calls.
    std::shared_ptr<std::vector<std::shared_ptr<void>>> kept = std::make_shared<std::vector<std::shared_ptr<void>>>();
    std::set<std::size_t> ruined;  // the peer died: the library reports them as complete, but no message was exchanged
    bool someone_failed = false, someone_lost = false;

    // False if the peer is dead.
    bool went_well(int code, std::source_location at = std::source_location::current()) {
        if (says_peer_failed(code)) {
            someone_failed = true;
            return false;
        }
        check(code, at);
        return true;
    }

    std::size_t slot() {
        if (free_slots.empty()) {
            requests.push_back(MPI_REQUEST_NULL);
            return requests.size() - 1;
        }
        auto const taken = free_slots.back();
        free_slots.pop_back();
        return taken;
    }
};

MpiWorld::MpiWorld() {
    initialise();
    impl_ = std::make_unique<Impl>(copy_of(MPI_COMM_WORLD));
    impl_->on_host = ranks_on_host();
}

MpiWorld::MpiWorld(MpiWorld const& other) : impl_(std::make_unique<Impl>(copy_of(other.impl_->comm.handle()))) {
    impl_->on_host = other.impl_->on_host;
    impl_->kept = other.impl_->kept;
}

MpiWorld::~MpiWorld() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) {
        // An unhealthy end: the communicator dies with the process, since freeing it would be collective.
        new Communicator(std::move(impl_->comm));
    }
}

// All come here within moments: after the farewell, or when a command that measures has ended.
void MpiWorld::finish(int exit_code) {
    static std::sig_atomic_t volatile code = 0;
    code = exit_code;
    fault_point("end.finalize");
    std::signal(SIGALRM, [](int) { std::_Exit(code); });
    ::alarm(k_finalize_s);
    impl_->comm.reset();
    check(MPI_Finalize());
    ::alarm(0);
}

Rank MpiWorld::rank() const { return impl_->rank; }
int MpiWorld::size() const { return impl_->size; }

int MpiWorld::processes_on_host() const { return static_cast<int>(impl_->on_host.size()); }

int MpiWorld::trainers_on_host() const {
    return processes_on_host() - static_cast<int>(std::ranges::count(impl_->on_host, 0));
}

int MpiWorld::processes_before_on_host() const {
    return static_cast<int>(std::ranges::count_if(impl_->on_host, [&](int rank) { return rank < impl_->rank.value; }));
}

// Rank 0 is not a trainer.
int MpiWorld::number_on_host() const {
    return processes_before_on_host() - static_cast<int>(std::ranges::count(impl_->on_host, 0));
}

Request MpiWorld::send(Rank to, int tag, ByteView bytes) {
    std::lock_guard const lock(library());
    auto const slot = impl_->slot();
    if (!impl_->went_well(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.value, tag,
                                    impl_->comm.handle(), &impl_->requests[slot])))
        impl_->ruined.insert(slot);
    return {slot};
}

Request MpiWorld::receive(Rank from, int tag, MutableBytes into) {
    std::lock_guard const lock(library());
    auto const slot = impl_->slot();
    if (!impl_->went_well(MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from.value, tag,
                                    impl_->comm.handle(), &impl_->requests[slot])))
        impl_->ruined.insert(slot);
    return {slot};
}

bool MpiWorld::done(Request request) {
    std::lock_guard const lock(library());
    int flag = 0;
    if (impl_->ruined.contains(request.slot)) return false;
    if (!impl_->went_well(MPI_Test(&impl_->requests[request.slot], &flag, MPI_STATUS_IGNORE))) {
        impl_->ruined.insert(request.slot);
        return false;
    }
    if (flag != 0) impl_->free_slots.push_back(request.slot);
    return flag != 0;
}

// MPI may complete a cancelled request all the same, if the peer had begun before: at any time until MPI_Finalize.
void MpiWorld::cancel(Request request) {
    std::lock_guard const lock(library());
    if (impl_->ruined.contains(request.slot)) return;
    auto& pending = impl_->requests[request.slot];
    MPI_Cancel(&pending);
    MPI_Request_free(&pending);
    impl_->free_slots.push_back(request.slot);
}

void MpiWorld::keep(std::shared_ptr<void> memory) {
    std::lock_guard const lock(library());
    impl_->kept->push_back(std::move(memory));
}

std::optional<Arrival> MpiWorld::probe(int tag) {
    std::lock_guard const lock(library());
    int flag = 0;
    MPI_Status status;
    if (!impl_->went_well(MPI_Iprobe(MPI_ANY_SOURCE, tag, impl_->comm.handle(), &flag, &status))) return std::nullopt;
    if (flag == 0) return std::nullopt;
    int bytes = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes));
    return Arrival{Rank(status.MPI_SOURCE), static_cast<std::size_t>(bytes)};
}

void MpiWorld::library_all_reduce(std::span<float> values) {
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                        impl_->comm.handle()));
}

std::vector<Rank> MpiWorld::failed() {
    std::vector<Rank> out;
#ifdef MPIX_ERR_PROC_FAILED
    std::lock_guard const lock(library());
    if (!std::exchange(impl_->someone_failed, false)) return out;
    MPI_Group dead = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    check(MPIX_Comm_failure_ack(impl_->comm.handle()));
    check(MPIX_Comm_failure_get_acked(impl_->comm.handle(), &dead));
    check(MPI_Comm_group(impl_->comm.handle(), &all));
    int count = 0;
    MPI_Group_size(dead, &count);
    for (int i = 0; i < count; ++i) {
        int rank = MPI_UNDEFINED;
        MPI_Group_translate_ranks(dead, 1, &i, all, &rank);
        out.emplace_back(rank);
    }
    MPI_Group_free(&dead);
    MPI_Group_free(&all);
#endif
    return out;
}

void MpiWorld::lose(Rank) { impl_->someone_lost = true; }
bool MpiWorld::whole() const { return !impl_->someone_lost; }

// A rank that ends without MPI_Finalize would make some launchers end the job.
void MpiWorld::vanish() { sleep_and_exit(k_vanished_s, 0); }

void MpiWorld::finish_without_the_lost(int exit_code) {
    if (rank() != Rank(0)) sleep_and_exit(k_finished_s, exit_code);
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
}

void MpiWorld::abort(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
}

bool launched_by_mpi() {
    for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string const all(text);
    return all.substr(0, all.find_first_of(",\n"));
}

std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return name;
}

}  // namespace hopscotch
