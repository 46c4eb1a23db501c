# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md quotes messages. Each must still be a text of the source. The page must have each error that ends
a job with exit code 75, and each message that says neither why nor what to do."""

import re
import unittest

from harness import SOURCE

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"//[^\n]*|R\"\((?P<raw>.*?)\)\"|'(?:\\.|[^'\\])'|(?P<texts>{LITERAL}(?:\s*{LITERAL})*)", re.DOTALL)
RESUMABLE = re.compile(r"\b(?:CommError|IoError)\(\s*(?:fmt::format\(\s*)?")
REFUSAL = re.compile(r"(?:\b(?:ConfigError|DataError|(?<![A-Za-z])Error)|\bproblems_?\.add)\(")
# Defects of ours, which end with file and line, and faults on purpose.
DEFECTS = [
    "a task without a loss of its own",
    "fault on purpose at ...",
    "a loss without targets",
    'strategy "..." has no estimate of its cost',
    'strategy "..." has no maker',
    "the snapshot of trial ..., epoch ... is not on trainer ...",
]
# Texts of the threads' world for its own ranks: the first error of the job is the one that a user sees.
INSIDE = [
    "the job goes on without this rank",
    "the job was aborted",
    "the job was aborted by another rank",
    "... (a fault on purpose at ...)",
]


def plain(text):
    """A message as the page writes it: `...` for what is filled in."""
    text = re.sub(r"\{[^{}]*\}", "...", text)
    return " ".join(text.replace("\\n", " ").replace("\\", "").split())


def texts_of(source):
    """(place, text) of all literals; those side by side are one."""
    for token in TOKEN.finditer(source):
        if token["raw"] is not None:
            yield token.start(), plain(token["raw"])
        elif token["texts"]:
            yield token.start(), plain("".join(part[1:-1] for part in re.findall(LITERAL, token["texts"])))


def call_end(source, start):
    """Of the call whose bracket opens at start."""
    depth = 0
    for token in re.compile(rf"{LITERAL}|'(?:\\.|[^'\\])'|[()]").finditer(source, start):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return token.start()
    return len(source)


def is_in(message, text):
    """An ellipsis on the page may stand for a longer part of the message that has something filled in, too."""
    gap = r"(?:.*?\.\.\..*?)"
    return re.search(gap.join(re.escape(part) for part in message.strip(". ").split("...")), text) is not None


class Troubleshooting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page = (SOURCE / "docs/troubleshooting.md").read_text()
        files = page.split("## Exit code 2: damaged or foreign files")[1].split("\n## ")[0]
        cells = re.findall(r"^\| (`.*?`) \|", page.replace(files, ""), re.MULTILINE)
        cells += re.findall(r"^\|[^|]*\| (`.*?`) \|$", files, re.MULTILINE)
        below = re.findall(r"in vain: (.*?)\.\n", page, re.DOTALL)
        cls.quoted = [plain(quote) for cell in cells + below for quote in re.findall(r"`([^`]+)`", cell)]
        sources = [path for folder in ("src", "bench") for path in sorted((SOURCE / folder).rglob("*.[ch]pp"))]
        cls.files = {path: path.read_text() for path in sources}

    def test_messages_are_in_the_source(self):
        texts = {text for source in self.files.values() for _, text in texts_of(source)}
        self.assertGreater(len(self.quoted), 80)
        gone = [quote for quote in self.quoted if not any(is_in(quote, text) for text in texts)]
        self.assertEqual(gone, [], "docs/troubleshooting.md quotes these, and no text of src/ has them")

    def test_every_message_of_exit_75_is_on_the_page(self):
        missing, seen = [], 0
        for path, source in self.files.items():
            texts = dict(texts_of(source))
            for error in RESUMABLE.finditer(source):
                text = texts.get(error.end())
                if text is None or text in INSIDE:
                    continue
                seen += 1
                if not any(is_in(quote, text) for quote in self.quoted):
                    missing.append(f"{path.relative_to(SOURCE)}: {text}")
        self.assertGreater(seen, 25)
        self.assertEqual(missing, [], "docs/troubleshooting.md does not have these")

    def test_every_message_says_why_or_what_to_do(self):
        """Or the page does."""
        missing, seen = [], 0
        for path, source in self.files.items():
            texts = [(place, text) for place, text in texts_of(source) if " " in text]
            for call in REFUSAL.finditer(source):
                end = call_end(source, call.end() - 1)
                said = [text for place, text in texts if call.end() <= place < end]
                if not said or not re.search("[a-z]", said[0].removeprefix("--resume")) or said[0] in DEFECTS:
                    continue  # no text of its own: another message is passed on
                seen += 1
                if not re.search("[(;]", " ".join(said)) and not any(is_in(quote, said[0]) for quote in self.quoted):
                    missing.append(f"{path.relative_to(SOURCE)}: {said[0]}")
        self.assertGreater(seen, 350)
        self.assertEqual(missing, [], "add (why) or ; a suggestion, or a row of docs/troubleshooting.md")


if __name__ == "__main__":
    unittest.main()
