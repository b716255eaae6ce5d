"""Three ways to add up what members say. The argmax of a mixture is not the vote of the members' argmaxes.

| rule | the committee's distribution; it decides for the most probable class |
|---|---|
| "mixture", or "soft" as scikit-learn calls it | Σ w_m p_m: the mean of the probabilities |
| "majority", or "votes" | Σ w_m 1{y = argmax p_m}: each member's vote, thresholded; the shares are soft scores |
| "log" | Π p_m^{w_m}, normalised: the log opinion pool, whose votes need not sum to one (`Powers`) |

Equals are settled by the order of `classes`: the first wins, for a member's own choice and for the committee's.
"""

import numpy as np

from quorate.dist import Categorical, Mixture
from quorate.dist.log_pool import LogPool

MIXTURES, VOTES, PRODUCTS = ("mixture", "soft"), ("majority", "votes"), ("log",)
RULES = MIXTURES + VOTES + PRODUCTS


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
    if rule in PRODUCTS:
        return LogPool(mixture.log_w, mixture.parts)
    return thresholded(mixture) if rule in VOTES else mixture


def pool(log_w, parts, rule):
    """What parts with votes say together under a rule, as a distribution that knows its `parts` and `weights`."""
    return LogPool(log_w, parts) if rule in PRODUCTS else answer(Mixture(log_w, parts), rule)


def check_rule(rule):
    """Refuse what is no rule."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}; got {rule!r}")
