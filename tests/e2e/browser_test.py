# SPDX-License-Identifier: Apache-2.0
"""report.html in a real browser, without a window: nothing is wider than the page, the browser has nothing to complain
about, no request leaves the file, and what moves by script does so. Needs Chromium (apt-get install chromium)."""

import functools
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
LIGHT, DARK = "--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"

# The browser refuses, and says so on its console, whatever the page asks for besides itself.
ALONE = """<head><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">"""
# Behind the page's own script: uses the page as a person does, then says in the title what is wrong.
VISIT = """<script>
const wrong = [], section = id => document.getElementById(id);
const expect = (words, holds) => { if (!holds) wrong.push(words); };
const click = (element, words) => { expect('no ' + words, element); if (element) element.click(); };
expect('wider than the page: ' + document.documentElement.scrollWidth,
       document.documentElement.scrollWidth <= document.documentElement.clientWidth);
const head = section('leaderboard').querySelector('thead th');
click(head, 'head to sort by');
expect('not sorted', head.getAttribute('aria-sort'));
const filter = section('leaderboard').querySelector('input.filter');
filter.value = 'nothing has this name';
filter.dispatchEvent(new Event('input'));
expect('not filtered', all(section('leaderboard'), 'tbody tr').every(row => row.classList.contains('gone')));
const chosen = () => section('trial').querySelector('.chosen-trial');
const mark = all(section('history'), '[data-t]').find(each => chosen().querySelector('h3').textContent !== `Trial ${each.dataset.t}`);
mark.dispatchEvent(new MouseEvent('click', {bubbles: true}));
expect('not the trial that was clicked', chosen().querySelector('h3').textContent === `Trial ${mark.dataset.t}`);
expect('no curves', all(chosen(), 'svg path.front, svg circle').length > 1);
const time = section('timeline').querySelector('svg.timeline');
const texts = () => all(time, '.ticks text').map(t => t.textContent);
const places = () => all(time, '.ticks text').map(t => +t.getAttribute('x'));
const scale = () => +time.querySelector('.marks').getAttribute('transform').slice(7).split(' ')[0];
const twice = () => Math.abs(scale() - 2) < 1e-6, first = texts();
const press = zoom => click(section('timeline').querySelector('[data-zoom="' + zoom + '"]'), 'button');
press('0.5');
expect('not zoomed: ' + scale(), twice());
expect('ticks as before: ' + texts(), texts().join() !== first.join() && texts().length > 2 && texts().length < 14);
expect('ticks beside the picture: ' + places(), places().every(x => x >= 79.9 && x <= 840.1));
const middle = texts();
section('timeline').querySelector('[data-move="-0.5"]').click();
expect('not moved: ' + scale(), twice() && texts().join() !== middle.join());
const rows = time.getBoundingClientRect();
const drag = (kind, share) => time.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerId: 1, button: 0,
    clientX: rows.left + rows.width * share, clientY: rows.top + rows.height / 3}));
time.setPointerCapture = () => {};
drag('pointerdown', 0.3); drag('pointermove', 0.5); drag('pointerup', 0.5);
expect('not zoomed by dragging: ' + scale(), scale() > 6 && scale() < 12 && !time.querySelector('.chosen'));
press('all');
expect('not as before', texts().join() === first.join());
document.title = 'visited: ' + JSON.stringify(wrong);
</script></body>"""


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

    def visit(self, page, *options):
        visited = page.with_name("visited.html")
        text = page.read_text()
        self.assertEqual((text.count("<head>"), text.count("</body>")), (1, 1))
        visited.write_text(text.replace("<head>", ALONE).replace("</body>", VISIT))
        out, complaints = look(visited, self.cwd, *options)
        self.assertEqual(complaints, [])
        title = re.search(r"<title>(.*?)</title>", out, re.DOTALL)
        self.assertTrue(title and title[1].startswith("visited: "), out[:300])
        self.assertEqual(json.loads(title[1].partition(": ")[2]), [])

    def test_a_grid(self):
        run = {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.05}
        space = {"train.optimizer.lr": [0.03, 0.1], "model.hidden": [[8], [16]]}
        page = self.page(run=run, space=space, train={"epochs": 6, "batch_size": 32, "optimizer": {"name": "sgd"}})
        self.visit(page, "--window-size=1400,900", LIGHT)
        self.visit(page, "--window-size=400,900", DARK)

    def test_a_population_with_repeats(self):
        search = {"procedure": "pbt", "population": 6, "interval": 1, "metric": "val_loss", "sampler": "random"}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.3, "log": True}}
        train = {"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd"}}
        self.visit(self.page(search=search, space=space, train=train), "--window-size=1400,900", LIGHT)
