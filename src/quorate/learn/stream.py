"""Sources of examples, and the filters through which boosting by filtering looks at them.

    right or wrong   a fair coin: heads hands on the next example that an expert gets wrong, tails the next right one
    disputed         hands on the examples on which two experts disagree

A source is a `Table`, which knows all its rows, or a `Stream`, of which only the next ones are there. What a filter
hands on is a source again, so filters stand on filters. Both owe

    take(n, rng)                        n examples (X, y)
    right_or_wrong(expert, rng, path)   what the first filter hands on
    disputed(one, other, path)          what the second filter hands on

and raise `Silent` where a filter finds nothing to hand on. A table needs not be read until something passes: what a
filter does to an endless stream of its rows is to change their weights r_i, and examples are drawn with those.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from quorate.members import choices

BLOCK = 1 << 16  # rows that an expert is asked about at once
COINS = 1 << 10  # coins flipped at once


class Silent(Exception):
    """The filter of the expert at `path` hands nothing on."""

    def __init__(self, path):
        super().__init__(path)
        self.path = path


class Ended(Exception):
    """The stream ended when so many of the examples asked for were there."""

    def __init__(self, found=0):
        super().__init__(found)
        self.found = found


class Tally:
    """How many examples each filter handed on, and how many it looked at to do so; those of the stream under ()."""

    def __init__(self):
        self.counts = {}

    def add(self, path, passed, looked):
        """Count some more."""
        before = self.counts.get(path, (0, 0))
        self.counts[path] = (before[0] + passed, before[1] + looked)


# The two filters, as weights


def right_or_wrong(r, wrong):
    """r_i after the coin: half of all weight to the wrong rows, half to the right ones; none if not both are there."""
    heads, tails = np.sum(r[wrong]), np.sum(r[~wrong])
    return r / (2 * np.where(wrong, heads, tails)) if heads and tails else np.zeros(len(r))


def disputed(r, one, other):
    """r_i of the rows on which two experts disagree."""
    return np.where(one != other, r, 0.0)


# Tables


class Table:
    """Rows drawn with replacement, each as often as its slots weigh: an endless stream of what is known."""

    def __init__(self, X, y, slots, tally):
        self.X, self.y, self.tally = X, y, tally
        self.rows, self.r = slots.each
        self.path, self.upstream, self.cost = (), None, 1.0

    def take(self, n, rng):
        """n examples."""
        self._count(n)
        ends = np.cumsum(self.r)
        drawn = np.searchsorted(ends, rng.random(n) * ends[-1], side="right")
        rows = self.rows[np.minimum(drawn, np.flatnonzero(self.r)[-1])]
        return self.X[rows], self.y[rows]

    def right_or_wrong(self, expert, rng, path):
        """The rows after the first filter."""
        wrong = self._said(expert) != self.y[self.rows]
        r, heads, tails = right_or_wrong(self.r, wrong), np.sum(self.r[wrong]), np.sum(self.r[~wrong])
        if not np.any(r):
            raise Silent(path)
        return self._filtered(r, path, (heads + tails) * (1 / heads + 1 / tails) / 2)

    def disputed(self, one, other, path):
        """The rows after the second filter."""
        r = disputed(self.r, self._said(one), self._said(other))
        if not np.any(r):
            raise Silent(path)
        return self._filtered(r, path, np.sum(self.r) / np.sum(r))

    def _filtered(self, r, path, cost):
        new = object.__new__(Table)
        vars(new).update(vars(self), r=r, path=path, upstream=self, cost=cost)
        return new

    def _said(self, expert):
        return chosen(expert, self.X)[self.rows]

    def _count(self, n):
        """Count what a stream of such rows would have had to offer, on average."""
        self.tally.add(self.path, n, n * self.cost)
        if self.upstream is not None:
            self.upstream._count(n * self.cost)


# Streams


class Flow(ABC):
    """Examples that come one after the other: `look` shows those that are there, `skip` lets go of the first of them.

    Nothing is let go of before it is used or passed over, so where one reader stops the next one begins, however many
    examples come at a time.
    """

    patience: int
    tally: Tally

    @abstractmethod
    def look(self):
        """The next examples (X, y), at least one; `Ended` where none is left."""

    @abstractmethod
    def skip(self, n):
        """Let go of the first n of them."""

    def take(self, n, rng=None):
        """n examples."""
        parts: list = []
        found = 0
        while found < n:
            try:
                X, y = self.look()
            except Ended as end:
                raise Ended(found) from end
            here = min(n - found, len(y))
            parts.append((X[:here], y[:here]))
            self.skip(here)
            found += here
        return tuple(_stacked(part) for part in zip(*parts))

    def right_or_wrong(self, expert, rng, path):
        """What the first filter hands on."""
        return Filter(self, lambda X, y: chosen(expert, X) != y, path, rng)

    def disputed(self, one, other, path):
        """What the second filter hands on."""
        return Filter(self, lambda X, y: chosen(one, X) != chosen(other, X), path)


class Stream(Flow):
    """Blocks of examples (X, y), read when they are needed; a filter gives up after `patience` examples in vain."""

    def __init__(self, blocks, patience, tally):
        self.patience, self.tally = patience, tally
        self._blocks = iter(blocks)
        self._X = self._y = np.empty(0)

    def look(self):
        while not len(self._y):
            try:
                self._X, self._y = next(self._blocks)
            except StopIteration:
                raise Ended from None
        return self._X, self._y

    def skip(self, n):
        self._X, self._y = self._X[n:], self._y[n:]
        self.tally.add((), n, n)


class Filter(Flow):
    """The examples of another flow of which `asks(X, y)` is what the next coin wants; without coins, is true."""

    def __init__(self, upstream, asks, path, rng=None):
        self.upstream, self.asks, self.path, self.rng = upstream, asks, path, rng
        self.patience, self.tally = upstream.patience, upstream.tally
        self._coins = np.empty(0, bool)
        self._is = np.empty(0, bool)  # what `asks` said of the examples upstream shows
        self._places = np.empty(0, int)  # which of these pass
        self._in_vain = 0  # how many were passed over since the last one

    def look(self):
        while not len(self._places):
            if not len(self._is):
                self._is = self.asks(*self.upstream.look())
            self._places = self._found()
            if not len(self._places):
                self._pass_over()
        X, y = self.upstream.look()
        return X[self._places], y[self._places]

    def skip(self, n):
        if n:
            rows = self._places[n - 1] + 1
            self._places, self._coins = self._places[n:] - rows, self._coins[n:]
            self._in_vain = 0
            self._let_go(n, rows)

    def _found(self):
        """The places of the examples that pass, up to where patience ends."""
        places = np.flatnonzero(self._is) if self.rng is None else self._by_coin()
        gaps = np.diff(places, prepend=-1 - self._in_vain) - 1
        late = gaps >= self.patience
        return places[: np.argmax(late)] if late.any() else places

    def _by_coin(self):
        """For each coin in turn, the place of the next example that it wants."""
        while len(self._coins) < len(self._is):
            self._coins = np.append(self._coins, self.rng.random(COINS) < 0.5)
        after = {side: _next(self._is == side).tolist() for side in (False, True)}
        places, at = [], 0
        for coin in self._coins.tolist():
            at = after[coin][at]
            if at == len(self._is):
                break
            places.append(at)
            at += 1
        return np.array(places, int)

    def _pass_over(self):
        """Let go of what does not pass."""
        left = self.patience - self._in_vain
        rows = min(len(self._is), left)
        self._in_vain += rows
        self._let_go(0, rows)
        if rows == left:
            raise Silent(self.path)

    def _let_go(self, passed, rows):
        self._is = self._is[rows:]
        self.tally.add(self.path, passed, int(rows))
        self.upstream.skip(int(rows))


def chosen(expert, X):
    """What an expert decides for, as codes, asked about a block of rows at a time."""
    return np.concatenate([choices(expert, X[s : s + BLOCK]) for s in range(0, X.shape[0], BLOCK)])


def _next(true):
    """For each place, and the end, the first one from there on that is true; else the end."""
    n = len(true)
    return np.minimum.accumulate(np.append(np.where(true, np.arange(n), n), n)[::-1])[::-1]


def _stacked(parts):
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
