"""Counts for scripts/house.sh: long functions, parameter lists, structs, headers and lines, and includes.

SPDX-License-Identifier: Apache-2.0
"""

import functools
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import lizard

LINES, PARAMETERS, FIELDS, HEADER_LINES, COLUMNS, DEPTH = 40, 5, 14, 150, 125, 9
HEADERS_P95 = 35  # own headers behind a source file

# "file function": why it may be longer, or have more parameters.
KNOWN = {
    "src/model/zoo/zoo.cpp table": "a table of data: one row for each model",
    "tests/fuzz/mutate.cpp odd_token": "a table of data: the tokens",
    "src/tensor/network/fused_norm.cpp forward": "torch's interface of an autograd function",
    "tests/search/repeated_test.cpp is": "lizard takes the lambdas and tests behind it for its body",
}
FOLDERS = ("src", "bench", "include", "tests", "examples")
CODE = re.compile(r"\.(cpp|hpp|cu|py)$")
TEXT = re.compile(r"(\.(cpp|hpp|cu|py|sh|cmake|md|js|css|html)|CMakeLists\.txt)$")
STRUCT = re.compile(r"\bstruct\s+([\w:]*)[^;{}()=]*\{")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
FUNCTION_BODY = re.compile(r"\)[\w\s]*(:[^;@]*)?@")  # of a method, or of a constructor with its initialisers
NO_FIELDS = re.compile(r"(using|static|friend|template|typedef|enum)\b|(struct|class|union)\b[^@]*@?$")
PHRASES = re.compile(  # that betray a translation
    r"(?<!here )\b(?:is|are) no (?!longer|more|less|fewer|later|earlier|better|worse|faster|slower|larger|smaller|shorter)"
    r"|\bso (?:many|much)\b(?! that)|\bof then\b|\b(?:some|no)body\b|\bwhat is no\b|\banother (?:\w+ )?\w+ than\b",
    re.IGNORECASE,
)
QUOTED = re.compile(  # texts that are hashed into stored results
    r"experiments/(\w+/figure|job|links|searches)\.py|docs/results\.md|scripts/house_numbers\.py"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def repository_files():
    if shutil.which("git"):
        asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(asked, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return [name for name in listed.stdout.splitlines() if Path(name).is_file()]
    return [str(path) for path in Path().rglob("*") if path.is_file() and not path.parts[0].startswith((".", "build"))]


def functions(files):
    """Long functions and long parameter lists. A method's `self` does not count as a parameter."""
    long, wide = [], []
    for info in lizard.analyze_files(files, threads=1, exts=lizard.get_extensions([])):
        for function in info.function_list:
            name = function.name.split("::")[-1]
            if f"{info.filename} {name}" in KNOWN:
                continue
            place = f"{info.filename}:{function.start_line}: {name}"
            parameters = function.full_parameters
            count = len(parameters) - (1 if parameters and parameters[0].strip() in ("self", "cls") else 0)
            if function.length > LINES:
                long.append(f"{place} has {function.length} lines")
            if count > PARAMETERS:
                wide.append(f"{place} has {count} parameters")
    return long, wide


def without(text, opening, closing, mark=""):
    """Without what stands between these, and them; inner pairs first."""
    pair = re.compile(f"[{opening}][^{opening}{closing}]*[{closing}]")
    while (shorter := pair.sub(mark, text)) != text:
        text = shorter
    return text


def body_from(text, start):
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


def field_count(body):
    """Of a struct's own, not those of the structs inside. A body or initialiser in braces counts as one sign."""
    count = 0
    for statement in FUNCTION_BODY.sub("();", without(body, "{", "}", "@")).split(";"):
        text = without(re.sub(r"\b(public|private|protected):", "", statement), "<", ">").strip()
        if text and not NO_FIELDS.match(text) and "(" not in text.split("=")[0]:
            count += 1 + without(text, "(", ")").count(",")
    return count


def wide_structs(files):
    found = []
    for name in files:
        if not name.endswith((".hpp", ".cpp")):
            continue
        text = COMMENT_OR_TEXT.sub(lambda it: '""' if it[0].startswith('"') else "", Path(name).read_text(encoding="utf-8"))
        for struct in STRUCT.finditer(text):
            count = field_count(body_from(text, struct.end()))
            if count > FIELDS:
                line = text.count("\n", 0, struct.start()) + 1
                found.append(f"{name}:{line}: {struct[1]} has {count} fields")
    return found


def long_headers(files):
    counts = ((name, len(Path(name).read_text(encoding="utf-8").splitlines())) for name in files if name.endswith(".hpp"))
    return [f"{name}: {count} lines" for name, count in counts if count > HEADER_LINES]


def long_lines(files):
    found = []
    for name in files:
        for number, line in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS:
                found.append(f"{name}:{number}: {len(line)} columns")
    return found


class Includes:
    """Own headers behind a file of src, and the longest chain of includes down to one."""

    def __init__(self, files):
        self.direct = {}
        for name in files:
            text = Path(name).read_text(encoding="utf-8")
            self.direct[name] = [f"src/{header}" for header in INCLUDE.findall(text) if Path(f"src/{header}").is_file()]

    @functools.cache
    def behind(self, name):
        direct = self.direct.get(name, [])
        return frozenset(direct).union(*(self.behind(header) for header in direct))

    @functools.cache
    def depth(self, name):
        return max((1 + self.depth(header) for header in self.direct.get(name, [])), default=0)


def phrases(files):
    found = []
    for name in files:
        if QUOTED.fullmatch(name):
            continue
        for number, line in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1):
            if phrase := PHRASES.search(line):
                found.append(f'{name}:{number}: "{phrase[0]}"')
    return found


def report(what, found, goal="0"):
    print(f"{what:<44} {len(found):>5}   (bar {goal})")
    for line in found:
        print(f"    {line}")
    return not found


def report_includes(files):
    includes = Includes([name for name in files if name.startswith("src/")])
    sources = sorted(name for name in includes.direct if name.endswith((".cpp", ".cu")))
    counts = [len(includes.behind(name)) for name in sources]
    p95 = int(statistics.quantiles(counts, n=20, method="inclusive")[-1])
    deepest = max(sources, key=includes.depth)
    print(f"{'own headers per source file, p95':<44} {p95:>5}   (bar {HEADERS_P95})")
    if p95 > HEADERS_P95:
        for name in sorted(sources, key=lambda each: -len(includes.behind(each)))[: len(sources) // 20]:
            print(f"    {name}: {len(includes.behind(name))} own headers")
    print(f"{'include depth, largest':<44} {includes.depth(deepest):>5}   (bar {DEPTH}; {deepest})")
    return p95 <= HEADERS_P95 and includes.depth(deepest) <= DEPTH


def main():
    files = repository_files()
    code = [name for name in files if name.startswith(FOLDERS) and CODE.search(name)]
    long, wide = functions(code)
    kept = [
        report(f"functions over {LINES} lines", long),
        report(f"functions with over {PARAMETERS} parameters", wide),
        report(f"structs with over {FIELDS} fields", wide_structs([name for name in code if name.startswith("src/")])),
        report(f"headers over {HEADER_LINES} lines", long_headers(code)),
        report(f"lines over {COLUMNS} columns", long_lines([name for name in files if TEXT.search(name)])),
        report("phrases that betray a translation", phrases([name for name in files if TEXT.search(name)])),
        report_includes(code),
    ]
    print("excepted: " + "; ".join(f"{name} ({why})" for name, why in KNOWN.items()))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
