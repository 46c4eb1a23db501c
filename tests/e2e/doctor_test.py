# SPDX-License-Identifier: Apache-2.0
"""hopscotch doctor: on one host, under mpirun, and under a launcher that MPI does not understand."""

import subprocess
import unittest

from harness import BINARY, Case, experiment


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
        self.assertIn("nowhere: is not a folder; name the folder that will hold your run directories\n", err)
        lone = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
        code, out, err = self.run_hopscotch("doctor", env=lone)
        self.assertEqual((code, err), (1, ""))
        self.assertIn("problem: the launcher has started 4 processes, but MPI joins 1 of them", out)
        self.assertIn("\n1 problem, ", out)
        self.assertEqual(self.run_hopscotch("doctor", env={**lone, "SLURM_PROCID": "3"}), (0, "", ""))

    def test_a_fence_of_srun_that_is_no_ring(self):
        alone = {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}
        for nodes, fence, told in (("2", "", True), ("2", "tree", True), ("2", "ring", False), ("1", "", False)):
            with self.subTest(nodes=nodes, fence=fence):
                env = {**alone, "SLURM_STEP_NUM_NODES": nodes, "SLURM_PMIX_FENCE": fence}
                code, out, err = self.run_hopscotch("doctor", env=env)
                self.assertEqual((code, "warning: SLURM_PMIX_FENCE is not ring" in out), (0, told), out + err)


class Surroundings(Case):
    """What the job has, and this build or this process cannot use."""

    def test_gpus_of_the_job_that_a_cpu_build_leaves_idle(self):
        if "CPU build" not in self.run_hopscotch("--version")[1]:
            self.skipTest("a build for GPUs")
        for device, gpus, told in (("auto", "0,1", True), ("auto", "", False), ("cpu", "0,1", False)):
            with self.subTest(device=device, gpus=gpus):
                self.write(experiment(run={"dir": "out", "device": device}))
                none = {"SLURM_JOB_GPUS": "", "SLURM_GPUS": ""}
                code, out, err = self.run_hopscotch(
                    *("run", "e.json", "--trainers", "2", "--overwrite"), env={**none, "CUDA_VISIBLE_DEVICES": gpus}
                )
                said = "the CPU although the job holds GPUs (CUDA_VISIBLE_DEVICES is 0,1, but this is a CPU build)"
                self.assertEqual((code, said in err), (0, told), out + err)

    def test_too_little_memory_is_one_line(self):
        for kilobytes in (300000, 450000):
            line = ["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "bash", BINARY, "--version"]
            done = subprocess.run(line, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            said = f"hopscotch: the limit of virtual memory is {kilobytes} kB (LibTorch alone needs 524288); raise it with "
            self.assertEqual(done.stderr, f"{said}`ulimit -v unlimited`\n")


class Copies(Case):
    """What a launcher starts without telling MPI: each process believes that it is alone."""

    PROBLEM = (
        "the launcher has started 3 processes, but MPI joins 1 of them (the MPI library and the launcher do not understand "
        "each other); under Slurm write `srun --mpi=pmix`, or use the mpirun of the MPI library that hopscotch was built "
        "with; for independent runs, unset {} in each process"
    )
    COMMANDS = (
        ("run", "e.json"),
        ("run", "e.json", "--resume"),
        ("resume", "out"),
        ("bench", "comm"),
        ("bench", "allreduce"),
    )

    def setUp(self):
        super().setUp()
        self.write(experiment())

    def launched(self, size, rank, number, *args):
        before = self.listing()
        code, out, err = self.run_hopscotch(*args, env={size: "3", rank: str(number)})
        self.assertEqual((out, self.listing()), ("", before), err)
        return code, err

    def test_are_refused_and_only_the_first_says_why(self):
        size, rank = "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"
        for command in self.COMMANDS:
            with self.subTest(command):
                self.assertEqual(self.launched(size, rank, 0, *command), (2, self.PROBLEM.format(size) + "\n"))
                self.assertEqual(self.launched(size, rank, 2, *command), (0, ""))

    def test_of_the_mpirun_of_another_library_are_refused(self):
        # Open MPI joins the process alone under either, as it does below another library's launcher.
        for size, rank in (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")):
            with self.subTest(size):
                code, err = self.launched(size, rank, 0, "run", "e.json")
                self.assertIn(self.PROBLEM.format(size), err)
                self.assertEqual(code, 2)
                self.assertEqual(self.launched(size, rank, 1, "run", "e.json"), (0, ""))

    def test_one_process_is_no_copy(self):
        script = {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "3", "SLURM_PROCID": "0"}  # of a batch script
        for env in (script, {**script, "SLURM_STEP_NUM_TASKS": "1"}):
            code, out, err = self.run_hopscotch("run", "e.json", "--trainers", "2", "--overwrite", "--quiet", env=env)
            self.assertEqual(code, 0, out + err)


if __name__ == "__main__":
    unittest.main()
