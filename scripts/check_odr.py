# SPDX-License-Identifier: Apache-2.0
"""Finds two types of one name in a program (the one-definition rule) from the sources alone, and two names of anonymous
namespaces in one module, which a jumbo build would compile together. Prints file:line. scripts/check_odr.py [ROOT]

A type counts if it stands in named namespaces only, outside other types and functions. A program of tests has the types of
src and of its folder of tests. scripts/check_odr.sh asks the compiler, which also sees what macros and templates make.
"""

import collections
import pathlib
import re
import sys

COMMENTS_AND_TEXTS = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![\w])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"(?:^|[\s>;])(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*)?(\w+(?:<.*?>)?)"
    r"(?:\s+final)?\s*(?::[^:].*)?$",
    re.DOTALL,
)
FUNCTION = re.compile(
    r"(?<![\w:~])(\w+)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))\s*(?:const|noexcept|->.*)?$", re.DOTALL
)
VARIABLE = re.compile(r"(?<![\w:])(?!const\b|noexcept\b)(\w+)\s*(?:\[[^\]]*\])?\s*=?$")
ASSIGNED = re.compile(r"(?!using\b|namespace\b)[^=(]*?(\w+)\s*(?:\[[^\]]*\])?\s*=")
ANONYMOUS = "(anonymous)"


def definitions(text):
    """(namespace path, name, offset) of each type, and of the functions and variables of anonymous namespaces."""
    text = COMMENTS_AND_TEXTS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    open_braces, begin = [], 0
    for brace in re.finditer(r"[{};]", text):
        head = text[begin : brace.start()]
        offset, begin = begin + len(head) - len(head.lstrip()), brace.end()
        head = head.strip()
        path = None if None in open_braces else tuple(open_braces)
        anonymous = path is not None and ANONYMOUS in path
        if brace[0] == "}":
            if open_braces:
                open_braces.pop()
        elif brace[0] == "{":
            namespace, kind = NAMESPACE.search(head), TYPE.search(head)
            if namespace:
                open_braces.append(namespace[1] or ANONYMOUS)
                continue
            open_braces.append(None)
            if path is None:
                continue
            if kind and not head.endswith(")"):
                yield path, kind[1], offset
            elif anonymous and (found := FUNCTION.search(head)):
                yield path, found[1] + re.sub(r"\s+\w+\s*(?=[,)])|\s+", "", found[2]), offset
            elif anonymous and (found := VARIABLE.search(head)):
                yield path, found[1], offset
        elif anonymous and (found := ASSIGNED.match(head)):  # an alias may stand in a module twice
            yield path, found[1], offset


def sources(folder):
    return [each for each in folder.rglob("*") if each.suffix in (".hpp", ".cpp", ".cu")]


def scan(root, files):
    """name -> places: of the types of the program, and of the anonymous names of the module."""
    types, anonymous = collections.defaultdict(dict), collections.defaultdict(dict)
    for file in sorted(files):
        text = file.read_text()
        for path, name, offset in definitions(text):
            place = f"{file.relative_to(root)}:{text.count(chr(10), 0, offset) + 1}"
            into = anonymous if ANONYMOUS in path else types
            into["::".join([*path, name])].setdefault(file, place)
    return types, anonymous


def linked(src, module):
    """The module, and the modules that it includes, directly or through others: what a program of its tests links."""
    found, new = set(), {module}
    while new:
        found |= new
        includes = (
            re.findall(r'^#include "(\w+)/', file.read_text(), re.MULTILINE) for name in new for file in sources(src / name)
        )
        new = {name for each in includes for name in each if (src / name).is_dir()} - found
    return found


def report(names, what):
    twice = 0
    for name, places in sorted(names.items()):
        first, *others = places.values()
        for place in others:
            print(f"{place}: {what} {name.replace(ANONYMOUS + '::', '')} is also in {first}")
            twice += 1
    return twice


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    src = root / "src"
    types, _ = scan(root, sources(src))
    broken = report(types, "type")
    for module in sorted(each for each in src.iterdir() if each.is_dir()):
        broken += report(
            scan(root, [each for each in sources(module) if each.suffix == ".cpp"])[1], "in anonymous namespaces,"
        )
    for folder in sorted(each for each in (root / "tests").glob("*/") if (src / each.name).is_dir()):
        modules = [src / name for name in linked(src, folder.name)]
        of_program, _ = scan(root, [file for each in [*modules, folder] for file in sources(each)])
        of_tests = {name: places for name, places in of_program.items() if any(folder in file.parents for file in places)}
        broken += report(of_tests, "type")
    print(f"odr: {len(types)} types, {broken} names twice")
    return 1 if broken or not types else 0


if __name__ == "__main__":
    sys.exit(main())
