"""Rows in pieces of a fixed size, on threads: for answers of a row that need no other row."""

from concurrent.futures import ThreadPoolExecutor


def in_pieces(threads, size, work, n):
    """work(first, last) for pieces of n rows."""
    pieces = [(first, min(first + size, n)) for first in range(0, n, size)]
    if threads == 1:
        for piece in pieces:
            work(*piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda piece: work(*piece), pieces))
