# SPDX-License-Identifier: BSD-2-Clause
"""The exceptions of cryptography.exceptions that tenrounds raises."""

import functools
import sys

__all__ = ["InvalidTag"]


class InvalidTag(Exception):
    """The tag of a message does not match: the message is not authentic.

    In a process that has imported cryptography.exceptions, the exception is also an instance of its
    InvalidTag, so that an `except` clause with either class catches it.
    """

    def __reduce__(self):
        return invalid_tag, self.args


@functools.cache
def _class_of_both(theirs):
    return type("InvalidTag", (InvalidTag, theirs), {"__module__": __name__})


def invalid_tag(*args):
    """The exception for a message whose tag does not match."""
    theirs = getattr(sys.modules.get("cryptography.exceptions"), "InvalidTag", None)
    return (_class_of_both(theirs) if theirs else InvalidTag)(*args)
