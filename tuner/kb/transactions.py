"""Transactions: all of a block, durable, or nothing of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["reading", "writing"]


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block as one transaction; the lock is taken before anything is read in it."""
    return _transaction(connection, "BEGIN IMMEDIATE")


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block that sees the database as it is at one moment."""
    return _transaction(connection, "BEGIN")


def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk or an I/O error may have ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
