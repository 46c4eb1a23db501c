# SPDX-License-Identifier: Apache-2.0
"""report.html in a real browser, without a window: nothing is wider than the page, the browser has nothing to complain
about, no request leaves the file, and what moves by script does so. Needs Chromium (apt-get install chromium)."""

import functools
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import Case, experiment
from limits import RUN_LIMIT_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
)
DRAWN = ["history", "curves", "trial", "metrics", "errors", "timeline", "idle"]
LIGHT, DARK = "--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"

# The browser refuses, and says so on its console, whatever the page asks for besides itself.
ALONE = """<head><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">"""
# Behind the page's own script: uses the page as a person does, then says in the title what is wrong.
VISIT = (pathlib.Path(__file__).parent / "report_visit.js").read_text()


@functools.cache
def browser_is_usable():
    if CHROMIUM is None:
        return False
    with tempfile.TemporaryDirectory(prefix="hopscotch-browser-") as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text("<title>a page</title>")
        return "a page" in look(page, folder)[0]


def look(page, folder, *options):
    """What the document has become when it has settled, and what the browser's console has."""
    command = [
        CHROMIUM,
        *QUIET,
        *options,
        f"--user-data-dir={folder}/profile",
        "--enable-logging=stderr",
        "--virtual-time-budget=1000",
        "--dump-dom",
        page.as_uri(),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "", []
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)


@unittest.skipUnless(browser_is_usable(), "needs a Chromium that works (apt-get install chromium)")
class Browser(Case):
    shards = 4

    def page(self, **sections):
        self.write(experiment(**sections))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--overwrite", "--trainers", "2")
        self.assertEqual(code, 0, out + err)
        return self.cwd / "out/report.html"

    def visit(self, page, sections, *options):
        """sections: what the script has drawn, beside sentences and tables."""
        visited = page.with_name("visited.html")
        text = page.read_text()
        self.assertEqual((text.count("<head>"), text.count("</body>")), (1, 1))
        script = f"<script>\nconst SECTIONS_EXPECTED = {json.dumps(sections)};\n{VISIT}</script></body>"
        visited.write_text(text.replace("<head>", ALONE).replace("</body>", script))
        out, complaints = look(visited, self.cwd, *options)
        self.assertEqual(complaints, [])
        title = re.search(r"<title>(.*?)</title>", out, re.DOTALL)
        self.assertTrue(title and title[1].startswith("visited: "), out[:300])
        self.assertEqual(json.loads(html.unescape(title[1].partition(": ")[2])), [])

    def test_a_grid(self):
        run = {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.05}
        space = {"train.optimizer.lr": [0.03, 0.1], "model.hidden": [[8], [16]]}
        page = self.page(run=run, space=space, train={"epochs": 6, "batch_size": 32, "optimizer": {"name": "sgd"}})
        sections = [*DRAWN, "parallel", "importance", "slices"]
        self.visit(page, sections, "--window-size=1400,900", LIGHT)
        self.visit(page, sections, "--window-size=400,900", DARK)

    def test_a_population(self):
        search = {"procedure": "pbt", "population": 6, "interval": 1, "metric": "val_loss", "sampler": "random"}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.3, "log": True}}
        train = {"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd"}}
        page = self.page(search=search, space=space, train=train)
        self.visit(page, [*DRAWN, "parallel", "slices", "family"], "--window-size=1400,900", LIGHT)

    def test_rungs(self):
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.3, "log": True}}
        train = {"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd"}}
        page = self.page(search={"procedure": "asha", "trials": 9, "eta": 2}, space=space, train=train)
        self.visit(page, [*DRAWN, "parallel", "slices", "rungs"], "--window-size=1400,900", DARK)

    def test_a_front(self):
        search = {"procedure": "random", "trials": 27, "pareto": ["val_accuracy", "parameters"]}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.3, "log": True}, "model.hidden": [[8], [16]]}
        page = self.page(search=search, space=space)
        self.visit(page, [*DRAWN, "parallel", "slices", "pareto"], "--window-size=1400,900", LIGHT)

    def test_copies_and_trials_that_diverge(self):
        page = self.page(search={"procedure": "grid", "repeats": 3}, space={"train.optimizer.lr": [0.03, 0.1, 1e30]})
        self.visit(page, [*DRAWN, "parallel", "slices"], "--window-size=1400,900", LIGHT)

    def test_a_comparison(self):
        for folder in ("a", "b"):
            self.page(run={"dir": folder, "device": "cpu"}, space={"train.optimizer.lr": [0.03, 0.1]})
        code, out, err = self.run_hopscotch("report", "a", "b", "--out", "both.html")
        self.assertEqual(code, 0, out + err)
        visited = self.cwd / "visited.html"
        visited.write_text((self.cwd / "both.html").read_text().replace("<head>", ALONE))
        out, complaints = look(visited, self.cwd)
        self.assertEqual(complaints, [])
        for part in ('aria-label="best so far of each run', 'id="run0-curves"', 'id="run1-timeline"'):
            self.assertEqual(out.count(part), 1, part)
