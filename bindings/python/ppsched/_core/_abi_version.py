# SPDX-License-Identifier: Apache-2.0
# Written by generate_abi.py from include/ppsched/*.h. Do not edit.
"""The version of the C ABI, and the release."""
ABI_VERSION = 1
VERSION_MAJOR = 0
VERSION_MINOR = 2
VERSION_PATCH = 0
