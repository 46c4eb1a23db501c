-- SPDX-License-Identifier: Apache-2.0
-- Modulefile for Lmod. `cmake --install build --prefix P` writes it with its own prefix: module use
-- P/share/hopscotch/modulefiles, module load hopscotch.
local prefix = "/opt/hopscotch/0.1.0"

help("Hopscotch trains many deep-learning models at once: the data stays, the models hop. See: man hopscotch")
whatis("Name: Hopscotch")
whatis("Version: 0.1.0")

-- The MPI that Hopscotch was built with:
-- depends_on("openmpi")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("FPATH", pathJoin(prefix, "share/zsh/site-functions"))
setenv("HOPSCOTCH_HOME", pathJoin(prefix, "share/hopscotch"))
