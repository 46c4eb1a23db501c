# hopscotch_module(NAME [SOURCES a.cpp ...] [EXCEPT b.cpp ...] PUBLIC modules ... PRIVATE libraries ...)
# One static library per module: hopscotch_NAME. Modules are PUBLIC dependencies, third-party libraries always PRIVATE.
# Without SOURCES the files are all .cpp files in and below the folder but those of EXCEPT (docs/decisions/
# 0034-lists-that-write-themselves.md).
add_library(hopscotch_options INTERFACE)
# -Wrestrict misfires on std::string concatenation in g++ 12 (GCC bug 105651).
target_compile_options(hopscotch_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Werror;-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>)
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

function(hopscotch_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;EXCEPT;PUBLIC;PRIVATE" ${ARGN})
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
