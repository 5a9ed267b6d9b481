"""Transactions on the store's database, for tables of your own.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.engine.transactions import Reading, Transaction

__all__ = ["Reading", "Transaction"]
