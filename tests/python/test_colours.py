# SPDX-License-Identifier: Apache-2.0
"""Colours of pictures and page: far enough apart for all eyes, and from their ground.

Differences are CIE76, delta E in CIELAB under D65, of what Machado, Oliveira and Fernandes (2009) compute that people without one kind
of cones see (severity 1, in linear RGB).
"""
import itertools
import json
import pathlib
import re
import unittest

import ppsched
from ppsched._core.colours import OTHER, SHADES, contrast, edge_of, ink_on, is_lined, shade_of
from ppsched._core.timeline import Idle

PAGE = pathlib.Path(ppsched.__file__).resolve().parent / "page" / "report_page"
LEAST_APART = 15.0
SEEN = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
OKABE_ITO = {"#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"}


def parts(colour):
    return [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def lab(colour, matrix):
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts(colour)]
    red, green, blue = (min(1.0, max(0.0, sum(factor * part for factor, part in zip(row, linear)))) for row in matrix)
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(colour, other):
    """The least difference that any of them sees."""
    return min(sum((a - b) ** 2 for a, b in zip(lab(colour, matrix), lab(other, matrix))) ** 0.5 for matrix in SEEN.values())


def themes():
    """Custom properties of the page's style: light, and each of the two dark ones."""
    text = (PAGE / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", text)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks]
    return [block for block in found if "ground" in block]


class ColoursTest(unittest.TestCase):
    def test_the_measure(self):
        """Black and white are 100 apart for all; red and green much less for those who lack a cone for one of them."""
        for matrix in SEEN.values():
            self.assertAlmostEqual(lab("#ffffff", matrix)[0] - lab("#000000", matrix)[0], 100, places=1)
        self.assertLess(apart("#b04040", "#508030"), 30)
        self.assertAlmostEqual(contrast("#ffffff", "#000000"), 21)

    def test_they_are_of_okabe_and_ito(self):
        self.assertLessEqual({shades[0] for shades in SHADES.values()}, OKABE_ITO)
        self.assertEqual(len(SHADES), 4)

    def test_kinds_and_chunks_are_apart(self):
        every = [shade for shades in SHADES.values() for shade in shades]
        for one, other in itertools.combinations(every, 2):
            self.assertGreaterEqual(apart(one, other), LEAST_APART, (one, other))

    def test_six_chunks_differ(self):
        for kind in SHADES:
            self.assertEqual(len({(shade_of(kind, chunk), is_lined(chunk)) for chunk in range(6)}), 6)

    def test_ops_stand_out(self):
        """Each from the ground in both themes, by its fill or by the edge around it."""
        for theme in themes():
            for kind, shades in SHADES.items():
                self.assertGreaterEqual(contrast(shades[0], theme["ground"]), 3, (kind, theme["ground"]))
                self.assertGreaterEqual(contrast(edge_of(kind), theme["ground"]), 3)
            self.assertGreaterEqual(contrast(OTHER, theme["ground"]), 3)
        self.assertEqual(len(themes()), 3)

    def test_digits_can_be_read(self):
        for shade in [OTHER, *(shade for shades in SHADES.values() for shade in shades)]:
            self.assertGreaterEqual(contrast(ink_on(shade), shade), 4.5, shade)

    def test_idle_causes_are_no_ops(self):
        """They have a pattern each, in one ink that is apart from all ops."""
        text = re.search(r"const PATTERNS = \{(.*?)\};", (PAGE / "patterns.js").read_text(encoding="utf-8"), re.S)[1]
        causes = dict(re.findall(r"(\w+): (\[[^\]]*\])", text))
        self.assertEqual(len(set(causes.values())), len(causes))
        known = re.search(r"const CAUSES = \{(.*?)\};", (PAGE / "data.js").read_text(encoding="utf-8"), re.S)[1]
        self.assertEqual({*re.findall(r"(\w+): \"", known), "other"}, set(causes))
        self.assertLessEqual(set(Idle._fields), set(causes))
        for theme in themes():
            self.assertGreaterEqual(contrast(theme["idle"], theme["ground"]), 3)
            for shade in [shade for shades in SHADES.values() for shade in shades]:
                self.assertGreaterEqual(apart(theme["idle"], shade), LEAST_APART, (theme["idle"], shade))

    def test_page_and_pictures_agree(self):
        script = (PAGE / "data.js").read_text(encoding="utf-8")
        for kind, shades in SHADES.items():
            found = re.search(rf"  {kind.name}: \{{[^}}]*shades: (\[[^\]]*\])", script)[1]
            self.assertEqual(json.loads(found), list(shades))
        self.assertIn(f'const GREY = ["{OTHER}"];', script)


if __name__ == "__main__":
    unittest.main(verbosity=2)
