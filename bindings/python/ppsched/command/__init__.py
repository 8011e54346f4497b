# SPDX-License-Identifier: Apache-2.0
"""The ppsched command: its options and its output. It uses the library; the library does not use it."""
