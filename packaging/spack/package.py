# SPDX-License-Identifier: Apache-2.0
"""Spack recipe. In a repository of your own (spack repo create): packages/hopscotch/package.py."""

from spack.package import *


class Hopscotch(CMakePackage):
    """Trains many deep-learning models at once with MPI: the data stays, the models hop."""

    # Give the place of the sources: spack dev-build hopscotch@0.1.0, in the folder of the repository.
    license("Apache-2.0")
    version("0.1.0")

    variant("cuda", default=False, description="Train on GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("mpi@3.1:")
    depends_on("hdf5+hl~mpi")
    depends_on("libjpeg")
    depends_on("libpng")
    depends_on("zlib-api")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build")
    depends_on("eigen@3.3:", type="build")
    depends_on("fmt")
    depends_on("spdlog+fmt_external")
    depends_on("xxhash")
    depends_on("python", type=("build", "run"))
    depends_on("py-torch@2.11:2.15~cuda", when="~cuda")
    depends_on("py-torch@2.11:2.15+cuda", when="+cuda")
    depends_on("cuda@13:", when="+cuda")
    depends_on("nccl", when="+cuda")

    def cmake_args(self):
        torch = join_path(self.spec["py-torch"].prefix, self.spec["python"].package.platlib, "torch")
        return [
            self.define("HOPSCOTCH_TESTS", False),
            self.define("HOPSCOTCH_TORCH", torch),
            self.define_from_variant("HOPSCOTCH_CUDA", "cuda"),
            self.define("CMAKE_UNITY_BUILD", True),
        ]
