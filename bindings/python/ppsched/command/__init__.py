# SPDX-License-Identifier: Apache-2.0
"""The ppsched command: its options, and what it prints. It uses the library, which knows nothing of it."""
