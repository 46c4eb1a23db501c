# hopscotch_module(NAME [ROOMS folder ...] [SOURCES a.cpp ...] [EXCEPT b.cpp ...] PUBLIC modules ... PRIVATE libraries ...)
# One static library: hopscotch_NAME. Modules are PUBLIC dependencies, third-party libraries always PRIVATE. ROOMS: the .cpp
# files of these folders. Without ROOMS and SOURCES the files are all .cpp files in and below the folder but those of EXCEPT
# (docs/decisions/0034-lists-that-write-themselves.md).
add_library(hopscotch_options INTERFACE)
set(werror)
set(werror_cuda)
if(HOPSCOTCH_WERROR)
  set(werror -Werror)
  set(werror_cuda --Werror=all-warnings -Xcompiler=-Werror)
endif()
# Warnings that are wrong: -Wrestrict for concatenated strings in g++ 12 (GCC bug 105651), and in g++ 14 two for
# std::vector<bool>::reserve in LibTorch's headers. clang does not know the first one.
set(misfires)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(misfires -Wno-restrict)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14)
    list(APPEND misfires -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()
target_compile_options(hopscotch_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;${werror};${misfires}>
  $<$<COMPILE_LANGUAGE:CUDA>:${werror_cuda};-Xcompiler=-Wall,-Wextra>)
target_include_directories(hopscotch_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(hopscotch_options INTERFACE OMPI_SKIP_MPICXX=1)
if(HOPSCOTCH_SANITIZE)
  add_compile_options(-fsanitize=${HOPSCOTCH_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${HOPSCOTCH_SANITIZE})
  # False positives of g++ 12 on std::variant once sanitizers keep it from seeing through.
  target_compile_options(hopscotch_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  if(HOPSCOTCH_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# For folders whose code spends its time in the modules below them; with -O3 they would compile longer
# (docs/decisions/0032-jumbo-builds-and-one-test-program-a-module.md).
macro(hopscotch_compile_fast)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    add_compile_options(-O1)
  endif()
endmacro()

function(hopscotch_module name)
  cmake_parse_arguments(arg "" "" "ROOMS;SOURCES;EXCEPT;PUBLIC;PRIVATE" ${ARGN})
  foreach(room ${arg_ROOMS})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${room}/*.cpp)
    list(APPEND arg_SOURCES ${found})
  endforeach()
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
    list(REMOVE_ITEM arg_SOURCES "" ${arg_EXCEPT})
  endif()
  add_library(hopscotch_${name} STATIC ${arg_SOURCES})
  target_link_libraries(hopscotch_${name} PRIVATE hopscotch_options)
  foreach(module ${arg_PUBLIC})
    target_link_libraries(hopscotch_${name} PUBLIC hopscotch_${module})
  endforeach()
  foreach(library ${arg_PRIVATE})
    target_link_libraries(hopscotch_${name} PRIVATE ${library})
  endforeach()
endfunction()
