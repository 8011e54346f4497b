# SPDX-License-Identifier: Apache-2.0
"""Lowering and its proof in Python and on the command line."""
import json
import subprocess
import sys
import unittest

import ppsched


def lowered(strategy="1f1b", devices=4, microbatches=6, **options):
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches)).lower(**options)


def tokens(schedule, device):
    return [str(op) for op in schedule.queues[device]]


def run(*words):
    return subprocess.run([sys.executable, "-m", "ppsched", *words], capture_output=True, text=True, check=False)


class LoweringTest(unittest.TestCase):
    def test_orders(self):
        schedule = lowered(lowering="pytorch", devices=2, microbatches=2, unshard=3, reduce_grad=True)
        self.assertEqual(" ".join(tokens(schedule, 1)),
                         "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1REDUCE_GRAD 1RESHARD")

    def test_lowering_changes_no_times(self):
        schedule = ppsched.generate("zb_h1", ppsched.Config(4, 6, p2p_time=0.5))
        for lowering in ppsched.Lowering:
            self.assertEqual(schedule.lower(lowering).evaluate().metrics, schedule.evaluate().metrics)

    def test_backwards(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 3))
        split = schedule.lower("none", split_backwards=True)
        self.assertIn("1I0", tokens(split, 1))
        self.assertEqual(tokens(split.lower("none", merge_backwards=True), 1), tokens(schedule, 1))

    def test_refusals(self):
        with self.assertRaisesRegex(ppsched.Refused, "lowered already"):
            lowered().lower()
        with self.assertRaisesRegex(ppsched.Error, "no lowering 'sideways'; there are none, pytorch, by_time, just_in_time"):
            lowered(lowering="sideways")
        with self.assertRaisesRegex(ppsched.Error, "pytorch lowering alone"):
            lowered(defer_receives=True)

    def test_proof(self):
        proof = lowered().prove("pair", rendezvous=True)
        self.assertTrue(proof)
        self.assertEqual((proof.circle, proof.text), ([], ""))
        proof = lowered(lowering="pytorch", defer_receives=True).prove(rendezvous=True)
        self.assertFalse(proof)
        self.assertIn("which waits in", proof.text)
        self.assertEqual([str(link.op) in proof.text for link in proof.circle], [True] * len(proof.circle))
        with self.assertRaisesRegex(ppsched.Error, "no channel order 'ring'"):
            lowered().prove("ring")

    def test_traffic(self):
        schedule = lowered(devices=3, microbatches=4)
        self.assertEqual([(edge.sender, edge.receiver, edge.messages) for edge in schedule.edges()],
                         [(1, 0, 4), (0, 1, 4), (2, 1, 4), (1, 2, 4)])
        self.assertTrue(all(edge.most_in_flight == 1 for edge in schedule.edges()))
        ops = tokens(schedule, 0)
        buffer = schedule.buffers(0)[ops.index("0SEND_F0")]
        self.assertEqual((buffer.slot, ops[buffer.until]), (None, "0B0"))
        buffer = schedule.buffers(1)[tokens(schedule, 1).index("1RECV_B0")]
        self.assertEqual((buffer.slot, tokens(schedule, 1)[buffer.until]), (0, "1B0"))
        with self.assertRaises(IndexError):
            schedule.buffers(3)

    def test_proof_of_a_schedule_without_comm_ops(self):
        proof = ppsched.generate("1f1b", ppsched.Config(2, 2)).prove()
        self.assertFalse(proof)
        self.assertIn("needs a receive that is not there", proof.text)

    def test_command(self):
        result = run("schedule", "-s", "2", "-b", "2", "--lower", "pytorch", "--unshard", "3", "--reduce-grad", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(json.loads(result.stdout)["queues"][1]["ops"][:3], ["1UNSHARD", "1RECV_F0", "1F0"])
        self.assertEqual(run("schedule", "-s", "2", "-b", "2", "--lower", "sideways").returncode, 2)
        result = run("schedule", "-s", "2", "-b", "2", "--unshard", "-1")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("unshard is -1", result.stderr)


if __name__ == "__main__":
    unittest.main()
