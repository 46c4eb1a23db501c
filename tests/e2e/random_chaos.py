# SPDX-License-Identifier: Apache-2.0
"""Random experiments (random_experiments.py) under random misfortunes. Each is run undisturbed, and again with kills and
signals at random instants, resumed elsewhere until it has finished: everything that it leaves behind must be the undisturbed
run's, and it must replay. Some get orders (hopscotch ctl) on the way; what those change comes with timing, so they are only
compared with their own journal.
  random_chaos.py [SECONDS [SEED]]                 this many seconds of experiments SEED/0, SEED/1, ...
  random_chaos.py --only SEED/NUMBER [--times N]   exactly this one"""

import json
import random
import signal
import subprocess
import time

import chaos_rounds
from chaos_rounds import Failure, Kind, Refused
from harness import BINARY, MPIRUN, RECOVERY, end_of_job, strict_json, without_launcher
from limits import WAIT_LIMIT_S
from random_experiments import GROUPS, datasets, experiment
from random_misfortunes import END, Job, kill, plan_of, processes_of
from random_outcome import first_difference, leftovers, lines_of, lost_order, outcome


class Round:
    """One experiment, in a folder of its own beside data/."""

    jobs = 0  # begun

    def __init__(self, name, folder, counts, document=None, plan=None):
        self.name, self.folder, self.counts = name, folder, counts
        self.draw = random.Random(f"misfortunes {name}")
        self.document = document or experiment(name)
        self.group = self.document["strategy"]["name"] in GROUPS
        self.whole = plan is not None  # replayed
        self.ordered = plan is None and self.draw.random() < 0.12
        self.plan = plan or plan_of(self.draw, self.group, self.ordered)
        self.story, self.asked = [], []
        if self.ordered:  # long enough for orders to come in time
            self.document["train"]["epochs"] *= 2
        folder.mkdir()

    def run(self):
        self.expected_code, self.start_s, self.work_s = 0, 0.5, 1.5
        expected = None if self.ordered else self.undisturbed()
        self.write("out")
        self.disturbed()
        actual = outcome(self.folder / "out")
        self.story += [f"ctl {' '.join(arguments)}: exit {process.returncode}" for arguments, process in self.asked]
        acknowledged = [arguments for arguments, process in self.asked if process.returncode == 0]
        self.counts["acknowledged"] += len(acknowledged)
        difference = lost_order(self.folder / "out", acknowledged) if self.ordered else first_difference(expected, actual)
        if difference:
            raise Failure(f"came out different: {difference}")
        self.replay(sorted({unit[0] for unit in actual["units"]}))
        for name in ("out",) if self.ordered else ("quiet", "out"):
            if left := leftovers(self.folder / name):
                self.counts["leftovers"] += 1
                raise Failure(f"{name}/ still holds {', '.join(left[:5])}")
        if self.expected_code != 0:
            raise Refused("every trial diverges")

    def replay(self, trials):
        """One of them; all of them where it is worth the time."""
        if not trials:
            return
        which = [] if self.ordered or self.whole or self.draw.random() < 0.15 else ["--trial", str(self.draw.choice(trials))]
        code, text = self.end_of(self.start([BINARY, "replay", "out", *which]), "replay")
        if code != 0:
            raise Failure(f"replay says: {text[:1500]}")

    def write(self, out):
        self.document["run"]["dir"] = out
        (self.folder / "e.json").write_text(json.dumps(self.document))

    def start(self, command):
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    def launch(self, job):
        shared = job.world == "shared" and job.trainers > 1
        self.jobs += 1
        helper = "on" if self.jobs % 2 == 1 else "off"  # bits do not depend on where states are hashed
        command = [BINARY, "run", "e.json", "--resume", "--quiet", "--set", f"run.helper={helper}"]
        if job.world == "threads":
            command += ["--trainers", str(job.trainers)]
        else:
            command += [*(["--set", "run.scheduler=shared"] if shared else [])]
            command = [
                *MPIRUN,
                *(RECOVERY if job.world == "recovery" else []),
                "-np",
                str(job.trainers + (0 if shared else 1)),
                *command,
            ]
        self.counts["jobs"] += 1
        return self.start(command)

    def end_of(self, process, what):
        try:
            text, _ = self.end_or_standstill(process)
        except subprocess.TimeoutExpired:
            alive = processes_of(process.pid)
            kill(each[0] for each in alive)
            text, _ = process.communicate()
            self.counts["hangs"] += 1
            journals = "".join(
                f"\n{path}:\n" + "\n".join(line[:300] for line in path.read_text().splitlines()[-8:])
                for path in sorted(self.folder.glob("*/journal.jsonl"))
            )
            raise Failure(f"{what} hangs; processes {alive}; it said: {text[-1500:]}{journals}")
        finally:
            kill(
                each[0] for each in processes_of(process.pid)
            )  # ranks that outlive a killed launcher must meet no later job
        code = 0 if getattr(process, "code_is_lost", False) and self.status() == "finished" else process.returncode
        return code, "\n".join(without_launcher(text))

    def end_or_standstill(self, process):
        """Slow is not hanging: a job that still writes its journal has more time, up to five times as much."""
        size = lambda: self.journal().stat().st_size if self.journal().exists() else 0
        for left in range(5, 0, -1):
            before = size()
            try:
                return end_of_job(process)
            except subprocess.TimeoutExpired:
                if left == 1 or size() == before:
                    raise

    def status(self):
        summary = self.folder / self.document["run"]["dir"] / "summary.json"
        return strict_json(summary.read_text())["status"] if summary.exists() else "none"

    def undisturbed(self):
        self.write("quiet")
        began = time.monotonic()
        process = self.launch(
            Job(
                self.plan[0].trainers if self.group else self.draw.randint(1, 3),
                self.draw.choice(("threads", "threads", "threads", "mpirun")),
            )
        )
        self.wait_until_it_writes(process)
        self.start_s = time.monotonic() - began
        self.expected_code, text = self.end_of(process, "the undisturbed run")
        if self.expected_code == 2:
            raise Refused(text)
        if self.expected_code not in (0, 1):
            raise Failure(f"the undisturbed run ends with {self.expected_code}: {text}")
        times = [line["unix_s"] for line in lines_of(self.journal())]
        self.work_s = times[-1] - times[0]
        return outcome(self.folder / "quiet")

    def wait_until_it_writes(self, process):
        """Also a resumed job has a journal of its own at once."""
        look = lambda: (self.journal().stat().st_ino, self.journal().stat().st_size) if self.journal().exists() else None
        before = look()
        self.wait_for(lambda: look() != before, process)

    def wait_for(self, condition, process):
        end = time.monotonic() + WAIT_LIMIT_S
        while process.poll() is None and not condition() and time.monotonic() < end:
            time.sleep(0.005)

    def journal(self):
        return self.folder / self.document["run"]["dir"] / "journal.jsonl"

    def disturbed(self):
        for job in self.plan:
            self.story.append(
                f"{job.misfortune or 'nothing'} at {'the end' if job.when == END else f'{job.when:.2f}'}, {job.trainers} "
                f"trainers ({job.world})"
            )
            process = self.launch(job)
            self.befall(process, job)
            code, text = self.end_of(process, "a job")
            self.story[-1] += f": exit {code}"
            if code == 2 and self.ordered and len(self.story) == 1:
                raise Refused(text)
            if code == 2:
                raise Failure(f"the run cannot be resumed: {text}")
            signalled = job.misfortune.startswith("SIG") and job.when >= 0 and job.world == "threads"
            if signalled and code not in (self.expected_code, 75, -signal.SIGKILL):
                raise Failure(f"exit {code} after a signal: {text}")
            if job.world == "recovery" and "the job goes on without it" in text and code != self.expected_code:
                raise Failure(f"exit {code} of a job that goes on without a trainer: {text}")
            if (
                not job.misfortune
                and code != self.expected_code
                and not (self.ordered and code == 1 and self.status() == "failed")
            ):
                raise Failure(f"nothing happened to the last job, but its exit code is {code}: {text}")
            if code == 0 and job.world == "threads" and self.status() != "finished":
                raise Failure(f"exit 0, but the status is {self.status()}: {text}")
            if code == self.expected_code and self.status() in ("finished", "failed"):
                break
        for arguments, asked in self.asked:
            self.end_of(asked, f"ctl {arguments}")

    def befall(self, process, job):
        if job.when >= 0:
            self.wait_until_it_writes(process)
        for wait_s, arguments in job.orders:
            if self.lives_for(process, wait_s):
                self.counts["orders"] += 1
                self.asked.append((arguments, self.start([BINARY, "ctl", "out", *arguments, "--timeout", "4"])))
        if job.misfortune and job.when == END:
            self.wait_for(lambda: self.journal().exists() and '"run_ended"' in self.journal().read_text()[-300:], process)
        wait_s = (
            0.03 * job.gap_s if job.when == END else self.work_s * job.when if job.when >= 0 else self.start_s * -job.when
        )
        if job.misfortune and self.lives_for(process, wait_s):
            self.strike(process, job)

    def strike(self, process, job):
        self.counts["kills"] += 1
        self.story[-1] += " (struck)"
        for part in job.misfortune.split(" and "):
            if part.startswith("SIG"):
                process.send_signal(getattr(signal, part))
                if "and" in job.misfortune and not self.lives_for(process, job.gap_s):
                    return
            elif part == "kill all":
                kill(each[0] for each in processes_of(process.pid))
            elif part == "kill the launcher":
                process.kill()
            else:
                ranks = [
                    pid
                    for pid, rank, _, _ in processes_of(process.pid)
                    if rank is not None and (rank > 0 or job.world != "recovery")
                ]
                kill(ranks and [self.draw.choice(ranks)])

    def lives_for(self, process, seconds):
        try:
            process.wait(timeout=seconds)
            return False
        except subprocess.TimeoutExpired:
            return True


def main():
    chaos_rounds.main(__doc__, Kind("random", Round), datasets, by="seconds", default=600)


if __name__ == "__main__":
    main()
