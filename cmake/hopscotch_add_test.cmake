# The tests of a module are one program, tests/MODULE_tests, with an entry of CTest for each file, MODULE.FILE, and one for
# each process count, MODULE.npN: all files that run under mpirun with this many processes.
# hopscotch_test_program([BOTH_WORLDS] [PROGRAM name] LIBRARIES ...)
#   BOTH_WORLDS: its files also run under mpirun (tests/both_worlds.hpp).
# hopscotch_add_test(FILE.cpp [NP 4] [LONG_NP 2 3] [COST seconds] [PROGRAM name] [LABELS ...] [TIMEOUT seconds])
# hopscotch_add_other_tests([EXCEPT a_test.cpp ...])
#   Every other *_test.cpp of the folder, each as hopscotch_add_test(FILE.cpp).
#   NP: process counts under mpirun. LONG_NP: those of the long suite (scripts/test.sh --long). An uncaught failure in one
#   rank ends the test through MPI_Abort, never through the timeout.
#   LABELS: gpu: a part of it needs a GPU; kernels: it launches our own kernels; zoo: gpu_check.sh runs it by models.
#   COST: about how long it takes, if that is more than some seconds: CTest begins with those.
set(HOPSCOTCH_MPIRUN ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none)
# All ranks of a test are on this host: looking for networks would take each of them 0.1 s.
set(HOPSCOTCH_TEST_ENVIRONMENT OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader)

# A program with sanitizers takes longer: TSan 23 times on direct.orders_test. A limit only ends what hangs.
set(HOPSCOTCH_TIMEOUT_FACTOR 1)
if(HOPSCOTCH_SANITIZE)
  set(HOPSCOTCH_TIMEOUT_FACTOR 5)
endif()

# LibTorch's kernels of another kind of CPU: those for AVX2. A CPU that has no others runs them in the tests themselves.
set(HOPSCOTCH_AVX2_ENVIRONMENT ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2)
set(HOPSCOTCH_MORE_THAN_AVX2 ON)
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  if(NOT cpu_flags MATCHES "avx512|avx_vnni|amx")
    set(HOPSCOTCH_MORE_THAN_AVX2 OFF)
    message(STATUS "This CPU has no kernels beyond AVX2's: all tests run these, and no entries of cpu-kinds are made")
  endif()
endif()

# hopscotch_add_avx2_test(NAME COMMAND... [TIMEOUT seconds] [COST seconds])
# An entry cpu-kinds.NAME, with the label cpu-kinds, which runs the command with these kernels.
function(hopscotch_add_avx2_test name)
  if(NOT HOPSCOTCH_MORE_THAN_AVX2)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT;COST;WORKING_DIRECTORY" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_WORKING_DIRECTORY)
    set(arg_WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  add_test(NAME cpu-kinds.${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${arg_WORKING_DIRECTORY})
  set_tests_properties(cpu-kinds.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_COST} LABELS cpu-kinds
    ENVIRONMENT "${HOPSCOTCH_TEST_ENVIRONMENT};${HOPSCOTCH_AVX2_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

function(hopscotch_test_program)
  cmake_parse_arguments(arg "BOTH_WORLDS" "PROGRAM" "LIBRARIES" ${ARGN})
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target ${module}_tests)
  if(arg_PROGRAM)
    set(target ${arg_PROGRAM})
  endif()
  if(arg_BOTH_WORLDS)
    add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/both_worlds_main.cpp)
    cmake_language(DEFER CALL hopscotch_add_rank_tests)
  else()
    add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/test_main.cpp)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE hopscotch_options ${arg_LIBRARIES} GTest::gtest)
  target_compile_definitions(${target} PRIVATE HOPSCOTCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             HOPSCOTCH_BINARY_DIR="${PROJECT_BINARY_DIR}")
endfunction()

function(hopscotch_add_test file)
  cmake_parse_arguments(arg "" "PROGRAM;TIMEOUT;COST" "NP;LONG_NP;LABELS" ${ARGN})
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target ${module}_tests)
  if(arg_PROGRAM)
    set(target ${arg_PROGRAM})
  endif()
  target_sources(${target} PRIVATE ${file})
  set_property(DIRECTORY APPEND PROPERTY hopscotch_added_tests ${file})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${HOPSCOTCH_TIMEOUT_FACTOR}")
  add_test(NAME ${module}.${stem} COMMAND $<TARGET_FILE:${target}> --files=${stem})
  set_tests_properties(${module}.${stem} PROPERTIES TIMEOUT ${timeout} LABELS "${module};${arg_LABELS}"
    ENVIRONMENT "${HOPSCOTCH_TEST_ENVIRONMENT};TSAN_OPTIONS=ignore_noninstrumented_modules=1")
  if(arg_COST)
    set_tests_properties(${module}.${stem} PROPERTIES COST ${arg_COST})
  endif()
  if(gpu IN_LIST arg_LABELS)
    string(JOIN " " line ${target} ${stem} ${arg_LABELS})
    set_property(GLOBAL APPEND PROPERTY hopscotch_gpu_tests ${line})
    set_property(GLOBAL APPEND PROPERTY hopscotch_gpu_programs ${target})
  endif()
  foreach(np ${arg_NP})
    set_property(TARGET ${target} APPEND PROPERTY files_np${np} ${stem})
  endforeach()
  foreach(np ${arg_LONG_NP})
    set_property(TARGET ${target} APPEND PROPERTY long_files_np${np} ${stem})
  endforeach()
endfunction()

function(hopscotch_add_other_tests)
  cmake_parse_arguments(arg "" "" "EXCEPT" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *_test.cpp)
  get_property(added DIRECTORY PROPERTY hopscotch_added_tests)
  list(REMOVE_ITEM files "" ${added} ${arg_EXCEPT})
  foreach(file ${files})
    hopscotch_add_test(${file})
  endforeach()
endfunction()

# At the end of the module's folder: one entry for each process count.
function(hopscotch_add_rank_tests)
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target ${module}_tests)
  # Open MPI's unloaded modules look like leaks that no suppression can name.
  set(environment ${HOPSCOTCH_TEST_ENVIRONMENT} GTEST_CATCH_EXCEPTIONS=0 GTEST_THROW_ON_FAILURE=1
      TSAN_OPTIONS=ignore_noninstrumented_modules=1 ASAN_OPTIONS=detect_leaks=0)
  math(EXPR timeout "1200 * ${HOPSCOTCH_TIMEOUT_FACTOR}")
  foreach(np 2 3 4 5)
    foreach(suite "" long_)
      get_target_property(files ${target} ${suite}files_np${np})
      if(files)
        list(JOIN files "," names)
        set(configurations)
        if(suite)
          set(configurations CONFIGURATIONS long)
        endif()
        add_test(NAME ${module}.${suite}np${np} ${configurations}
                 COMMAND ${HOPSCOTCH_MPIRUN} -np ${np} $<TARGET_FILE:${target}> --files=${names})
        set_tests_properties(${module}.${suite}np${np} PROPERTIES TIMEOUT ${timeout} LABELS ${module} COST 30
                             ENVIRONMENT "${environment}")
      endif()
    endforeach()
  endforeach()
endfunction()

# At the end of tests/: the target gpu_tests, all programs with tests labelled gpu, and gpu_tests.txt in the folder of the
# build, a line "PROGRAM FILE LABELS" for each of these files. CTest names no program before it is built.
function(hopscotch_list_gpu_tests)
  get_property(lines GLOBAL PROPERTY hopscotch_gpu_tests)
  get_property(programs GLOBAL PROPERTY hopscotch_gpu_programs)
  list(REMOVE_DUPLICATES programs)
  add_custom_target(gpu_tests DEPENDS ${programs})
  list(JOIN lines "\n" text)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gpu_tests.txt CONTENT "${text}\n")
endfunction()
