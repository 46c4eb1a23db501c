# SPDX-License-Identifier: Apache-2.0
"""What libraries say. An error text of ours has none of these words."""

LIBRARY_WORDS = (
    "terminate called",
    "bad_alloc",
    "filesystem error",
    "::at",
    "out_of_range",
    "length_error",
    "basic_string",
    "Assertion",
)
