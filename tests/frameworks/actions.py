# SPDX-License-Identifier: Apache-2.0
"""PyTorch's actions as the tests have ops."""
KINDS = {"FORWARD": "F", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W", "FULL_BACKWARD": "B"}


def ops(actions):
    """[kind, stage, microbatch] of each; a pair of overlapped ones is two."""
    return [[KINDS.get(op.computation_type.name, op.computation_type.name), op.stage_index, op.microbatch_index]
            for action in actions if action for op in action.sub_actions or (action,)]
