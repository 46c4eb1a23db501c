# Writes OUTPUT from INPUT with the version and the git hash of SOURCE; only touches the file when something changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE HOPSCOTCH_GIT
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT HOPSCOTCH_GIT)
  set(HOPSCOTCH_GIT "no git")
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
