# SPDX-License-Identifier: Apache-2.0
"""hopscotch doctor: on one host, under mpirun, and under a launcher that MPI does not understand."""

import unittest

from harness import Case


class Doctor(Case):
    def test_under_mpirun(self):
        before = sorted(self.cwd.iterdir())
        code, out, err = self.run_hopscotch("doctor", str(self.cwd), np=3)
        self.assertEqual((code, sorted(self.cwd.iterdir())), (0, before), out + err)
        self.assertTrue(out.startswith("3 processes: rank 0 schedules, 2 train.\nhopscotch "), out)
        self.assertRegex(out, r"\n\S+ +0-2 +\d+ ")
        self.assertRegex(out, r"\nCPU: .+, (AVX-512|AVX2|neither AVX2).* \(\S+\)\nfolder ")
        self.assertRegex(out, r"\nlink \S+ to \S+: [\d.]+ [kMG]B/s\n")
        self.assertNotIn("problem:", out)

    def test_one_process(self):
        code, out, err = self.run_hopscotch("doctor", "nowhere")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("nowhere: is no folder; name the folder that will hold your run directories\n", err)
        lone = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
        code, out, err = self.run_hopscotch("doctor", env=lone)
        self.assertEqual((code, err), (1, ""))
        self.assertIn("problem: the launcher has started 4 processes, but MPI joins 1 of them", out)
        self.assertIn("\n1 problem, ", out)
        self.assertEqual(self.run_hopscotch("doctor", env={**lone, "SLURM_PROCID": "3"}), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
