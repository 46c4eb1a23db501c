# SPDX-License-Identifier: Apache-2.0
"""`hopscotch schema` against the reader: what the schema refuses, the reader refuses; where the reader alone refuses, the
reason is a rule between several keys, or one that a schema cannot say."""

import copy
import json
import os
import pathlib
import random
import re
import subprocess
import unittest

from harness import BINARY, SOURCE

try:
    import fastjsonschema
except ImportError:
    fastjsonschema = None

# Rules of the reader that the schema does not have, by the words of their messages.
STRICTER = [
    r"needs (momentum|init_from|deterministic|\"batch\"|strategy\.group_size|\"above\")",  # one key needs another
    r"^/search/trials: missing",  # unless the budget or a list ends the search
    r"^/search/patience|^/search/(min|max)_epochs: must be at most",
    r"^/search/(repeats|folds): (cannot be more|repeats x folds)",
    r"^/space: (is empty|belongs to other procedures|has nothing to leave out|searches \d+ keys)",
    r"^/search/configurations: (is empty|missing)",
    r"^/space/[^:]*: has no number of points",  # a grid in a real range
    r"^/space/[^:]*/count: belongs to grid",
    r"^/space/[^:]*/(high|low|step|count): (must be|step and|count and)",
    r"^/space/[^:]*: ",  # values and paths of the space are tried in the document itself
    r"^/search/(start_with|forbid|configurations)/",  # likewise
    r"expected an integer \(got a number\)",  # 3.0 is an integer for a schema
    r"element \d+ must be an integer \(got a number\)",
    r"^/data/augment/\d+: unknown value",  # a name alone
    r"^/run/inject: ",
    r"^/strategy/(owners|policy): ",  # in groups of trainers
    r"must ascend",
    r"out of range",
]


def configs():
    return {path.name: path.read_text() for path in sorted((SOURCE / "configs").glob("*.json"))}


def objects_of(value, path=()):
    if isinstance(value, dict):
        yield path, value
        for key, each in value.items():
            yield from objects_of(each, (*path, key))


class Mutations:
    STRANGE = [None, True, -1, 0, 0.5, 3, 1e9, "", "adam", "auto", [], [1], ["flip"], {}, {"name": "sgd"}]

    def __init__(self, schema, documents):
        self.rng = random.Random(20)
        self.documents = documents
        self.words = sorted({each for _, each in self._keys(schema)})
        self.names = sorted({word for each in schema["definitions"].values() for word in each.get("enum", [])}, key=str)

    def _keys(self, schema):
        for name in schema["definitions"]:
            if not name.startswith("space."):
                yield name, re.sub(r"\.\d+$", "", name).split(".")[-1]

    def one(self):
        document = copy.deepcopy(self.rng.choice(self.documents))
        for _ in range(self.rng.choice([1, 1, 2])):
            _, target = self.rng.choice(list(objects_of(document)))
            key = self.rng.choice([*target, self.rng.choice(self.words)])
            what = self.rng.randrange(4)
            if what == 0:
                target.pop(key, None)
            elif what == 1:
                target[key] = copy.deepcopy(self.rng.choice(self.STRANGE))
            elif what == 2:
                target[key] = self.rng.choice(self.names)
            else:
                target[key + self.rng.choice(["", "x"])] = self.rng.choice([1, 2, 0.1, 0.9, "sgd", True])
        return document


@unittest.skipUnless(fastjsonschema, "needs Python's fastjsonschema, which scripts/setup.sh installs")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        out = subprocess.run([BINARY, "schema"], capture_output=True, text=True, check=True).stdout
        cls.schema = json.loads(out)
        cls.validate = staticmethod(fastjsonschema.compile(cls.schema))

    def refusals(self, documents):
        program = pathlib.Path(os.environ["HOPSCOTCH_BUILD"]) / "tests" / "experiment_verdicts"
        lines = "".join(json.dumps(each) + "\n" for each in documents)
        out = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in out.splitlines()]

    def refused(self, document):
        try:
            self.validate(document)
        except fastjsonschema.JsonSchemaException as error:
            return str(error)
        return ""

    def test_every_example_is_valid(self):
        documents = [json.loads(text) for text in configs().values()]
        self.assertGreater(len(documents), 10)
        for name, document in zip(configs(), documents, strict=True):
            self.assertEqual(self.refused(document), "", name)
        for name, refusals in zip(configs(), self.refusals(documents), strict=True):
            self.assertEqual(refusals, [], name)

    def test_mutated_examples_are_refused_by_the_reader_if_by_the_schema(self):
        mutations = Mutations(self.schema, [json.loads(text) for text in configs().values()])
        documents = [mutations.one() for _ in range(200)]
        refused = 0
        for document, refusals in zip(documents, self.refusals(documents), strict=True):
            why = self.refused(document)
            refused += bool(why)
            if why:
                self.assertTrue(refusals, f"only the schema refuses: {why}\n{json.dumps(document)}")
            for each in refusals if not why else []:
                self.assertTrue(any(re.search(rule, each) for rule in STRICTER), f"{each}\n{json.dumps(document)}")
        self.assertGreater(refused, 80)
        self.assertLess(refused, 190)
