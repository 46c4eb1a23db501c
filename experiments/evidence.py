"""For scripts/evidence.sh: measures figures, checks their claims, draws them, and writes docs/results.md.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import datetime
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import page  # noqa: E402
from chart import draw  # noqa: E402
from job import SOURCE, Job, Missing  # noqa: E402
from reasons import REASONS  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RESULTS, PICTURES, PAGE = HERE / "results", SOURCE / "docs/results", SOURCE / "docs/results.md"
WRITTEN = ("experiments/results", "docs/results", "docs/results.md", "README.md", "CHANGELOG.md")  # measure nothing


def figures():
    """By name, in the order of the page."""
    out = {}
    for name in page.ORDER:
        spec = importlib.util.spec_from_file_location(f"figure_{name}", HERE / name / "figure.py")
        out[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(out[name])
    return out


def git(*words):
    done = subprocess.run(["git", "-C", str(SOURCE), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    """The last one that changed more than results; with + if files differ from it. Without git: the version."""
    others = ["--", ".", *(f":!{path}" for path in WRITTEN)]
    return (git("log", "-1", "--format=%h", *others) or "no git") + ("+" if git("status", "--porcelain", *others) else "")


def machine():
    model = platform.machine()
    try:
        found = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = found[0].partition(":")[2].strip() if found else model
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} cores of {model}"


def script_of(name):
    """Changes with the figure's script and the modules that it names in USES: results of another script are stale."""
    files = [HERE / name / "figure.py", *(HERE / module for module in getattr(figures()[name], "USES", ()))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def result_of(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def replace(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".tmp")
    fresh.write_text(content)
    os.replace(fresh, path)


def checked(name, figure, data):
    """The statements of a figure, as the data have them now; of those that do not hold the reasons that are known."""
    claims = json.loads(json.dumps(list(figure.claims(data))))
    for each in claims:
        if not each["holds"] and "why" not in each and (why := REASONS.get(name, {}).get(each["claim"])):
            each["why"] = why
    return claims


def measure(name, figure, options):
    origin = {"machine": machine(), "commit": commit(), "script": script_of(name)}
    key = hashlib.sha256(json.dumps(origin).encode()).hexdigest()[:12]
    job = Job(pathlib.Path(options.work) / f"{name}-{key}", "full", options.build)
    if options.again:
        job.forget()
    data = json.loads(json.dumps(figure.measure(job)))
    done = {"date": datetime.date.today().isoformat(), "seconds": round(job.seconds(), 1)}
    return {"name": name, **origin, **done, "claims": checked(name, figure, data), "data": data}


def up_to_date(name):
    result = result_of(name)
    wanted = {"machine": machine(), "commit": commit(), "script": script_of(name)}
    return result is not None and all(result[key] == value for key, value in wanted.items()) and "+" not in wanted["commit"]


def outputs():
    """What follows from the results: {path: content}."""
    known = figures()
    results = {name: result for name in known if (result := result_of(name))}
    out = {PICTURES / f"{name}.svg": draw(known[name].chart(result["data"])) for name, result in results.items()}
    missing = {name: figure for name, figure in known.items() if name not in results and hasattr(figure, "NEEDS")}
    out[PAGE] = page.write({name: (known[name], result) for name, result in results.items()}, missing)
    return out


def make(options):
    known, skipped = figures(), 0
    for name in options.names or known:
        if not options.again and up_to_date(name):
            print(f"{name}: up to date", flush=True)
            continue
        print(f"{name}: about {known[name].MINUTES} min", flush=True)
        try:
            result = measure(name, known[name], options)
        except Missing as why:
            print(f"    skipped: {why}")
            skipped += name in options.names
            continue
        replace(RESULTS / f"{name}.json", json.dumps(result, indent=1) + "\n")
        for each in result["claims"]:
            print(f"    {'holds' if each['holds'] else 'DOES NOT HOLD'}: {each['claim']}")
    draw_all()
    return 1 if skipped else 0


def draw_all():
    for name, figure in figures().items():
        result = result_of(name)
        if result and result["claims"] != (claims := checked(name, figure, result["data"])):
            replace(RESULTS / f"{name}.json", json.dumps({**result, "claims": claims}, indent=1) + "\n")
    for path, content in outputs().items():
        replace(path, content)


def check():
    """What is stale: pages and pictures that do not follow from the results, and results of another script."""
    known, bad = figures(), []
    for path, content in outputs().items():
        if not path.exists() or path.read_text() != content:
            bad.append(
                f"{path.relative_to(SOURCE)} does not follow from experiments/results; run scripts/evidence.sh --draw"
            )
    for name in known:
        result = result_of(name)
        if result is None and hasattr(known[name], "NEEDS"):
            continue  # the page says so
        if result is None:
            bad.append(f"experiments/results/{name}.json is missing; run scripts/evidence.sh {name}")
        elif result["script"] != script_of(name):
            bad.append(f"experiments/results/{name}.json is of another figure.py; run scripts/evidence.sh {name}")
        elif result["claims"] != checked(name, known[name], result["data"]):
            bad.append(f"experiments/results/{name}.json has claims that do not follow from its data")
    print("\n".join(bad) or "docs/results.md follows from the results")
    return 1 if bad else 0


def short(options):
    """Small sizes, for tests: every claim must hold, except those that do not hold in the results either."""
    failed = []
    for name in options.names:
        figure = figures()[name]
        with tempfile.TemporaryDirectory(prefix="hopscotch-evidence-") as folder:
            data = json.loads(json.dumps(figure.measure(Job(folder, "short", options.build))))
        known = {each["claim"] for each in (result_of(name) or {"claims": []})["claims"] if not each["holds"]}
        for each in checked(name, figure, data):
            print(f"{name}: {'holds' if each['holds'] else 'DOES NOT HOLD'}: {each['claim']} {each['numbers']}")
            failed += [] if each["holds"] or each["claim"] in known else [each["claim"]]
        draw(figure.chart(data))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/evidence.sh", description="Measures the figures of docs/results.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures (default: all)")
    parser.add_argument("--list", action="store_true", help="list the figures, and which results are up to date")
    parser.add_argument("--again", action="store_true", help="measure also what is up to date")
    parser.add_argument("--draw", action="store_true", help="only draw docs/results again, from experiments/results")
    parser.add_argument("--check", action="store_true", help="exit code 1 if docs/results is stale")
    parser.add_argument("--short", action="store_true", help="small sizes, nothing is written: for tests")
    parser.add_argument("--build", default=str(SOURCE / "build"), help="the folder of the programs (default: build)")
    parser.add_argument("--work", default=str(SOURCE / "runs/evidence"), help="where figures work (default: runs/evidence)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in page.ORDER]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such figure (known: {', '.join(page.ORDER)})")
    if options.list:
        for name, figure in figures().items():
            print(
                f"{name:<20} {figure.MINUTES:>3} min  {'up to date' if up_to_date(name) else 'to measure':<11} {figure.ASKS}"
            )
        return 0
    if options.draw:
        return draw_all() or 0
    if options.check:
        return check()
    return short(options) if options.short else make(options)


if __name__ == "__main__":
    sys.exit(main())
