"""What posteriors over weights know that trained weights do not, in two pictures.

A regression on bumps along a line, whose exact posterior is known: snapshots of plain SGD are surest where there are no
data, for no gradient moves the weights there; those of the Langevin-corrected steps are not. And two moons: a net that
is sure everywhere, and posteriors of such steps that are unsure away from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.metrics import gaussian_kl
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.panels import Band, Field, band_panels, field_panels
from latens.system.optional_imports import require

__all__ = ["EXPERIMENT"]

NOISE = 0.15**2
PRIOR, NET_PRIOR = 1.0, 0.5  # precision of each weight, on the line and of the nets
SHARE = 0.02  # of the largest step, for nets
ENDS = (-5.0, 4.5)
CORNERS = (-2.6, 3.6, -2.4, 2.9)  # of the plane drawn: x from and to, y from and to


@dataclass(frozen=True)
class Settings:
    n_rows: int = 60
    n_bumps: int = 16
    n_steps: int = 12_000  # of each sampler, batches of ten rows
    rate: float = 0.01  # of SGD on the mean loss
    rank: int = 10
    n_moons: int = 200
    n_hidden: int = 8
    n_training: int = 1500  # steps before snapshots are taken
    n_snapshots: int = 300  # every tenth Langevin step
    n_members: int = 4
    n_draws: int = 200
    n_pixels: int = 90


@dataclass(frozen=True)
class Line:
    """Rows on a line, as bumps, and the exact posterior of their weights."""

    x: np.ndarray
    y: np.ndarray
    centres: np.ndarray

    @classmethod
    def random(cls, settings: Settings, rng: np.random.Generator) -> Line:
        half = settings.n_rows // 2
        x = np.concatenate([rng.uniform(-3.2, -1.2, half), rng.uniform(0.6, 2.6, settings.n_rows - half)])
        y = truth_at(x) + np.sqrt(NOISE) * rng.standard_normal(settings.n_rows)
        return cls(x, y, np.linspace(*ENDS, settings.n_bumps))

    def features(self, x: np.ndarray) -> np.ndarray:
        width = 0.75 * (self.centres[1] - self.centres[0])
        return np.asarray(np.exp(-0.5 * ((x[:, None] - self.centres) / width) ** 2))

    @property
    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        f = self.features(self.x)
        precision = PRIOR * np.eye(f.shape[1]) + f.T @ f / NOISE
        return np.linalg.solve(precision, f.T @ self.y / NOISE), np.linalg.inv(precision)


def truth_at(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(1.5 * x) + 0.3 * x)


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    torch = require("torch", "torch")
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        progress("a line: SGD and Langevin steps")
        line, bands = _line(settings, rng)
        progress("two moons")
        rows, fields, sureness = _moons(settings, rng, progress)
    return Result(
        tables=(
            _widths(line, bands),
            Numbers.of("moons", ("net", "sureness at the rows", "sureness far away"), sureness),
        ),
        figures=(_figures(line, bands, rows, fields),),
        notes=(notes := _notes(line, bands, sureness)),
        claims=(
            Claim(
                "title",
                "MultiSWAG is to be extended by factor analysis; no such run is in the text",
                notes[0],
                "no result in the document",
            ),
        ),
    )


# the line


def _line(settings: Settings, rng: np.random.Generator) -> tuple[Line, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The rows, and mean and covariance of the weights as each way tells them."""
    from latens.nets import SWAG, FactorPosterior, LangevinOptimizer

    torch = require("torch", "torch")
    line = Line.random(settings, rng)
    f = torch.as_tensor(line.features(line.x), dtype=torch.float32)
    y = torch.as_tensor(line.y, dtype=torch.float32)

    def steps(net: Any, optimiser: Any, after: Callable[[int], object]) -> None:
        for step in range(settings.n_steps):
            rows = torch.randint(len(y), (10,))

            def closure(rows: Any = rows) -> Any:
                optimiser.zero_grad()
                loss = 0.5 * (net(f[rows])[:, 0] - y[rows]).square().mean() / NOISE
                loss.backward()
                return loss

            optimiser.step(closure)
            after(step)

    def fresh() -> Any:
        net = torch.nn.Linear(f.shape[1], 1, bias=False)
        torch.nn.init.zeros_(net.weight)
        return net

    plain = fresh()
    swag = SWAG(plain, rank=min(20, f.shape[1]))
    descent = torch.optim.SGD(plain.parameters(), settings.rate, weight_decay=PRIOR / len(y))
    steps(plain, descent, lambda step: step > settings.n_steps // 2 and step % 6 == 0 and swag.update())
    net = fresh()
    ours = FactorPosterior(net, rank=settings.rank)
    sampler = LangevinOptimizer(
        net.parameters(), n_rows=len(y), lr=settings.rate, prior_precision=PRIOR, random_state=int(rng.integers(2**31))
    )
    steps(net, sampler, lambda step: sampler.sampling and step % 6 == 0 and ours.update())
    bands = {"exact posterior": line.posterior}
    for name, posterior in (("SGD and SWAG", swag), ("Langevin steps and factors", ours)):
        gaussian = posterior.to_low_rank()
        bands[name] = gaussian.mean, gaussian.covariance()
    return line, bands


def _spread(line: Line, covariance: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Standard deviation of the curve."""
    f = line.features(x)
    return np.asarray(np.sqrt(np.einsum("nd,de,ne->n", f, covariance, f)))


def _widths(line: Line, bands: dict[str, tuple[np.ndarray, np.ndarray]]) -> Numbers:
    """How wide the curve is, beside the exact posterior, at the rows and in the gap between them."""
    exact = bands["exact posterior"]
    places = (line.x, np.linspace(-0.8, 0.2, 21))
    rows = []
    for name, band in bands.items():
        ratios = [np.mean(_spread(line, band[1], x) / _spread(line, exact[1], x)) for x in places]
        rows.append((name, gaussian_kl(band, exact), *ratios))
    return Numbers.of("line", ("posterior", "KL (nats)", "width at the rows", "width in the gap"), rows)


# the moons


def _moons(
    settings: Settings, rng: np.random.Generator, progress: Progress
) -> tuple[list[np.ndarray], list[Field], list[tuple[str, float, float]]]:
    from latens.nets import FactorPosterior, LangevinOptimizer, MultiPosterior

    torch = require("torch", "torch")
    angle, side = rng.uniform(0, np.pi, settings.n_moons), np.arange(settings.n_moons) % 2
    upper, lower = np.column_stack([np.cos(angle), np.sin(angle)]), np.column_stack([1 - np.cos(angle), -np.sin(angle)])
    places = np.where(side[:, None] == 0, upper, lower + np.array([0.0, 0.5])) + 0.12 * rng.standard_normal(
        (settings.n_moons, 2)
    )
    x, y = torch.as_tensor(places, dtype=torch.float32), torch.as_tensor(side)
    grid = np.meshgrid(np.linspace(*CORNERS[:2], settings.n_pixels), np.linspace(*CORNERS[2:], settings.n_pixels))
    plane = torch.as_tensor(np.column_stack([axis.ravel() for axis in grid]), dtype=torch.float32)
    members: list[Any] = []
    for member in range(settings.n_members):
        progress(f"two moons, training {member + 1} of {settings.n_members}")
        net = _net(settings.n_hidden)
        posterior = FactorPosterior(net, rank=settings.rank)
        descent = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=NET_PRIOR / settings.n_moons)
        for _ in range(settings.n_training):
            descent.step(_closure(descent, net, x, y))
        if member == 0:
            with torch.no_grad():
                trained = torch.softmax(net(plane), dim=1).double().numpy()[:, 1]
        seed = int(rng.integers(2**31))
        sampler = LangevinOptimizer(net.parameters(), settings.n_moons, 0.01, NET_PRIOR, share=SHARE, random_state=seed)
        step = 0
        while posterior.n < settings.n_snapshots:
            sampler.step(_closure(sampler, net, x, y))
            step += 1
            if sampler.sampling and step % 10 == 0:
                posterior.update()
        members.append(posterior)
    answers, seed = {"trained net": trained}, int(rng.integers(2**31))
    for name, posterior, n in (
        ("FactorPosterior", members[0], settings.n_draws),
        (f"MultiPosterior of {settings.n_members}", MultiPosterior(members), settings.n_draws),
    ):
        answers[name] = posterior.predict([plane], n, random_state=seed).probabilities[:, 1]
    near = np.min(np.sum((plane.numpy()[:, None] - places[None]) ** 2, axis=2), axis=1)
    sureness = [
        (name, *(float(np.mean(np.maximum(p, 1 - p)[where])) for where in (near < 0.05, near > 1.0)))
        for name, p in answers.items()
    ]
    shape = (settings.n_pixels, settings.n_pixels)
    return (
        [places[side == 0], places[side == 1]],
        [Field(name, p.reshape(shape) - 0.5) for name, p in answers.items()],
        sureness,  # type: ignore[return-value]  # a name and two numbers each
    )


def _closure(optimiser: Any, net: Any, x: Any, y: Any) -> Callable[[], Any]:
    """Loss and gradients of one batch, the same one at each call."""
    torch = require("torch", "torch")
    rows = torch.randint(len(y), (32,))

    def closure() -> Any:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        return loss

    return closure


def _net(n_hidden: int) -> Any:
    nn = require("torch", "torch").nn
    layers = (nn.Linear(2, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Tanh(), nn.Linear(n_hidden, 2))
    return nn.Sequential(*layers)


# what it says


def _figures(
    line: Line, bands: dict[str, tuple[np.ndarray, np.ndarray]], rows: list[np.ndarray], fields: list[Field]
) -> Section:
    x = np.linspace(*ENDS, 100)  # a curve of straight pieces that are not seen as such
    panels = [
        Band(name, line.features(x) @ mean, _spread(line, covariance, x), tone)
        for tone, (name, (mean, covariance)) in zip((2, 1, 0), bands.items(), strict=True)
    ]
    points = np.column_stack([line.x, line.y])
    curves = band_panels(panels, x, points, x_label="x", y_range=(-3.2, 3.2), truth=truth_at(x))
    return Section(
        "Knowing what is not known",
        figures=(
            Figure(
                curves,
                "A regression on bumps along the line: the curve, and once and twice its standard deviation; dashed, "
                "the truth. SGD moves no weight where there are no rows, so that SWAG is surest there.",
                wide=True,
                name="line",
            ),
            Figure(
                field_panels(fields, CORNERS, rows),
                "Two moons: red and blue where the net is sure of a class, white where it is not. The posteriors are "
                "factors of Langevin-corrected steps that go on from the trained net.",
                wide=True,
                name="moons",
            ),
        ),
    )


def _notes(
    line: Line, bands: dict[str, tuple[np.ndarray, np.ndarray]], sureness: list[tuple[str, float, float]]
) -> tuple[str, ...]:
    rows = {str(row[0]): row for row in _widths(line, bands).rows}
    swag, ours = rows["SGD and SWAG"], rows["Langevin steps and factors"]
    return (
        f"Width of the curve in the gap, over that of the exact posterior: {number(float(swag[3]))} by SWAG on the "
        f"path of SGD, {number(float(ours[3]))} by factors of Langevin-corrected steps; at the rows "
        f"{number(float(swag[2]))} and {number(float(ours[2]))}. KL from the exact posterior: "
        f"{number(float(swag[1]))} and {number(float(ours[1]))} nats.",
        f"Two moons, mean probability of the likelier class far from all rows: {number(sureness[0][2])} by the trained "
        f"net, {number(sureness[1][2])} by {sureness[1][0]}, {number(sureness[2][2])} by {sureness[2][0]}; at the rows "
        f"{number(sureness[0][1])}, {number(sureness[1][1])} and {number(sureness[2][1])}.",
    )


EXPERIMENT = Experiment(
    name="weight-uncertainty",
    title="what posteriors over weights know that trained weights do not",
    document="002",
    place="title: posteriors of a net's weights, which its text does not try",
    about=(
        "Two pictures. A regression along a line, whose posterior is known exactly, beside SWAG on the path of plain "
        "SGD and factors of Langevin-corrected steps; and two moons, where a trained net is sure everywhere, beside "
        "posteriors of one and of several trainings. Needs torch."
    ),
    settings=Settings(),
    quick=Settings(
        n_steps=2_000, n_moons=100, n_training=300, n_snapshots=40, n_members=2, n_draws=30, n_pixels=40, n_hidden=4
    ),
    run=run,
)
