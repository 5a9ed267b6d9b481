"""Exceptions of a library that nobody knows, and verdicts on them."""

from holdfast.classify import Verdict

NOW = 1_445_412_480_000_000
RETRY = Verdict("MY_RETRY", retryable=True)
STOP = Verdict("MY_STOP", retryable=False)


class LibraryError(Exception):
    pass


class LibraryTimeout(LibraryError):
    pass


class Limited(Exception):
    def __init__(self, wait):
        super().__init__("limited")
        self.status_code = 429
        self.headers = {"retry-after": str(wait)}


def from_module(name, module):
    return type(name, (Exception,), {"__module__": module})


def chained(outer, cause):
    outer.__cause__ = cause
    return outer
