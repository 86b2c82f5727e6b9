"""scikit-learn's checks that need pandas, for every estimator."""

import pytest

import latens
from tests.estimators.conventions.verdict import complaints

ESTIMATORS = [
    latens.BinaryFactorAnalysis(2, prior="ml", n_init=1, max_iter=20),
    latens.GaussianMixture(2, n_init=1, max_iter=20),
    latens.BernoulliMixture(2, n_init=1, max_iter=20),
    latens.LatentClassAnalysis(2, n_init=1, max_iter=20),
    latens.FactorAnalysis(1),
    latens.NoisyOr(2, prior="ml", n_init=1, max_iter=20),
    latens.NoisyICA(2, n_init=1, max_iter=20),
    latens.BayesianLinearRegression(),
    latens.MultiViewFactorAnalysis(2, max_iter=20),
]


@pytest.mark.extras
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_scikit_learn_finds_no_fault_where_pandas_is_installed(estimator):
    assert complaints(estimator, with_pandas=True) == []
