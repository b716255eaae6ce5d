"""Newton's step in each leaf, or that step made longer or shorter by a line search: −log p on rows that neither saw.

    python benchmarks/line_search.py            # five UCI tables, five splits each
    python benchmarks/line_search.py --quick    # two splits

NGBoost multiplies what a round does by the ρ that lowers the loss of the training rows most, and then by the learning
rate. Here ρ is chosen from `TRIED`, for the whole tree, and the rest is the same: the rounds that are best by a fifth
of the training rows, at the same learning rate. The library takes Newton's step as it is; this says what that costs, or
gains. Nothing fails.
"""

from unittest import mock

import numpy as np
import sets
import side_by_side

import quorate as q
from quorate import kernels
from quorate.members.rounds import Rounds

TABLES = ("uci_boston", "uci_concrete", "uci_energy", "uci_power", "uci_yacht")
TRIED = (0.25, 0.5, 1.0, 2.0, 4.0)
SETTINGS = {"n_estimators": 2_000, "learning_rate": 0.05, "max_leaf_nodes": 16, "min_samples_leaf": 10}
STOP = {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 30}


class Searched(Rounds):
    """Rounds whose steps are ρ times Newton's, ρ being what lowers the loss of the training rows most."""

    def _decide(self, k, grower):
        super()._decide(k, grower)
        leaf, at = np.zeros(len(self.rows), np.int64), grower.rows.at[: len(self.rows)]
        for i in np.flatnonzero(grower.nodes.ints[: grower.count, kernels.grow.COLUMN] < 0):
            first, last = grower.nodes.ints[i, [kernels.grow.FIRST, kernels.grow.LAST]]
            leaf[first:last] = i
        way = grower.values[leaf] / self.growth.learning_rate
        losses = [self.loss.risk(self.f[k, at] + rho * way, self.y[at]).mean() for rho in TRIED]
        rho = TRIED[int(np.argmin(losses))]
        grower.values[: grower.count] *= rho
        ints, floats, values, subsets, rows = self.trees[k]
        self.trees[k] = (ints, floats, rho * values, subsets, rows)


def judged(name: str, k: int) -> tuple[float, int]:
    """(−log p on the rows to test, the rounds that were best)."""
    X, y, tests = sets.uci(name)
    train = np.setdiff1d(np.arange(len(y)), tests[k])
    model = q.DistributionalRegressor(**SETTINGS, **STOP, random_state=k).fit(X[train], y[train])
    return -model.log_score(X[tests[k]], y[tests[k]]), model.n_estimators_


def line(name: str, splits: int) -> dict:
    """Both on the same splits."""
    newton = [judged(name, k) for k in range(splits)]
    with mock.patch("quorate.learn.boost.Rounds", Searched):
        searched = [judged(name, k) for k in range(splits)]
    less = np.array([s[0] - n[0] for n, s in zip(newton, searched)])
    return {
        "table": name,
        "Newton NLL": float(np.mean([told[0] for told in newton])),
        "rounds": float(np.mean([told[1] for told in newton])),
        "searched NLL": float(np.mean([told[0] for told in searched])),
        "its rounds": float(np.mean([told[1] for told in searched])),
        "Newton is lower by": float(less.mean()),
        "±": float(less.std(ddof=1) / np.sqrt(len(less))),
    }


def main() -> None:
    splits = side_by_side.size_asked(__doc__, 5, 2, of="splits")
    rows = [line(name, splits) for name in TABLES if sets.uci(name) is not None]
    side_by_side.table(rows)
    side_by_side.write("line_search", rows, full=splits >= 5)


if __name__ == "__main__":
    main()
