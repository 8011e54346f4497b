# SPDX-License-Identifier: Apache-2.0
"""Readers of other tools' files: models, framework arguments, devices, profiles and traces; and the comparison of a plan with measured times."""
