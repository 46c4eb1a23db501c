# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md, CONTRIBUTING.md, docs/*.md and the READMEs of folders, run as printed, in order, in a folder
that looks like the repository and has this binary as build/hopscotch. A command must succeed, or be refused with the words
that its document prints. The tutorial is a new user's path: every command of it runs as printed.

What counts as a command:
- Every line of a fenced block without a language (a line goes on until its quotes are closed). Output is fenced as `text`.
- Inline code that begins with `build/hopscotch `, `hopscotch ` or `scripts/`, unless it has a placeholder in it (`RUN_DIR`,
`...`, `[rounds]`, `{`).
  A script's bare name is a mention: the file must exist.
A `json` block is a whole experiment, saved under the name in the words `Save this as` before it, or a part of one. Both are
run dry; a part stands in an experiment on the digits (keys of no section: in the `search` of the document's last whole
experiment).

A command that is not run as printed stands in one of the two tables below, with the reason. An entry that no document has
any more fails."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import BINARY, MPIRUN, SOURCE, TOOLS_PYTHON
from limits import RUN_LIMIT_S

DOCUMENTS = [
    SOURCE / "README.md",
    SOURCE / "CONTRIBUTING.md",
    *sorted((SOURCE / "docs").glob("*.md")),
    *(SOURCE / folder / "README.md" for folder in ("data", "slurm", "examples") if (SOURCE / folder / "README.md").exists()),
]
DIGITS = "hopscotch data import csv data/digits.csv --out data/digits --shards 12 --valid 0.2 --shape 1x8x8 --label label"

# What a document's reader has done before, in the README.
IMAGES = [
    "python3 examples/digits_as_images.py handwriting",
    "hopscotch data import images handwriting/labelled --out data/handwriting --shards 8",
]
BEFORE = {
    "docs/cookbook.md": [
        *IMAGES,
        "hopscotch init data/handwriting --out handwriting.json",
        "hopscotch run handwriting.json --quiet --trainers 2 --set search.trials=3 --set train.epochs=1",
        "cp $HOPSCOTCH_BUILD/tests/plugins/plugin_model.so .",
    ],
    "docs/data.md": [DIGITS],
    "docs/plan.md": [DIGITS],
    "docs/report.md": [
        DIGITS,
        "hopscotch run configs/digits-grid.json --quiet --trainers 2 --set train.epochs=1 --set run.dir=runs/digits",
        "hopscotch run configs/digits-asha.json --quiet --trainers 2 --set train.epochs=3",
    ],
    "docs/own-model.md": [DIGITS, "cp $HOPSCOTCH_BUILD/tests/plugins/plugin_model.so ."],
    "docs/running.md": [DIGITS],
    "docs/search.md": [
        DIGITS,
        "hopscotch run configs/digits-grid.json --quiet --trainers 2 --set train.epochs=3 --set run.dir=runs/digits",
    ],
    "docs/strategies.md": [
        DIGITS,
        *(
            f"hopscotch run configs/compare-{name}.json --quiet --trainers 2 --set train.epochs=1 --set run.dir=runs/{run}"
            for name, run in (("mop", "mop"), ("allreduce", "ring"), ("model-averaging", "averaging"))
        ),
    ],
    "docs/training.md": [DIGITS, "hopscotch run configs/digits-grid.json --quiet --trainers 2 --set train.epochs=1"],
}

NAME = "the name of a command, not a whole one"
# As printed: (what is run instead, why).
SHORTENED = {
    "scripts/compare.sh --trainers 4": ("scripts/compare.sh --trainers 2 --set train.epochs=1", "half a minute"),
    "build/hopscotch bench step --model resnet20 --shape 3x32x32": (
        "build/hopscotch bench step --model resnet20 --shape 3x32x32 --rows 64 --seconds 0.1 --repeats 1",
        "seconds",
    ),
    "build/hopscotch bench read": ("build/hopscotch bench read --megabytes 8 --repeats 1", "seconds"),
    "hopscotch bench read": ("hopscotch bench read --megabytes 8 --repeats 1", "seconds"),
    "mpirun --oversubscribe -np 4 build/hopscotch bench allreduce": (
        "mpirun --oversubscribe -np 4 build/hopscotch bench allreduce --bytes 65536 --repeats 1",
        "seconds",
    ),
    "mpirun --oversubscribe -np 2 build/hopscotch bench comm": (
        "mpirun --oversubscribe -np 2 build/hopscotch bench comm --megabytes 1 --seconds 0.2 --period 0.1 --repeats 1",
        "80 s",
    ),
    "g++ -std=c++20 -O2 -fPIC -shared -Iinclude -I$T/include -I$T/include/torch/csrc/api/include "
    "examples/plugin_model.cpp -o plugin_model.so": (
        "[ ! -d $T ] || g++ -std=c++20 -E -Iinclude -I$T/include -I$T/include/torch/csrc/api/include "
        "examples/plugin_model.cpp -o preprocessed",
        "20 s and 1.4 GB: own_model_test builds it; with HOPSCOTCH_TORCH there is no $T",
    ),
    "hopscotch data import": ("hopscotch data import --help", NAME),
    "hopscotch report": ("hopscotch report --help", NAME),
    "hopscotch export csv": ("hopscotch export csv --help", NAME),
    "hopscotch what-if": ("hopscotch what-if --help", NAME),
    "hopscotch replay": ("hopscotch replay --help", NAME),
    "hopscotch ctl": ("hopscotch ctl --help", NAME),
    "hopscotch plan": ("hopscotch plan --help", NAME),
    "hopscotch export": ("hopscotch export --help", NAME),
    "hopscotch export optuna": ("hopscotch export optuna --help", NAME),
    "hopscotch compare": ("hopscotch compare --help", NAME),
    "hopscotch bench step": ("hopscotch bench step --help", NAME),
    "mpirun -np 5 --hostfile hosts hopscotch doctor /shared/runs": (
        "mpirun --oversubscribe -np 2 hopscotch doctor",
        "one host is here",
    ),
    "mpirun -np 5 --hostfile hosts hopscotch run experiment.json --resume": (
        "mpirun --oversubscribe -np 3 hopscotch run configs/digits-grid.json --resume --set train.epochs=1",
        "one host is here",
    ),
    "scripts/launch.sh mpirun --enable-recovery -np 5 -- experiment.json --resume && next": (
        "scripts/launch.sh mpirun --oversubscribe -np 3 -- configs/digits-grid.json --resume --set train.epochs=1",
        "Open MPI 5 has another option; faults_test has it",
    ),
}

# Why it is not run.
BUILDS = "sets up, builds, and runs the tests that this is one of"
FIGURES = "builds, and takes minutes; evidence.figures runs small sizes"
PEERS = "a minute, and only with PyTorch; peers_test runs a small size"
BY_HAND = "configures and builds"
GPU = "builds with nvcc, or wants a GPU: gpu_check.rehearsal runs both on a CPU"
CLUSTER = "wants Slurm: tests/slurm runs the templates"
NOT_RUN = {
    "hopscotch man | man -l -": "man may be missing; completion_test reads the page with groff",
    "scripts/test.sh": BUILDS,
    "scripts/test.sh -R mop": BUILDS,
    "scripts/test.sh --long": BUILDS,
    "scripts/test.sh --sanitize": BUILDS,
    "scripts/fuzz.sh --files": "builds; fuzz.* of ctest runs a part",
    "scripts/chaos.sh --losses": "builds, and takes minutes; chaos_test and survivors_test walk the same places",
    "scripts/chaos.sh --orders": "builds, and takes minutes; random_chaos_test runs five cases",
    "scripts/bench.sh": "several minutes",
    "scripts/evidence.sh": FIGURES,
    "scripts/evidence.sh --list": "builds; evidence.figures runs what it lists",
    **{f"scripts/evidence.sh {path.parent.name}": FIGURES for path in SOURCE.glob("experiments/*/figure.py")},
    "scripts/compare_peers.py": PEERS,
    "scripts/compare_peers.py --python peers/bin/python": PEERS,
    'python3 -m venv peers && peers/bin/pip install torch h5py numpy optuna "ray[tune]"': "downloads 3.5 GB",
    "scripts/setup.sh --cuda": "downloads 2.2 GB",
    "scripts/gpu_bundle.sh gpu-bundle": GPU,
    **{
        f"scripts/gpu_check.sh --prebuilt gpu-bundle {phase}": GPU
        for phase in ("smoke", "zoo", "steps", "runs", "busy", "sanitize")
    },
    "cmake --preset release": BY_HAND,
    "cmake --build build -j 8 --target hopscotch": BY_HAND,
    "cmake --install build --prefix P": "own_model_test does it",
    "cmake -S examples -B build-examples -DCMAKE_PREFIX_PATH=P && cmake --build build-examples": "own_model_test does it",
    "SLURM_PMIX_FENCE=ring srun --mpi=pmix hopscotch doctor /shared/runs": CLUSTER,
    "sbatch slurm/cpu.sbatch experiment.json": CLUSTER,
    "sbatch --time=02:00:00 --ntasks=17 slurm/preemptible.sbatch experiment.json": CLUSTER,
    "sbatch slurm/array.sbatch experiment.json": CLUSTER,
    "scripts/slurm_local.sh up && scripts/slurm_local.sh run sbatch slurm/cpu.sbatch experiment.json": CLUSTER,
    '"model": { "name": "resnet18", "init_from": "resnet18.safetensors", "init_mode": "head", '
    '"freeze": ["conv1.*", "bn1.*", "layer1.*"] }': "wants torchvision's weights; warm_start_test starts from a file",
}

# Input that is wrong on purpose: exit code 2, and the document prints the message.
REFUSED = ["build/hopscotch data import csv churn.csv --out data/churn --shards 4 --label churned"]

# What the command and its document both say.
SAYS = {
    "scripts/quickstart.sh": [
        "rank trial val_accuracy epoch val_loss config",
        "1920 units, 320 hops in finished laps, 11.6 MB of states moved",
        "run directory: runs/digits",
    ],
    "build/hopscotch replay runs/digits": ["1920 units of 16 trials: every state hash equals the journal's"],
    "python3 examples/digits_as_images.py handwriting": ["1697 images in handwriting/labelled, 100 in handwriting/new"],
    "build/hopscotch data import images handwriting/labelled --out data/handwriting --shards 8": [
        "task classification, 10 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)",
        "train 1358 rows 8 shards of 169 to 170 114.2 kB",
    ],
    "build/hopscotch run handwriting.json --dry-run": ["27 trials, between 135 and 619 epochs in all"],
    "build/hopscotch run handwriting.json --trainers 2": ["report: runs/handwriting/report.html"],
    "build/hopscotch predict runs/handwriting handwriting/new --out predictions.csv": [
        "100 rows predictions: predictions.csv"
    ],
}

# A number that the command and its document both say, and how far the two may be apart: other kinds of CPU round otherwise.
NEAR = {
    "paste -d, predictions.csv handwriting/answers.csv | "
    """awk -F, 'NR > 1 && $2 == $NF { n++ } END { print n, "of", NR - 1, "are right" }'""": (r"(\d+) of 100 are right", 3)
}

# Their blocks in Python are run with the first of these that has the packages; of the others, other tests know more.
WITH_PYTHON = ["docs/cookbook.md"]
PYTHONS = [sys.executable, str(SOURCE / ".deps/venv/bin/python"), TOOLS_PYTHON]

TOKEN = re.compile(r"^```(?P<language>\w*)\n(?P<block>.*?)^```$|`(?P<inline>[^`]+)`", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"\.\.\.|[\[{]|\b[A-Z][A-Z_]+\b")
PART_BASE = {
    "name": "part",
    "seed": 1,
    "data": {},
    "model": {"name": "mlp", "hidden": [16]},
    "train": {"epochs": 9, "optimizer": {"name": "sgd", "lr": 0.1}},
    "search": {"procedure": "grid"},
    "space": {"train.optimizer.lr": [0.1]},
    "run": {"dir": "runs/part"},
}


def one_line(text):
    return " ".join(text.split())


def headings_of(document):
    """As links name them: letters, digits and hyphens."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def commands_of(block):
    """Each as bash reads it, without its comment."""
    lines, command = iter(block.splitlines()), ""
    for line in lines:
        if line.endswith("\\"):
            command += line[:-1].strip() + " "
            continue
        command += line.lstrip() if command.endswith(" ") else line
        try:
            if shlex.split(command, comments=True):
                yield command if "\n" in command else re.sub(r"\s+#.*", "", command)
            command = ""
        except ValueError:  # a quote is open
            command += "\n"
    assert not command, f"an open quote: {command}"


def steps_of(text):
    """What a document has its reader do, in order: (kind, text)."""
    for token in TOKEN.finditer(text):
        language, block, inline = token["language"], token["block"], one_line(token["inline"] or "")
        if block is None:
            if re.match(r"(build/)?hopscotch |scripts/", inline) and not PLACEHOLDER.search(inline):
                yield ("mention" if re.fullmatch(r"scripts/\S+", inline) else "command"), inline
        elif language == "":
            yield from (("command", command) for command in commands_of(block))
        elif language == "json":
            name = re.search(r"Save this as `(\S+)`:\n\Z", text[: token.start()])
            yield (f"save {name[1]}" if name else "part"), block
        elif language == "python":
            yield "python", block
        else:
            assert language == "text", f"a block in {language}: run or not?"


class DocumentedCommands(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hopscotch-documents-")
        self.addCleanup(folder.cleanup)
        self.cwd = pathlib.Path(folder.name)
        for name in ("configs", "examples", "include", "scripts", "slurm"):
            shutil.copytree(SOURCE / name, self.cwd / name)
        (self.cwd / "data").mkdir()
        shutil.copy(SOURCE / "data/digits.csv", self.cwd / "data")
        (self.cwd / "build").mkdir()
        (self.cwd / "build/hopscotch").symlink_to(BINARY)
        (self.cwd / ".deps").symlink_to(SOURCE / ".deps")
        self.write_cifar(self.cwd / "cifar-10-batches-bin")
        path = f"{self.cwd}/build:{pathlib.Path(shutil.which(MPIRUN[0])).parent}:{os.environ['PATH']}"
        # Scripts neither set up nor build with HOPSCOTCH. nproc says OMP_NUM_THREADS: the README's output is of two
        # trainers.
        self.env = {**os.environ, "HOME": str(self.cwd), "PATH": path, "HOPSCOTCH": BINARY, "OMP_NUM_THREADS": "2"}

    def write_cifar(self, folder):
        """Six tiny batches in the format of CIFAR-10's binary version."""
        folder.mkdir()
        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
            (folder / f"{name}.bin").write_bytes(
                b"".join(bytes([i % 10]) + bytes((i * 7 + j) % 256 for j in range(3072)) for i in range(16))
            )
        (folder / "batches.meta.txt").write_text(
            "\n".join("airplane automobile bird cat deer dog frog horse ship truck".split()) + "\n\n"
        )

    def bash(self, command):
        process = subprocess.Popen(
            ["bash", "-c", "set -eo pipefail\n" + command],
            cwd=self.cwd,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.fail(f"{command}: more than {RUN_LIMIT_S:g} s; shorten it in the table")
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def succeed(self, command):
        done = self.bash(command)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def follow(self, document):
        text = document.read_text()
        assignments, whole = "", PART_BASE
        for command in BEFORE.get(str(document.relative_to(SOURCE)), ()):
            self.succeed(command)
        for kind, step in steps_of(text):
            if one_line(step) in NOT_RUN:
                continue
            with self.subTest(step):
                if kind == "mention":
                    self.assertTrue((SOURCE / step).exists(), "no such script")
                elif kind == "part":
                    self.run_part(json.loads("{" + step + "}"), whole)
                elif kind == "python":
                    self.run_python(document, step)
                elif kind != "command":
                    whole = json.loads(step)
                    (self.cwd / kind.removeprefix("save ")).write_text(step)
                    self.succeed(f"hopscotch run {kind.removeprefix('save ')} --dry-run")
                else:
                    self.run_command(step, assignments, text)
                    assignments += f"{step}\n" if re.fullmatch(r"(export )?\w+=\S.*", step) else ""

    def run_command(self, step, assignments, text):
        done = self.bash(assignments + SHORTENED.get(step, (step,))[0])
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2 if step in REFUSED else 0, said)
        if step in REFUSED:
            self.assertIn(f"```text\n{done.stderr}```\n", text)
        for words in SAYS.get(step, ()):
            self.assertIn(words, one_line(text))
            self.assertIn(words, one_line(said))
        if step in NEAR:
            pattern, apart = NEAR[step]
            self.assertAlmostEqual(*(int(re.search(pattern, words)[1]) for words in (text, said)), delta=apart)
        if step == "scripts/quickstart.sh":
            self.compare_leaderboard(text)

    def compare_leaderboard(self, text):
        """The README's rows with the run's; another kind of CPU rounds otherwise."""
        trials = json.loads((self.cwd / "runs/digits/summary.json").read_text())["trials"]
        rows = re.findall(r"^ +\d+ +(\d+) +(0\.\d+) .* lr=(\S+) hidden=(\S+)$", text, re.MULTILINE)
        self.assertEqual(len(rows), 3)
        for trial, accuracy, lr, hidden in rows:
            ran = trials[int(trial)]
            self.assertEqual(ran["config"], {"train.optimizer.lr": float(lr), "model.hidden": json.loads(hidden)})
            self.assertAlmostEqual(ran["best"]["val_accuracy"], float(accuracy), delta=0.01)

    def run_part(self, part, whole):
        if part.keys() <= PART_BASE.keys():
            whole = {**PART_BASE, **part, "data": {**part.get("data", {}), "path": "data/digits"}}
            if "search" in part and "space" not in part:
                del whole["space"]
        else:
            whole = {**whole, "search": {**whole["search"], **part}}
        (self.cwd / "part.json").write_text(json.dumps(whole))
        trainers = "--trainers 1" if '"torchscript"' in json.dumps(part) else ""  # one in a process
        self.succeed(f"hopscotch run part.json --dry-run --set run.dir=runs/part {trainers}")

    def run_python(self, document, code):
        if str(document.relative_to(SOURCE)) not in WITH_PYTHON:
            return
        imports = "\n".join(re.findall(r"^(?:import|from) .*", code, re.MULTILINE))
        for python in PYTHONS:
            if os.path.exists(python) and subprocess.run([python, "-c", imports], capture_output=True).returncode == 0:
                self.succeed(f"{shlex.quote(python)} -c {shlex.quote(code)}")
                return
        self.skipTest(f"no Python here has the packages of: {imports}")

    def test_links(self):
        """Each link between documents has its file, and its heading there."""
        bad = []
        for document in DOCUMENTS:
            for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
                path, _, heading = link.partition("#")
                file = document.parent / path if path else document
                if "://" not in link and (not file.exists() or (heading and heading not in headings_of(file))):
                    bad.append(f"{document.relative_to(SOURCE)}: {link}")
        self.assertEqual(bad, [])

    def test_the_index_has_every_page(self):
        index = (SOURCE / "docs/README.md").read_text()
        pages = {page.name for page in (SOURCE / "docs").glob("*.md")} - {"README.md"}
        self.assertEqual([name for name in sorted(pages) if f"]({name})" not in index], [])

    def test_the_citation_has_this_version(self):
        version = re.search(r"^project\(hopscotch VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertIn(f"\nversion: {version}\n", (SOURCE / "CITATION.cff").read_text())

    def test_no_stale_entry(self):
        steps = {one_line(step) for document in DOCUMENTS for _, step in steps_of(document.read_text())}
        tables = [entry for table in (SHORTENED, NOT_RUN, REFUSED, SAYS, NEAR) for entry in table]
        self.assertEqual([entry for entry in tables if entry not in steps], [], "no document has these any more")
        self.assertEqual([name for name in BEFORE if SOURCE / name not in DOCUMENTS], [], "no such documents")


def follows(document):
    return lambda self: self.follow(document)


for _document in DOCUMENTS:
    _name = re.sub(r"\W", "_", str(_document.relative_to(SOURCE).with_suffix(""))).lower()
    setattr(DocumentedCommands, f"test_{_name}", follows(_document))


if __name__ == "__main__":
    unittest.main()
