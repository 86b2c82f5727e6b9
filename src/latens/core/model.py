"""What a model is: pure functions between rows, statistics and posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from latens.array import Array, Floats, Index
from latens.core.rows import Rows
from latens.core.statistics import Statistics

__all__ = [
    "Ambiguous",
    "Answers",
    "Averaging",
    "B",
    "Carrying",
    "Coded",
    "Compressing",
    "Covarying",
    "CovaryingAtRest",
    "Crossing",
    "EvidenceBound",
    "Expanding",
    "Facts",
    "Fading",
    "Following",
    "Fused",
    "L",
    "Leaping",
    "Local",
    "Loose",
    "Model",
    "Movable",
    "Narrow",
    "Overlapping",
    "PointEstimating",
    "Posterior",
    "Proposal",
    "Q",
    "Reducible",
    "Removal",
    "Roundable",
    "S",
    "Sloped",
    "Solved",
    "Steps",
    "Stretching",
    "Tiered",
    "Uniting",
    "Walking",
]


class Posterior(Protocol):
    """Global posterior: a frozen dataclass of families, float64 on the host."""

    @property
    def n_components(self) -> int: ...

    def only(self, keep: Index) -> Self: ...  # these components, in this order

    def sample(self, rng: np.random.Generator) -> Self: ...  # one draw, as a posterior of points


class Local(Protocol):
    """Local posterior of one batch: a frozen dataclass of arrays like the rows."""


B = TypeVar("B", contravariant=True)
Q = TypeVar("Q", bound=Posterior)
L = TypeVar("L", bound=Local)
S = TypeVar("S", bound=Statistics)


class Steps(Protocol[B, Q, L, S]):
    """What drivers need, and all that a newcomer writes to see a fit.

    A model is a frozen dataclass of hyper-parameters; no data, randomness or counters inside. A batch B is `Rows`, or
    what stands for them where sums can replace rows.
    """

    def local_step(self, q: Q, batch: B, warm: L | None = None) -> L: ...  # None: a start fixed by (q, batch)

    def statistics(self, batch: B, local: L) -> S: ...  # gets no q: the bound stays exact after a global step

    def global_step(self, q: Q, stats: S) -> Q: ...  # gets no rows: streams and devices come free

    def data_terms(self, q: Q, stats: S) -> dict[str, float]: ...  # linear in stats

    def global_terms(self, q: Q) -> dict[str, float]: ...  # minus the divergences; sees no data

    def exact_local(self, q: Q) -> bool: ...  # whether one local step already settles a row


@runtime_checkable
class Sloped(Protocol):
    """A model whose families have Fisher matrices in closed form: second derivatives then take few evaluations."""

    def slopes(self, q: Any, stats: Any) -> Mapping[str, Any] | None: ...

    # derivatives of data and global terms by the fields of q at fixed statistics, nested as q is; linear in these but
    # for what the prior adds. None: not this q's


@runtime_checkable
class Covarying(Protocol):
    """A model with exact local steps that knows how its codes vary: what they leave unknown then takes no pass.

    A row's log density has terms in which codes meet what q says, such as h'w; as q moves along two coordinates, the
    information about them that is lost with the codes is the covariance of how these terms change (Louis, 1982).
    """

    def code_weights(self, q: Any) -> Floats: ...  # (m,), what codes are multiplied by, each of one column

    # (P, P), sum over rows of these covariances, for slopes (m, P) of `code_weights`; None: not of this batch
    def lost_information(self, q: Any, batch: Any, slopes: Floats) -> Floats | None: ...


@runtime_checkable
class CovaryingAtRest(Protocol):
    """The same of local steps that are repeated: of rows that have settled, what codes hear of each other included."""

    def code_weights(self, q: Any) -> Floats: ...  # (m,), what codes are multiplied by, each of one column or of none

    def lost_at_rest(self, q: Any, batch: Any, local: Any, slopes: Floats) -> Floats | None: ...


@runtime_checkable
class Narrow(Protocol):
    """A model whose local steps see little of q: coordinates that move it alike move sums over rows alike."""

    def seen_by_rows(self, q: Any, complete: bool) -> Floats: ...  # (m,), of rows without holes, or of any


@runtime_checkable
class Coded(Protocol):
    """A model whose rows have codes: where local steps are repeated, these say how far they still move."""

    def codes(self, batch: Any, local: Any) -> tuple[Array, Array]: ...  # mean and variance, (n, K) each


class Answers(Coded, Protocol):
    """What a fitted model is asked about rows, whatever its posterior is."""

    def log_predictive(self, q: Any, batch: Rows, local: Any) -> Array: ...  # (n,), unweighted

    def row_bounds(self, q: Any, batch: Rows, local: Any) -> Array: ...  # (n,), weighted they add up to the data terms

    def impute(self, q: Any, batch: Rows, local: Any) -> tuple[Array, Array]: ...  # mean and variance, (n, D) each

    def reconstruct(self, q: Any, codes: Array) -> Array: ...  # (n, D), expected rows given codes alone

    def draw(self, q: Any, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]: ...  # rows, codes


class Facts(Protocol):
    """What is known of a model without rows."""

    def prior(self, k: int) -> Any: ...  # for any number of components: moves change it

    def score_is_bound(self, q: Any) -> bool: ...  # whether log_predictive is only the row's own bound

    def importance(self, q: Any, stats: Any) -> Floats: ...  # (K,), share of each component; 0: dead, not published

    def floats_per_row(self, k: int) -> int: ...  # scratch numbers a row needs; blocks are sized by it


class Model(Steps[Any, Any, Any, Any], Answers, Facts, Protocol):
    """All of it: what an estimator fits, asks and publishes without knowing what is inside."""


@runtime_checkable
class PointEstimating(Protocol):
    """A model whose globals may be points: its bound is then a likelihood, or below one."""

    @property
    def points(self) -> bool: ...


@runtime_checkable
class EvidenceBound(Protocol):
    """A model whose bound may be the evidence itself."""

    @property
    def bound_is_evidence(self) -> bool: ...


@runtime_checkable
class Movable(Protocol):
    """A model that proposes posteriors with other components, each by itself or as a `Proposal`."""

    def candidates(self, q: Any, stats: Any, sample: Rows, rng: np.random.Generator, limit: int) -> Iterator[Any]: ...


@runtime_checkable
class Tiered(Protocol):
    """One of whose candidates some are better tried first: `candidates` are these, and then the further ones.

    Starts are compared after the first alone; further ones are tried for those that are higher than all before them.
    """

    def first_candidates(
        self, q: Any, stats: Any, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]: ...

    def further_candidates(
        self, q: Any, stats: Any, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]: ...


@runtime_checkable
class Regrouping(Protocol):
    """A model whose candidates are better tried in another order after a move that left as many components or more.

    What gained once often gains again, and what takes components out may undo what such moves build step by step. A
    move that did take some out is followed by the usual order, before the fit settles.
    """

    def candidates_again(
        self, q: Any, stats: Any, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]: ...


@runtime_checkable
class Crossing(Protocol):
    """A model that makes posteriors out of two from different starts: one may have found what the other lacks."""

    def crossed(self, one: Any, other: Any, sample: Rows, limit: int) -> Iterator[Any]: ...

    def crosses_unmoved(self, sample: Rows) -> bool:
        """Whether starts but the first are crossed as they are: moves of their own take longer than they are worth."""


@runtime_checkable
class Uniting(Protocol):
    """A model that makes one posterior out of the components of two."""

    def united(self, one: Any, other: Any) -> Any: ...


@dataclass(frozen=True)
class Proposal:
    """A candidate that says which present components it keeps: its trial starts from the present codes of rows."""

    q: Any
    of: Index  # (K,), the number in the present posterior of each component; -1 for a new one

    @property
    def n_components(self) -> int:
        return int(self.q.n_components)


@dataclass(frozen=True)
class Removal(Proposal):
    """One that lacks a component, and is judged where its ascent ends: the others may be slow to take its place."""

    n_steps_low: int = 0  # iterations for which it may be far lower than the fit: others have not changed by then
    again: bool = False  # whether rows, where the ascent ends not far below, begin once more without their codes


@runtime_checkable
class Fading(Protocol):
    """A model that tells components which are likely to vanish: moves take these out before an ascent has settled."""

    def fading(self, q: Any, stats: Any) -> NDArray[np.bool_]: ...  # (K,)


@runtime_checkable
class Following(Protocol):
    """A local posterior that can go on with other components."""

    def follow(self, of: Index) -> Self: ...  # component k is what of[k] was; new ones, marked by -1, are off


@runtime_checkable
class Roundable(Protocol):
    """A local posterior that says in single precision, too, where the next local step begins."""

    def in_single(self) -> Self: ...


@runtime_checkable
class Reducible(Protocol):
    """A model that says what is left where nothing is found: no component, or one cluster that holds all rows."""

    def fewest(self, q: Any, stats: Any) -> Any: ...  # None for point estimates, whose number is given


@runtime_checkable
class Loose(Protocol):
    """A model that knows the slack of its bound, which differs with the components; moves add it before comparing."""

    def looseness(self, q: Any, sample: Rows, n: float) -> float: ...  # nats, of n rows like the sample


@runtime_checkable
class Averaging(Protocol):
    """A model whose statistics need moments of codes and no more: where local steps are exact, nothing else is made."""

    def code_moments(self, q: Any, batch: Any) -> Any: ...  # for `statistics`, which the posterior would answer alike


@runtime_checkable
class Fused(Protocol):
    """A model that has a shorter way to the sums over some blocks than a local step and statistics after it."""

    def prepare(self, q: Any) -> None: ...  # what all blocks of a pass share, kept with q

    # what is kept of a block, and its statistics, as a local step and `statistics` would have them; None: the long way
    def inferred(self, q: Any, batch: Any, warm: Any) -> tuple[Any, Any] | None: ...


@runtime_checkable
class Overlapping(Protocol):
    """A fused model whose blocks another device may work on while the host takes the bound and looks ahead."""

    # ask for blocks under q, as `inferred` is likely to be asked; whether it is or not changes no answer
    def begin(self, q: Any, batches: Sequence[Any]) -> None: ...


@runtime_checkable
class Carrying(Protocol):
    """A model whose statistics depend on q: they move with it."""

    def carry(self, stats: Any, old: Any, new: Any) -> Any: ...  # old is the posterior they were taken under


@runtime_checkable
class Expanding(Protocol):
    """A model that knows directions along which plain ascent hardly moves, such as turns and sizes of its codes."""

    def expanded(self, q: Any, stats: Any) -> Any: ...  # where to go on from instead of q: judged by the bound


@runtime_checkable
class Stretching(Protocol):
    """A model whose ascent is slow because its steps are short: they may be extrapolated."""

    def beyond(self, old: Any, new: Any, times: float) -> Any: ...  # `times` the step from `old`; `new`: no further


@runtime_checkable
class Leaping(Protocol):
    """A model whose ascent takes long ways: where they lead is told from the last steps, in free coordinates."""

    def coordinates(self, q: Any) -> Floats: ...  # (P,)

    def scales(self, q: Any) -> NDArray[np.bool_]: ...  # (P,), those along which nothing but scales change

    def trusted(self, q: Any) -> float: ...  # nats per row from which a gain tells of the other coordinates, too

    def at(self, q: Any, x: Floats) -> Any: ...  # what they do not say is as in q

    def products(self, q: Any, stats: Any, moves: Floats) -> Floats: ...  # (m, m) of moves (m, P); squares in nats


@runtime_checkable
class Ambiguous(Protocol):
    """A model whose rows may settle in one of several optima, by where their local steps begin."""

    def gap_of_optima(
        self, q: Any, n: float, bound: float
    ) -> float: ...  # nats by which n rows settled anew may differ

    def rows_alone(self, stats: Any) -> Floats: ...  # sums that no code changes, by which other rows are known


@runtime_checkable
class Biased(Protocol):
    """A model that may approximate posteriors of rows in a way that moves where its bound is highest."""

    def biased_local(self, q: Any) -> bool: ...  # intervals around such an optimum promise nothing


@runtime_checkable
class Turnable(Posterior, Protocol):
    """A posterior whose components, exchanged for mixtures of each other, describe the rows as well."""

    def turned(self, rotation: Floats) -> Any: ...  # points in other axes: codes @ rotation (K, K)


@runtime_checkable
class Mirrored(Posterior, Protocol):
    """A posterior in which the sign of a component is a convention."""

    def signed(self, signs: Floats) -> Any: ...  # points with the sign of some components reversed; (K,) of 1 and -1


@runtime_checkable
class Compressing(Protocol):
    """A model with sums that can replace the rows: they add like statistics, and are a batch like rows."""

    def compress(self, batch: Any) -> Any: ...  # what `State.data` holds


@runtime_checkable
class Solved(Protocol):
    """A model whose optimum with so many components is found from sums of rows, without iterations from a start."""

    def optimum(self, q: Any, k: int, batch: Any) -> Any | None: ...  # floors are those of q; None: not of this batch


@runtime_checkable
class Walking(Protocol):
    """A model whose posterior changes with every row: it goes through the rows of a batch by itself."""

    def walk(self, q: Any, stats: Any, batch: Rows) -> tuple[Any, Any]: ...  # posterior and sums after the last of them
