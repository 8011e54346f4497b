# SPDX-License-Identifier: Apache-2.0
"""Pages of HTML: the report of a plan, and the live page; their scripts are in the two folders."""
