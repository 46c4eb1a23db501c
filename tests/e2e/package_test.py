# SPDX-License-Identifier: Apache-2.0
"""cpack really makes the packages, and the program in them works."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import long_only

BUILD, CMAKE = pathlib.Path(os.environ["HOPSCOTCH_BUILD"]), os.environ["HOPSCOTCH_CMAKE"]
LMOD = pathlib.Path("/usr/share/lmod/lmod/init/bash")
FILES = [
    "bin/hopscotch",
    "bin/hopscotch-train",
    "include/hopscotch/model.hpp",
    "lib/cmake/hopscotch/hopscotchConfig.cmake",
    "lib/hopscotch/libhopscotch_torch.so",
    "share/bash-completion/completions/hopscotch",
    "share/doc/hopscotch/README.md",
    "share/hopscotch/configs/digits-grid.json",
    "share/hopscotch/examples/plugin_model.cpp",
    "share/hopscotch/modulefiles/hopscotch/0.1.0.lua",
    "share/hopscotch/scripts/launch.sh",
    "share/hopscotch/scripts/to_mlflow.py",
    "share/hopscotch/slurm/cpu.sbatch",
    "share/man/man1/hopscotch.1",
    "share/zsh/site-functions/_hopscotch",
]


@long_only
class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hopscotch-packages-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def packages(self, generator):
        cpack = pathlib.Path(CMAKE).with_name("cpack")
        self.run_it(cpack, "--config", BUILD / "CPackConfig.cmake", "-G", generator, "-B", self.folder / generator)

    def check(self, prefix):
        self.assertEqual([name for name in FILES if not (prefix / name).is_file()], [])
        self.assertIn("LibTorch", self.run_it(prefix / "bin/hopscotch", "--version"))

    def test_archive(self):
        self.packages("TGZ")
        (archive,) = (self.folder / "TGZ").glob("*.tar.gz")
        self.run_it("tar", "-xzf", archive)
        self.check(self.folder / archive.name.removesuffix(".tar.gz"))

    @unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "needs dpkg-dev")
    def test_debian_package(self):
        self.packages("DEB")
        (package,) = (self.folder / "DEB").glob("*.deb")
        self.run_it("dpkg-deb", "-x", package, "root")
        self.check(self.folder / "root/usr")
        needs = self.run_it("dpkg-deb", "-f", package, "Depends")
        for library in ("libc6", "libhdf5", "libstdc++6"):
            self.assertIn(library, needs)

    @unittest.skipUnless(LMOD.exists(), "needs Lmod")
    def test_module(self):
        self.run_it(CMAKE, "--install", BUILD, "--prefix", self.folder / "P")
        load = f"source {LMOD} && module use P/share/hopscotch/modulefiles && module load hopscotch"
        said = self.run_it("bash", "-c", f"{load} && command -v hopscotch && hopscotch --version && ls $HOPSCOTCH_HOME")
        self.assertIn(str(self.folder / "P/bin/hopscotch"), said)
        self.assertIn("LibTorch", said)
        self.assertIn("slurm", said.splitlines())


if __name__ == "__main__":
    unittest.main()
