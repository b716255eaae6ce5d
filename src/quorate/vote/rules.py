"""Two ways to add up what members say. The argmax of a mixture is not the vote of the members' argmaxes.

| rule | the committee's distribution; it decides for the most probable class |
|---|---|
| "mixture", or "soft" as scikit-learn calls it | Σ w_m p_m: the mean of the probabilities |
| "majority", or "votes" | Σ w_m 1{y = argmax p_m}: each member's vote, thresholded; the shares are soft scores |

Equals are settled by the order of `classes`: the first wins, for a member's own choice and for the committee's.
"""

import numpy as np

from quorate.dist import Categorical, Mixture

MIXTURES, VOTES = ("mixture", "soft"), ("majority", "votes")
RULES = MIXTURES + VOTES


def thresholded(mixture):
    """The mixture of the members' votes: each puts all on its most probable class."""
    identity = np.eye(len(mixture.classes))
    votes = [Categorical(identity[np.argmax(p.probs, axis=1)], mixture.classes) for p in mixture.parts]
    return Mixture(mixture.log_w, votes)


def answer(mixture, rule):
    """The committee's distribution under a rule."""
    check_rule(rule)
    if rule in VOTES and not hasattr(mixture, "classes"):
        raise ValueError(f'rule="{rule}" counts votes for classes, and these members speak of numbers')
    return thresholded(mixture) if rule in VOTES else mixture


def check_rule(rule):
    """Refuse what is no rule."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}; got {rule!r}")
