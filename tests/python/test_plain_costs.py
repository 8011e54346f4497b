# SPDX-License-Identifier: Apache-2.0
"""A device of which only the data sheet is known: none of the measured constants, and no setting that came with them. All costs of its layers
are those of the library before it had them, to the last bit. The build of that time made tests/golden/plain_costs.json: drawn models,
trainings and devices, and for each layer the start of the SHA-256 of all its costs."""
import hashlib
import json
import pathlib
import unittest

import ppsched

CASES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "plain_costs.json"
PASSES = ("forward", "input", "weight", "selective", "full")
COSTS = ("time", "matrix_time", "vector_time", "memory_time", "communication_time", "matrix_operations", "vector_operations", "memory_bytes",
         "communication_bytes")
MEMORY = ("parameters", "weights", "gradients", "optimizer", "activations", "activations_until_weight", "selective", "full", "output_bytes")
UPDATE = ("optimizer_time", "reduce_time")
LINKS = ("inside", "between")


def hashed(records):
    """Of the named fields of each record."""
    words = [float(getattr(record, name)).hex() for record, names in records for name in names]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]


def costs_of(model):
    found = {"update": hashed([(model.update_cost(1e9), UPDATE)])}
    for row in model.rows:
        found[row.name] = hashed([*((model.pass_cost(row.name, kind), COSTS) for kind in PASSES), (model.memory(row.name), MEMORY)])
    return found


class PlainCostsTest(unittest.TestCase):
    def setUp(self):
        given = json.loads(CASES.read_text(encoding="utf-8"))
        self.cases = given["cases"]
        self.devices = {name: ppsched.Accelerator(**{**fields, **{link: ppsched.LinkRate(*fields[link]) for link in LINKS}})
                        for name, fields in given["devices"].items()}

    def model(self, case, device=None):
        return ppsched.Model(ppsched.Transformer(**case["shape"]), ppsched.Training(**case["training"]), device or self.devices[case["device"]])

    def test_costs_are_the_same(self):
        for number, case in enumerate(self.cases):
            found = costs_of(self.model(case))
            for layer, wanted in case["layers"].items():
                self.assertEqual(found[layer], wanted, (number, layer))

    def test_each_constant_would_be_seen(self):
        """A constant alone makes some cost another one."""
        case = next(case for case in self.cases if case["training"]["tensor_parallel"] > 1 and case["shape"].get("experts"))
        for name, value in (("matrix_share", 0.9), ("attention_share", 0.9), ("op_time", 1e-6), ("host_time", 1e-3), ("permute_traffic", 4),
                            ("memory_hidden", 1)):
            found = costs_of(self.model(case, self.devices[case["device"]]._replace(**{name: value})))
            self.assertNotEqual([found[layer] for layer in case["layers"]], list(case["layers"].values()), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
