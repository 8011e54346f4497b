# SPDX-License-Identifier: Apache-2.0
"""What files of others say: models, arguments of frameworks, devices, profiles and traces; and plans beside what was measured."""
