"""Linear response where the answer is known: a Gaussian model, exact whatever q leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from latens.array.fields import positive, real
from latens.core import Rows, Statistics
from latens.core.coordinates import Chart
from latens.inference.uncertainty.arrow import blocks_of, whole_of
from latens.inference.uncertainty.response import respond


@dataclass(frozen=True)
class Two:
    """Two unknowns as independent Normals."""

    mean: np.ndarray = real("d")
    variance: np.ndarray = positive("d")
    n_components: int = 1


@dataclass(frozen=True)
class Codes:
    mean: np.ndarray
    variance: float


@dataclass(frozen=True)
class Sums(Statistics):
    n: float
    entries: float
    x: float
    xx: float
    z: float
    zz: float
    xz: float
    entropy: float


@dataclass(frozen=True)
class Sum:
    """x_n = a + b + z_n + noise; z_n ~ Normal(0, 1), a and b ~ Normal(0, 1 / prior): all Gaussian, q factorised."""

    precision: float = 4.0  # of the noise
    prior: tuple[float, float] = (0.5, 2.0)
    wrong: float = 1.0  # what a planted error multiplies the codes' sum by

    def local_step(self, q: Two, batch: Rows, warm: Codes | None = None) -> Codes:
        t = self.precision
        return Codes(t * (batch.x[:, 0] - q.mean.sum()) / (1 + t), 1 / (1 + t))

    def statistics(self, batch: Rows, local: Codes) -> Sums:
        x, z, n = batch.x[:, 0], local.mean, len(batch)
        entropy = 0.5 * n * (np.log(2 * np.pi * local.variance) + 1)
        sums = (float(x.sum()), float(x @ x), self.wrong * float(z.sum()), float(z @ z + n * local.variance))
        return Sums(n, n, *sums, float(x @ z), entropy)

    def global_step(self, q: Two, stats: Sums) -> Two:
        mean = q.mean.copy()
        for i in range(2):
            precision = self.prior[i] + self.precision * stats.n
            mean[i] = self.precision * (stats.x - stats.z - stats.n * mean[1 - i]) / precision
        return Two(mean, 1 / (np.array(self.prior) + self.precision * stats.n))

    def data_terms(self, q: Two, stats: Sums) -> dict[str, float]:
        m, square = q.mean.sum(), q.mean.sum() ** 2 + q.variance.sum()
        left = stats.xx + stats.n * square + stats.zz - 2 * m * stats.x - 2 * stats.xz + 2 * m * stats.z
        level = 0.5 * stats.n * np.log(self.precision / (2 * np.pi))
        codes = -0.5 * (stats.zz + stats.n * np.log(2 * np.pi)) + stats.entropy
        return {"likelihood": float(level - 0.5 * self.precision * left), "codes": float(codes)}

    def global_terms(self, q: Two) -> dict[str, float]:
        a = np.array(self.prior)
        return {"kl": float(0.5 * np.sum(np.log(a * q.variance) + 1 - a * (q.mean**2 + q.variance)))}

    def codes(self, batch: Rows, local: Codes) -> tuple[np.ndarray, np.ndarray]:
        return local.mean[:, None], np.full((len(batch), 1), local.variance)

    def exact_local(self, q: Two) -> bool:
        return True


def some_rows() -> Rows:
    return Rows(np.random.default_rng(0).normal(size=(20, 1)) * 1.2 + 1)


START = Two(np.array([0.3, 0.1]), np.array([0.2, 0.2]))


def test_linear_functionals_of_a_gaussian_posterior_have_their_exact_covariance() -> None:
    model, rows = Sum(), some_rows()
    response = respond(model, [rows[:7], rows[7:]], START)
    informed = 20 / (1 + 1 / model.precision) * np.ones((2, 2)) + np.diag(model.prior)
    jacobian = response.jacobian(lambda q: q.mean)
    assert jacobian @ response.covariance @ jacobian.T == pytest.approx(np.linalg.inv(informed), rel=1e-5)
    assert response.std(jacobian) == pytest.approx(np.sqrt(np.diag(np.linalg.inv(informed))), rel=1e-5)
    narrow = np.diag(jacobian @ response.mean_field @ jacobian.T)
    with_codes = 20 * model.precision * np.ones((2, 2)) + np.diag(model.prior)
    assert narrow == pytest.approx(np.diag(np.linalg.inv(with_codes)), rel=1e-5)
    # the sum of both is well told, so that what the codes take away shows in it most
    both = jacobian.sum(axis=0, keepdims=True)
    share = 1 - (both @ response.mean_field @ both.T)[0, 0] / (both @ response.covariance @ both.T)[0, 0]
    assert response.std_and_missing(both)[1] == pytest.approx([share])
    assert 0.6 < share < 0.8
    assert response.decrement < 1e-3
    newton = response.chart.at(response.covariance @ response.gradient)  # what is left of the way to the optimum
    total = model.precision / (1 + model.precision) * rows.x.sum()
    assert newton.mean == pytest.approx(np.linalg.solve(informed, [total, total]), rel=1e-5)
    assert response.held == ()


def test_a_wrong_sum_over_codes_shows() -> None:
    response = respond(Sum(wrong=0.8), [some_rows()], START, ascent=False)
    assert np.abs(response.cross - respond(Sum(), [some_rows()], START, ascent=False).cross).max() > 1


def test_directions_that_rows_do_not_tell_are_infinite_and_others_are_not() -> None:
    response = respond(Sum(prior=(1e-9, 1e-9)), [some_rows()], START)
    jacobian = response.jacobian(lambda q: np.append(q.mean, q.mean.sum()))
    assert np.isinf(response.std(jacobian)).tolist() == [True, True, False]
    assert response.std(jacobian)[2] == pytest.approx(np.sqrt((1 + 1 / 4) / 20), rel=1e-4)
    assert response.std_and_missing(jacobian)[1][:2].tolist() == [1, 1]


def test_a_chart_moves_every_domain_inside_itself_and_starts_at_the_point() -> None:
    chart = Chart(Two(np.array([3.0, -1.0]), np.array([0.5, 2.0])))
    assert chart.names == ("mean[0]", "mean[1]", "variance[0]", "variance[1]")
    assert chart.at(np.zeros(4)) is chart.point
    far = chart.at(np.array([1.0, 0.0, -50.0, 1.0]))
    assert far.mean.tolist() == [6.0, -1.0]
    assert np.all(far.variance > 0)


@dataclass(frozen=True)
class Columns:
    """A number of its own for each of six columns, two that all share."""

    own: np.ndarray = real("d")
    shared: np.ndarray = real("k")


@pytest.mark.parametrize("between", [0.0, 1e-3])
def test_columns_are_moved_together_only_where_they_do_not_meet(between: float) -> None:
    chart, rng, products = Chart(Columns(np.ones(6), np.ones(2))), np.random.default_rng(0), []
    matrix = np.diag(rng.uniform(1, 3, 8))
    matrix[:6, 6:] = rng.normal(size=(6, 2)) * 0.2
    matrix[6:, :6] = matrix[:6, 6:].T
    matrix[0, 3] = matrix[3, 0] = between

    def product(v: np.ndarray) -> np.ndarray:
        products.append(v)
        return matrix @ v

    assert whole_of(product, chart, blocks_of(chart), 1e-5) == pytest.approx(matrix, abs=1e-12)
    assert (len(products) < 6) == (between == 0)
