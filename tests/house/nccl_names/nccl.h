// SPDX-License-Identifier: Apache-2.0
// The names of NCCL 2.28 that src/comm/nccl_library.cpp uses, so that check_cuda.sh can parse that file where NCCL is not
// installed. Nothing is linked against them.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#define NCCL_VERSION_CODE 22809

using ncclComm_t = struct ncclComm*;
struct ncclUniqueId {
    char internal[128];
};
enum ncclResult_t { ncclSuccess = 0, ncclInProgress = 7 };
enum ncclDataType_t { ncclFloat = 7 };
enum ncclRedOp_t { ncclSum = 0 };
enum ncclScalarResidence_t { ncclScalarHostImmediate = 1 };
struct ncclConfig_t {
    int blocking;
};
#define NCCL_CONFIG_INITIALIZER {-1}

extern "C" {
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t of, ncclResult_t* result);
char const* ncclGetErrorString(ncclResult_t result);
char const* ncclGetLastError(ncclComm_t of);
ncclResult_t ncclAllReduce(void const* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t among, cudaStream_t on);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* made, void* factor, ncclDataType_t type, ncclScalarResidence_t where,
                                      ncclComm_t among);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t operation, ncclComm_t among);
ncclResult_t ncclCommFinalize(ncclComm_t of);
ncclResult_t ncclCommDestroy(ncclComm_t of);
ncclResult_t ncclCommAbort(ncclComm_t of);
}
