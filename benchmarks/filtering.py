"""Whether committees of three err as often as Schapire's g says: learners that err just ε on the examples they meet.

    python benchmarks/filtering.py

Every example has a difficulty that all experts share, and each expert finds it harder or easier in a way of its own. A
learner gets wrong the share ε of its lesson that is hardest to it. So mistakes come together, as those of real experts
do, and it is the filters that make the majority err g(ε) = 3ε² − 2ε³, or g(g(ε)) at depth 2. Fails where what is
measured on new examples is further than four standard errors from that: those of the test, and of ε on what is to come.
"""

import sys
from dataclasses import dataclass

import numpy as np

import quorate as q
from quorate.learn.filter import g
from quorate.members import Fitted, Member

N_EXAMPLES, N_TEST, STANDARD_ERRORS = 20_000, 200_000, 4
DEPTHS = {0: (0.05, 0.2, 0.4), 1: (0.05, 0.1, 0.2, 0.3, 0.4), 2: (0.1, 0.2, 0.3, 0.4)}


@dataclass(frozen=True)
class Errs(Member):
    """A learner that is wrong on the share `error` of its lesson; columns of X: the truth, difficulty, anything."""

    error: float
    n_classes: int = 2

    def fit(self, X, y, sample_weight=None, rng=None):
        own = rng.uniform(1e3, 1e6)
        return Erring(own, np.quantile(hardness(X, own), self.error), self.n_classes)


@dataclass(frozen=True)
class Erring(Fitted):
    """Wrong where it is hardest."""

    own: float
    limit: float
    n_classes: int

    def choices(self, X):
        truth = X[:, 0].astype(int)
        other = 1 + (X[:, 2] * 7919).astype(int) % (self.n_classes - 1)
        return np.where(hardness(X, self.own) < self.limit, (truth + other) % self.n_classes, truth)

    def predict_dist(self, X):
        return q.Categorical(np.eye(self.n_classes)[self.choices(X)])


def hardness(X, own):
    """What an expert finds hard (small numbers): half what all do, half what it does; unlike for each `own`."""
    return X[:, 1] + X[:, 2] * own % 1.0


def examples(rng, n, n_classes=2):
    """(X, y) of n examples."""
    y = rng.integers(0, n_classes, n)
    return np.column_stack([y, rng.random((n, 2))]), y


def blocks(rng, size=10_000, n_classes=2):
    """An endless stream."""
    while True:
        yield examples(rng, size, n_classes)


def predicted(error, depth):
    """(g iterated, its standard error because each ε is learned from N_EXAMPLES)."""
    variance = error * (1 - error) / N_EXAMPLES
    for _ in range(depth):
        # Derivatives of the majority's error by ε₁ and ε₃ where ε₁ and ε₂ err together as often as they can, by ε₂.
        slopes = (3 * error - 2 * error**2, error - 2 * error**2, 2 * error * (1 - error))
        error, variance = g(error), variance * sum(s**2 for s in slopes)
    return error, np.sqrt(variance)


def measured(error, depth, seed=0):
    """A row of the table: the committee on new examples, against the prediction."""
    rng = np.random.default_rng((seed, depth, int(1e6 * error)))
    model = q.FilteringClassifier(Errs(error), depth, N_EXAMPLES, random_state=seed)
    model.fit_stream(blocks(rng), classes=[0, 1])
    errs = 1 - model.score(*examples(rng, N_TEST))
    goal, learned = predicted(error, depth)
    standard_error = float(np.hypot(np.sqrt(goal * (1 - goal) / N_TEST), learned))
    return {
        "depth": depth,
        "error of each": error,
        "predicted": goal,
        "measured": errs,
        "standard error": standard_error,
        "apart": (errs - goal) / standard_error,
        "examples read": model.consumed_["stream"][1],
    }


def main() -> None:
    import side_by_side  # here, because tests import the learners above

    rows = [measured(error, depth) for depth, errors in DEPTHS.items() for error in errors]
    side_by_side.table(rows)
    side_by_side.write("filtering", rows)
    far = [row for row in rows if abs(row["apart"]) > STANDARD_ERRORS]
    if far:
        sys.exit(f"further than {STANDARD_ERRORS} standard errors from g: {far}")


if __name__ == "__main__":
    main()
