"""How much of the truth the intervals of `Probabilistic` hold when there are few rows to learn residuals from.

    python benchmarks/small_samples.py

y = 2 x₀ − x₁ + N(0, 1), a linear regression, 400 tables of each size; coverage on 500 new rows each. There is no peer
and no limit: the table is what docs/how_it_works.md says of small samples.
"""

import numpy as np
import side_by_side

import quorate as q

TABLES, ROWS, LEVELS = 400, (10, 25, 50, 100, 200), (0.5, 0.9)


def coverage(n: int, level: float) -> float:
    """The mean share of new rows inside the central intervals."""
    held = []
    for seed in range(TABLES):
        rng = np.random.default_rng((seed, n))
        X = rng.normal(size=(n + 500, 2))
        y = 2 * X[:, 0] - X[:, 1] + rng.normal(size=len(X))
        dist = q.Probabilistic().fit(X[:n], y[:n]).predict_dist(X[n:])
        held.append(q.score.coverage(dist, y[n:], level=level))
    return float(np.mean(held))


def main() -> None:
    rows = [{"rows": n} | {f"in {level:.0%}": coverage(n, level) for level in LEVELS} for n in ROWS]
    side_by_side.table(rows)
    side_by_side.write("small_samples", rows)


if __name__ == "__main__":
    main()
