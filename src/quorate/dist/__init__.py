"""p: families of distributions, a batch of rows each, one file a family."""

from quorate.dist.base import Predictive
from quorate.dist.beta import Beta
from quorate.dist.binomial import Binomial
from quorate.dist.categorical import Categorical
from quorate.dist.dirichlet import Dirichlet
from quorate.dist.empirical import Empirical
from quorate.dist.gamma import Gamma
from quorate.dist.laplace import Laplace
from quorate.dist.log_normal import LogNormal
from quorate.dist.mixture import Mixture
from quorate.dist.negative_binomial import NegativeBinomial
from quorate.dist.normal import Normal
from quorate.dist.poisson import Poisson
from quorate.dist.student_t import StudentT
from quorate.dist.truncated import Truncated

__all__ = [
    "Beta",
    "Binomial",
    "Categorical",
    "Dirichlet",
    "Empirical",
    "Gamma",
    "Laplace",
    "LogNormal",
    "Mixture",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Predictive",
    "StudentT",
    "Truncated",
]
