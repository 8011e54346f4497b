#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchtitan's models by name have the parameters, windows and experts of its own classes."""
import pathlib
import unittest

import framework

import ppsched
from ppsched.readers.torchtitan_models import FORMER, MODELS, NO_LANGUAGE, RELEASE

OF_RELEASE = {family: flavours for family, flavours in MODELS.items() if family not in FORMER}
PROGRAM = pathlib.Path(__file__).resolve().with_name("torchtitan_flavours.py")


def block_of(blocks, kinds):
    return next((block for block in blocks if block["kind"] in kinds), {})


def layer_facts(description):
    kinds = description.values()["kinds"]
    found = {}
    for name, blocks in kinds.items():
        mixer, experts = block_of(blocks, ("attention", "latent_attention")), block_of(blocks, ("experts",))
        found[name] = [mixer.get("heads", 0), mixer.get("window", 0), experts.get("experts_per_token", 0)]
    return [found[name] for name in description.layer_kinds]


@unittest.skipIf(framework.why_missing("torchtitan"), framework.why_missing("torchtitan"))
class FlavoursTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = framework.run([PROGRAM, *OF_RELEASE])

    def test_families_and_flavours_are_all_there(self):
        self.assertEqual(sorted([*OF_RELEASE, *NO_LANGUAGE]), self.found["families"])
        self.assertEqual({family: list(flavours) for family, flavours in OF_RELEASE.items()}, {family: list(facts) for family, facts in self.found["facts"].items()})
        self.assertIn(("torchtitan", RELEASE), [(package, version) for package, version, _ in framework.lines()])

    def test_models_are_those_of_the_classes(self):
        checked = 0
        for family, flavours in self.found["facts"].items():
            for flavour, facts in flavours.items():
                description = ppsched.read_model(f"torchtitan:{family}/{flavour}").description
                counts = ppsched.Model(description).parameters
                self.assertEqual((counts.total, counts.towers, description.vocabulary_size), (facts["total"], facts["tower"], facts["vocabulary"]),
                                 (family, flavour))
                self.assertEqual(layer_facts(description), facts["layers"], (family, flavour))
                checked += 1
        print(f"{checked} flavours of {len(self.found['facts'])} families")
        self.assertGreaterEqual(checked, 42)


if __name__ == "__main__":
    unittest.main()
