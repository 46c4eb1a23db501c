# cmake --install: both programs, the headers and the target hopscotch::model for own networks (find_package(hopscotch)),
# job scripts, examples, documentation, completion and the manual page. cpack makes a .deb and a .tar.gz of the same files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The installed program looks for libhopscotch_torch.so in lib/hopscotch, and this library for LibTorch in
# lib/hopscotch/torch only, not where the build found it: when that folder is gone, anybody who may write there could put
# other libraries in its place, which every user would load. So LibTorch is copied there from .deps/, which goes with the
# source folder; for a LibTorch in another place there is a link. Its libraries for GPUs are some GB, and not all are known
# before they are loaded: these and NCCL are linked, too. A package (cpack) has no LibTorch.
set(libraries_place ${CMAKE_INSTALL_LIBDIR}/hopscotch)
set(linked_torch ${HOPSCOTCH_TORCH_ROOT}/lib)
string(FIND "${HOPSCOTCH_TORCH_ROOT}/" "${PROJECT_SOURCE_DIR}/" torch_is_here)
if(HOPSCOTCH_CUDA)  # the program itself links LibTorch
  get_filename_component(linked_nccl ${HOPSCOTCH_NCCL_LIBRARY} DIRECTORY)
  set(rpath "$ORIGIN/../${libraries_place}/torch" "$ORIGIN/../${libraries_place}/nccl")
else()
  set(rpath "$ORIGIN/../${libraries_place}")
  set_target_properties(hopscotch_torch PROPERTIES INSTALL_RPATH "$ORIGIN/torch")
  install(TARGETS hopscotch_torch LIBRARY DESTINATION ${libraries_place})
  if(torch_is_here EQUAL 0)
    set(linked_torch "")
  endif()
endif()
set_target_properties(hopscotch-train PROPERTIES INSTALL_RPATH "${rpath}")
if(linked_torch)
  foreach(name IN ITEMS torch nccl)
    install(CODE "
      set(place \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${libraries_place}\")
      if(NOT \"${linked_${name}}\" STREQUAL \"\" AND NOT EXISTS \"\${place}/${name}\")
        file(MAKE_DIRECTORY \"\${place}\")
        file(CREATE_LINK \"${linked_${name}}\" \"\${place}/${name}\" SYMBOLIC)
        message(STATUS \"Linking: \${place}/${name} to ${linked_${name}} (only you should be able to write there)\")
      endif()" COMPONENT torch)
  endforeach()
else()
  string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" source_regex "${PROJECT_SOURCE_DIR}/")
  install(CODE "
    if(NOT IS_SYMLINK \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${libraries_place}/torch\")  # a link of yours stays
      file(GET_RUNTIME_DEPENDENCIES MODULES [==[$<TARGET_FILE:hopscotch_torch>]==]
           RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR others
           POST_INCLUDE_REGEXES [==[^${source_regex}]==] POST_EXCLUDE_REGEXES \".*\")
      file(INSTALL \${libraries} DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${libraries_place}/torch\" FOLLOW_SYMLINK_CHAIN)
    endif()" COMPONENT torch)
endif()
install(TARGETS hopscotch hopscotch-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(DIRECTORY include/hopscotch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(cmake/hopscotchConfig.cmake.in hopscotchConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hopscotch PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(hopscotchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hopscotchConfig.cmake ${PROJECT_BINARY_DIR}/hopscotchConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hopscotch)

# The built program writes these when it is installed, so that an everyday build does not wait for them.
install(CODE "
  file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/generated/share\")
  foreach(text IN ITEMS \"completion bash\" \"completion zsh\" man)
    string(REPLACE \" \" \";\" words \"\${text}\")
    execute_process(COMMAND \"$<TARGET_FILE:hopscotch>\" \${words} COMMAND_ERROR_IS_FATAL ANY
                    OUTPUT_FILE \"${PROJECT_BINARY_DIR}/generated/share/\${text}\")
  endforeach()")
install(FILES "${PROJECT_BINARY_DIR}/generated/share/completion bash" RENAME hopscotch
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES "${PROJECT_BINARY_DIR}/generated/share/completion zsh" RENAME _hopscotch
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_BINARY_DIR}/generated/share/man RENAME hopscotch.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

install(DIRECTORY slurm DESTINATION ${CMAKE_INSTALL_DATADIR}/hopscotch USE_SOURCE_PERMISSIONS)
install(PROGRAMS scripts/launch.sh scripts/to_mlflow.py scripts/plot_curves.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/hopscotch/scripts)
install(CODE "
  file(READ \"${PROJECT_SOURCE_DIR}/packaging/modulefile/hopscotch.lua\" text)
  get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
  string(REPLACE \"/opt/hopscotch/${PROJECT_VERSION}\" \"\${prefix}\" text \"\${text}\")
  file(WRITE \"${PROJECT_BINARY_DIR}/generated/share/modulefile\" \"\${text}\")")
install(FILES ${PROJECT_BINARY_DIR}/generated/share/modulefile RENAME ${PROJECT_VERSION}.lua
        DESTINATION ${CMAKE_INSTALL_DATADIR}/hopscotch/modulefiles/hopscotch)
install(DIRECTORY configs examples DESTINATION ${CMAKE_INSTALL_DATADIR}/hopscotch)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Train many deep-learning models at once: the data stays, the models hop")
set(CPACK_PACKAGE_VENDOR "Hopscotch")
set(CPACK_PACKAGE_CONTACT "Hopscotch" CACHE STRING "Maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};hopscotch;Unspecified;/")
include(CPack)
