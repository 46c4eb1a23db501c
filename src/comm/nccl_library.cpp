// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_calls.hpp"

#ifdef HOPSCOTCH_CUDA
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#endif

#include "core/error.hpp"

namespace hopscotch {

#ifdef HOPSCOTCH_CUDA
namespace {

void check(cudaError_t code, char const* what) {
    if (code != cudaSuccess)
        throw CommError(fmt::format("{} failed ({}: {}, there or in a kernel before it)", what, cudaGetErrorName(code),
                                    cudaGetErrorString(code)));
}

// Trainers may be threads of one process, each with its own GPU. The choice stays with the thread: a switch back to another
// GPU would make a context there.
void enter(int device) { check(cudaSetDevice(device), "choosing the GPU"); }

int loaded_version() {
    int version = 0;
    return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

std::string library_path() {
    Dl_info info{};
    auto* const symbol = dlsym(RTLD_DEFAULT, "ncclGetVersion");
    return symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                                        : "an unknown place";
}

int index_of(std::string const& device) {
    int index = 0;
    auto const colon = device.find(':');
    if (colon != device.npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
    return index;
}

class Nccl final : public NcclCalls {
public:
    explicit Nccl(int device) : device_(device) {
        enter(device_);
        int least = 0, greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for stream priorities");
        check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "making the stream of sums");
        for (auto* event : {&computed_, &summed_, &marks_[0], &marks_[1]})
            check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
    }
    // Errors here are ignored: the process ends, or the GPU is lost.
    ~Nccl() override {
        for (auto* event : {computed_, summed_, marks_[0], marks_[1]}) cudaEventDestroy(event);
        cudaStreamDestroy(stream_);
    }
    Nccl(Nccl const&) = delete;
    Nccl& operator=(Nccl const&) = delete;

    Bytes make_id() override {
        enter(device_);
        ncclUniqueId id{};
        if (taken(ncclGetUniqueId(&id)) == State::failed)
            throw CommError("NCCL makes no id for the group (" + error() + ")");
        Bytes out(sizeof id.internal);
        std::memcpy(out.data(), id.internal, out.size());
        return out;
    }

    State begin(Bytes const& bytes, int ranks, int self) override {
        enter(device_);
        ncclUniqueId id{};
        require(bytes.size() == sizeof id.internal, "an id of another NCCL");
        std::memcpy(id.internal, bytes.data(), bytes.size());
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        ranks_ = ranks;
        return taken(ncclCommInitRankConfig(&communicator_, ranks, id, self, &config));
    }

    State state() override {
        if (communicator_ == nullptr) return last_ == ncclSuccess ? State::done : State::failed;
        ncclResult_t result = ncclSuccess;
        auto const asked = ncclCommGetAsyncError(communicator_, &result);
        return taken(asked == ncclSuccess ? result : asked);
    }

    std::string error() override {
        std::string out = ncclGetErrorString(last_);
        if (auto const* more = ncclGetLastError(communicator_); more != nullptr && *more != '\0')
            out += std::string(": ") + more;
        return out;
    }

    State sum(DeviceFloats values, float share) override {
        enter(device_);
        // All ranks use the same operation, even the only rank with rows (share 1): NCCL chooses its algorithm by the
        // operation, on each rank for itself.
        if (ranks_ == 1 && share == 1)
            return taken(ncclAllReduce(values.data, values.data, values.size, ncclFloat, ncclSum, communicator_, stream_));
        if (auto const made = make_weighted(share); made != State::done) return made;
        return taken(ncclAllReduce(values.data, values.data, values.size, ncclFloat, *weighted_, communicator_, stream_));
    }

    void sums_after(void* compute_stream) override {
        enter(device_);
        check(cudaEventRecord(computed_, static_cast<cudaStream_t>(compute_stream)), "marking what is computed");
        check(cudaStreamWaitEvent(stream_, computed_, 0), "ordering sums behind what is computed");
    }

    void after_sums(void* compute_stream) override {
        enter(device_);
        check(cudaEventRecord(summed_, stream_), "marking what is summed");
        check(cudaStreamWaitEvent(static_cast<cudaStream_t>(compute_stream), summed_, 0),
              "ordering the update behind the sums");
    }

    void mark(int slot) override {
        enter(device_);
        check(cudaEventRecord(marks_.at(static_cast<std::size_t>(slot)), stream_), "marking a step");
    }

    bool has_passed(int slot) override {
        auto const answer = cudaEventQuery(marks_.at(static_cast<std::size_t>(slot)));
        if (answer == cudaErrorNotReady) return false;
        check(answer, "a sum");
        return true;
    }

    State finalize() override {
        enter(device_);
        if (weighted_) ncclRedOpDestroy(*weighted_, communicator_);
        weighted_.reset();
        return taken(ncclCommFinalize(communicator_));
    }

    void destroy() override {
        enter(device_);
        ncclCommDestroy(std::exchange(communicator_, nullptr));
    }

    void abort() override {
        enter(device_);
        if (communicator_ != nullptr) ncclCommAbort(std::exchange(communicator_, nullptr));
    }

private:
    State taken(ncclResult_t result) {
        last_ = result;
        return result == ncclSuccess ? State::done : result == ncclInProgress ? State::under_way : State::failed;
    }

    // Most steps have the same share. Launched sums do not need their operator any more.
    State make_weighted(float share) {
        if (weighted_ && share_ == share) return State::done;
        if (weighted_) ncclRedOpDestroy(*weighted_, communicator_);
        weighted_.reset();
        ncclRedOp_t made{};
        auto const state = taken(ncclRedOpCreatePreMulSum(&made, &share, ncclFloat, ncclScalarHostImmediate, communicator_));
        if (state != State::done) return State::failed;  // it is the host's work alone; a sum without it would be left out
        weighted_ = made;
        share_ = share;
        return state;
    }

    int device_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t computed_ = nullptr, summed_ = nullptr;
    std::array<cudaEvent_t, 2> marks_{};
    ncclComm_t communicator_ = nullptr;
    int ranks_ = 0;
    ncclResult_t last_ = ncclSuccess;
    std::optional<ncclRedOp_t> weighted_;
    float share_ = 1;
};

}  // namespace

std::shared_ptr<NcclCalls> make_nccl(std::string const& device) {
    if (auto const complaint = nccl_complaint(NCCL_VERSION_CODE, loaded_version(), library_path()); !complaint.empty())
        throw ConfigError(complaint);
    return std::make_shared<Nccl>(index_of(device));
}

std::string nccl_version() {
    auto const version = loaded_version();
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
#else
std::shared_ptr<NcclCalls> make_nccl(std::string const&) {
    throw ConfigError(
        "NCCL is not there (this is a CPU build); build with preset gpu, or set strategy.collectives to \"mpi\"");
}

std::string nccl_version() { return ""; }
#endif

}  // namespace hopscotch
