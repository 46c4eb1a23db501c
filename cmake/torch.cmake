# Finds LibTorch and declares torch::cpu (and torch::cuda) by hand. find_package(Torch) on a CUDA wheel demands a whole
# CUDA toolkit; a program linked with libtorch_cpu and libc10 alone needs none and starts in 0.3 s.
# Order: HOPSCOTCH_TORCH (cache or environment), the wheel that scripts/setup.sh puts into .deps/, a Python that has torch.
set(torch_root "${HOPSCOTCH_TORCH}")
if(NOT torch_root AND DEFINED ENV{HOPSCOTCH_TORCH})
  set(torch_root "$ENV{HOPSCOTCH_TORCH}")
endif()
if(NOT torch_root)
  file(GLOB torch_root LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch)
endif()
if(NOT torch_root)
  execute_process(COMMAND python3 -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
                  OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS "${torch_root}/include/ATen/core/Tensor.h")
  message(FATAL_ERROR "LibTorch not found (looked at '${torch_root}'): "
                      "run scripts/setup.sh, or pass -DHOPSCOTCH_TORCH=/path/to/libtorch")
endif()
message(STATUS "LibTorch: ${torch_root}")
set(HOPSCOTCH_TORCH_ROOT ${torch_root})

add_library(torch::cpu INTERFACE IMPORTED)
target_include_directories(torch::cpu SYSTEM INTERFACE ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_compile_definitions(torch::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(torch::cpu INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
target_link_options(torch::cpu INTERFACE -Wl,--allow-shlib-undefined)

if(HOPSCOTCH_CUDA)
  # Before the language is enabled, which would guess what this machine's compiler takes for a default.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90
        CACHE STRING "Compute capabilities of our own kernels: 80 is the A100, 90 the H100 and H200")
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc speaks C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit REQUIRED)
  # NCCL comes with the wheel nvidia-nccl-cu13, with some toolkits, or from the system. The wheel's lies beside torch, and
  # torch loads it: so that one is looked for first.
  find_path(HOPSCOTCH_NCCL_INCLUDE nccl.h HINTS ${torch_root}/../nvidia/nccl/include ${CUDAToolkit_INCLUDE_DIRS})
  find_library(HOPSCOTCH_NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR
               HINTS ${torch_root}/../nvidia/nccl/lib ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib)
  if(NOT HOPSCOTCH_NCCL_INCLUDE OR NOT HOPSCOTCH_NCCL_LIBRARY)
    message(FATAL_ERROR "NCCL not found (nccl.h, libnccl): run scripts/setup.sh --cuda, "
                        "or pass -DHOPSCOTCH_NCCL_INCLUDE=... -DHOPSCOTCH_NCCL_LIBRARY=...")
  endif()
  message(STATUS "CUDA ${CUDAToolkit_VERSION}, compute capabilities ${CMAKE_CUDA_ARCHITECTURES}; "
                 "NCCL: ${HOPSCOTCH_NCCL_LIBRARY}")
  add_library(nccl::nccl INTERFACE IMPORTED)
  target_include_directories(nccl::nccl SYSTEM INTERFACE ${HOPSCOTCH_NCCL_INCLUDE})
  target_link_libraries(nccl::nccl INTERFACE ${HOPSCOTCH_NCCL_LIBRARY} CUDA::cudart)
  add_library(torch::cuda INTERFACE IMPORTED)
  target_compile_definitions(torch::cuda INTERFACE HOPSCOTCH_CUDA=1)
  target_link_libraries(torch::cuda INTERFACE torch::cpu CUDA::cudart
    -Wl,--no-as-needed ${torch_root}/lib/libtorch_cuda.so ${torch_root}/lib/libc10_cuda.so -Wl,--as-needed)
  set(HOPSCOTCH_TORCH_TARGET torch::cuda)
else()
  set(HOPSCOTCH_TORCH_TARGET torch::cpu)
endif()
