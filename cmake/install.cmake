# cmake --install: both programs, the headers and the target hopscotch::model for own networks (find_package(hopscotch)),
# job scripts, examples, documentation, completion and the manual page. cpack makes a .deb and a .tar.gz of the same files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# LibTorch is no part of a package. hopscotch-train looks for it where this build found it (an option of torch::cpu), and
# then in lib/hopscotch/torch: a link, where the package is on another machine.
set(rpath "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/hopscotch/torch" ${HOPSCOTCH_TORCH_ROOT}/lib)
if(HOPSCOTCH_CUDA)
  get_filename_component(nccl_directory ${HOPSCOTCH_NCCL_LIBRARY} DIRECTORY)
  list(APPEND rpath ${nccl_directory})
endif()
set_target_properties(hopscotch-train PROPERTIES INSTALL_RPATH "${rpath}")
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
install(PROGRAMS scripts/to_mlflow.py scripts/plot_curves.py DESTINATION ${CMAKE_INSTALL_DATADIR}/hopscotch/scripts)
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
include(CPack)
