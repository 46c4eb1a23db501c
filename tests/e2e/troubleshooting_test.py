# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md quotes messages. Each must still be a text of the source, and each error that ends a job with
exit code 75 must be on the page."""

import re
import unittest

from harness import SOURCE

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"//[^\n]*|R\"\((?P<raw>.*?)\)\"|'(?:\\.|[^'\\])'|(?P<texts>{LITERAL}(?:\s*{LITERAL})*)", re.DOTALL)
RESUMABLE = re.compile(r"\b(?:CommError|IoError)\(\s*(?:fmt::format\(\s*)?")
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


def is_in(message, text):
    """An ellipsis on the page may stand for a longer part of the message that has something filled in, too."""
    gap = r"(?:.*?\.\.\..*?)"
    return re.search(gap.join(re.escape(part) for part in message.strip(". ").split("...")), text) is not None


class Troubleshooting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page = (SOURCE / "docs/troubleshooting.md").read_text()
        cells = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
        below = re.findall(r"in vain: (.*?)\.\n", page, re.DOTALL)
        cls.quoted = [plain(quote) for cell in cells + below for quote in re.findall(r"`([^`]+)`", cell)]
        cls.files = {path: path.read_text() for path in sorted((SOURCE / "src").rglob("*.[ch]pp"))}

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


if __name__ == "__main__":
    unittest.main()
