# SPDX-License-Identifier: Apache-2.0
"""`hopscotch completion` in real shells, and the manual page: both know every command and option of --help."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from harness import BINARY, Case
from limits import WAIT_LIMIT_S

ASK = """
source ./completion.bash || exit 9
compopt() { :; }  # only known while Tab is pressed
IFS=$'\\n' read -rd '' -a COMP_WORDS < words
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
[[ ${COMP_WORDS[COMP_CWORD]} == '<nothing>' ]] && COMP_WORDS[COMP_CWORD]=''
_hopscotch
printf '%s\\n' "${COMPREPLY[@]}"
"""


def commands_of(text):
    """The words below "Subcommands:" or "Commands:" in a --help."""
    found = re.search(r"^(?:Subcommands|Commands):\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", found[1], re.MULTILINE) if found else []


def options_of(text):
    return {name for line in re.findall(r"^  (-\S+)", text, re.MULTILINE) for name in re.findall(r"--?[a-z][a-z-]*", line)}


def helps(words=()):
    """(words, --help) of every command."""
    text = subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True, check=True).stdout
    yield words, text
    for name in commands_of(text):
        yield from helps((*words, name))


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, argv, cwd):
        env = {**os.environ, "TERM": "dumb", "HOME": str(cwd), "ZDOTDIR": str(cwd), "PS1": "> "}
        env["PATH"] = f"{pathlib.Path(BINARY).parent}:{env['PATH']}"
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text):
        seen, until = "", time.monotonic() + WAIT_LIMIT_S
        while text not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} in {seen!r}")
            seen += os.read(self.terminal, 4096).decode(errors="replace")
        return seen

    def close(self):
        os.close(self.terminal)  # the shell hears that its terminal is gone
        os.waitpid(self.pid, 0)


class Completion(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scripts = {
            name: subprocess.run([BINARY, *name.split()], capture_output=True, text=True, check=True).stdout
            for name in ("completion bash", "completion zsh", "man")
        }
        cls.helps = dict(helps())

    def setUp(self):
        super().setUp()
        (self.cwd / "completion.bash").write_text(self.scripts["completion bash"])
        (self.cwd / "completion.zsh").write_text(self.scripts["completion zsh"])
        (self.cwd / "a folder").mkdir()
        (self.cwd / "experiment one.json").touch()

    def ask(self, *words):
        """What bash offers for the last word; words as bash cuts them."""
        (self.cwd / "words").write_text("\n".join(["hopscotch", *(word or "<nothing>" for word in words)]))
        done = subprocess.run(["bash", "-c", ASK], cwd=self.cwd, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.split("\n") if line]

    def test_every_command_and_option(self):
        self.assertGreater(len(self.helps), 20)
        for words, text in self.helps.items():
            with self.subTest(words=words):
                self.assertEqual(self.ask(*words, "") if commands_of(text) else [], commands_of(text))
                self.assertEqual(set(self.ask(*words, "-")), options_of(text))
                path = f"hopscotch {' '.join(words)}".strip()
                zsh = re.search(
                    rf"^_{path.replace(' ', '_')}\(\) {{\n(.*?)^}}", self.scripts["completion zsh"], re.M | re.S
                )[1]
                self.assertEqual(set(re.findall(r"^        '\*?(-[a-z-]+)", zsh, re.M)), options_of(text))
                if not commands_of(text):
                    self.assertIn(f".SS {path}\n".replace("-", "\\-"), self.scripts["man"])

    def test_values(self):
        self.assertEqual(self.ask("run", "exp"), ["experiment one.json"])
        self.assertEqual(self.ask("report", "a"), ["a folder"])
        self.assertEqual(self.ask("report", "runs/1", "a"), ["a folder"])
        self.assertEqual(
            self.ask("run", "x.json", "--set", "train.optimizer.l"), ["train.optimizer.lr=", "train.optimizer.lr_decay="]
        )
        self.assertEqual(self.ask("run", "x.json", "--set", "train.epochs", "=", "3", "--stra"), ["--strategy"])
        self.assertEqual(sorted(self.ask("run", "--strategy", "mo")), ["model_averaging", "mop"])
        self.assertEqual(sorted(self.ask("run", "--strategy", "=", "mo")), ["model_averaging", "mop"])
        self.assertEqual(self.ask("data", "import", "csv", "--missing", "d"), ["drop"])
        self.assertEqual(self.ask("ctl", "runs/1", "st"), ["status", "stop"])
        self.assertEqual(self.ask("models", "resnet1"), ["resnet18"])
        self.assertEqual(self.ask("models", "mlp", ""), [])

    def press_tab(self, shell):
        try:
            shell.wait_for("ready\r\n")
            shell.type("hopscotch repl\t")
            shell.wait_for("replay ")
            shell.type("a\t")
            shell.wait_for("a\\ folder")
            shell.type("\x15hopscotch run experiment\t")
            shell.wait_for("experiment\\ one.json")
            shell.type(" --set train.ep\t")
            shell.wait_for("train.epochs=")
        finally:
            shell.close()

    def test_tab_in_bash(self):
        shell = Shell(["bash", "--norc", "--noprofile", "-i"], self.cwd)
        shell.type("source ./completion.bash; echo read''y\n")
        self.press_tab(shell)

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_tab_in_zsh(self):
        shell = Shell(["zsh", "-f", "-i"], self.cwd)
        shell.type("autoload -U compinit; compinit -u -D; source ./completion.zsh; echo read''y\n")
        self.press_tab(shell)

    def test_manual(self):
        page = self.scripts["man"]
        sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "FILES", "ENVIRONMENT"]
        self.assertEqual(re.findall(r"^\.SH (.*)$", page, re.M), sections)
        self.assertFalse([line for line in page.splitlines() if line.startswith("'")])
        (self.cwd / "hopscotch.1").write_text(page)
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-ww", "-Tutf8", "hopscotch.1"], cwd=self.cwd, capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        if shutil.which("mandoc"):
            done = subprocess.run(
                ["mandoc", "-Tlint", "-Wwarning", "hopscotch.1"], cwd=self.cwd, capture_output=True, text=True
            )
            self.assertEqual([line for line in done.stdout.splitlines() if "missing date" not in line], [])


if __name__ == "__main__":
    unittest.main()
