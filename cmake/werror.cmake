# Sets werror_default: whether a warning of the compiler is an error unless HOPSCOTCH_WERROR says otherwise. Only in presets
# for developers, and only with their compilers, with which everything builds without a warning. All others see warnings.
set(werror_default OFF)
string(REGEX MATCH "^[0-9]+" compiler_version "${CMAKE_CXX_COMPILER_VERSION}")
if(HOPSCOTCH_DEVELOPER AND "${CMAKE_CXX_COMPILER_ID} ${compiler_version}" MATCHES "^(GNU 12|GNU 14|Clang 16)$")
  set(werror_default ON)
endif()
