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
  message(FATAL_ERROR "LibTorch not found (looked at '${torch_root}'): run scripts/setup.sh, or pass -DHOPSCOTCH_TORCH=/path/to/libtorch")
endif()
message(STATUS "LibTorch: ${torch_root}")
set(HOPSCOTCH_TORCH_ROOT ${torch_root})

add_library(torch::cpu INTERFACE IMPORTED)
target_include_directories(torch::cpu SYSTEM INTERFACE ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_compile_definitions(torch::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(torch::cpu INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
target_link_options(torch::cpu INTERFACE -Wl,-rpath,${torch_root}/lib -Wl,--allow-shlib-undefined)

if(HOPSCOTCH_CUDA)
  find_package(CUDAToolkit REQUIRED)
  add_library(torch::cuda INTERFACE IMPORTED)
  target_compile_definitions(torch::cuda INTERFACE HOPSCOTCH_CUDA=1)
  target_link_libraries(torch::cuda INTERFACE torch::cpu CUDA::cudart
    -Wl,--no-as-needed ${torch_root}/lib/libtorch_cuda.so ${torch_root}/lib/libc10_cuda.so -Wl,--as-needed)
  set(HOPSCOTCH_TORCH_TARGET torch::cuda)
else()
  set(HOPSCOTCH_TORCH_TARGET torch::cpu)
endif()
