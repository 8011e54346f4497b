# SPDX-License-Identifier: Apache-2.0
"""HTML pages: the report of a plan, and the live page. Their scripts are in the two folders."""
