"""What a file keeps of an estimator: everything that its answers depend on, and nothing that they can be made from."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, get_args

import numpy as np

from latens.array.fields import record
from latens.core import Compressing, Fit, State, Walking
from latens.errors import FileRefused, WarningRecord
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.regression.units import RegressionUnits
from latens.estimators.rows.units import Units
from latens.intake.encoding import Encoding, encodings_from_text, encodings_to_text
from latens.io.checks.column_checks import check_columns, check_rounding
from latens.io.checks.multi_view_checks import (
    check_samples,
    check_views,
    columns_of_rows,
    names_of_columns,
    sizes_of_views,
)
from latens.io.checks.parameter_checks import check_agreement
from latens.io.checks.shape_checks import arrays_with_shapes, check_axes, check_sizes, switches_of
from latens.io.checks.stream_checks import check_stream
from latens.io.checks.type_checks import fits, hints_of
from latens.io.checks.value_checks import check_domains, check_finite, check_settings, kinds
from latens.io.registry import estimator_class, models_of, name_of
from latens.io.trace import from_columns, to_columns
from latens.models.mixture.model import Mixture
from latens.models.multi_view.model import MultiView
from latens.models.noisy_ica.model import NoisyIca
from latens.system.threads import one_blas_thread

__all__ = ["EstimatorState", "attributes_of", "parameters_of", "rebuilt"]

LEFT_BEHIND = frozenset({"callbacks"})  # functions are code, which a file must not hold
MOST_FLOATS_PER_ROW = 2**26  # half a gigabyte for one row: no fit got that far
CONTAINERS = ("default", "pandas", "polars")  # what `set_output` knows


@record
class EstimatorState:
    """The outcome of a fit; the published attributes follow from it."""

    model: Any
    units: Units | RegressionUnits
    state: State  # without locals: they belong to rows, which are not kept
    trace: list[dict[str, Any]]
    converged: bool
    n_features_in: int
    feature_names_in: list[str] | None = None
    component_names: list[str] | None = None
    output: str | None = None  # what `set_output` asked for
    warnings: list[tuple[str, str, str]] = field(default_factory=list)  # code, message, remedy of each
    attributes: dict[str, Any] = field(default_factory=dict)  # attributes that the estimator's class names
    encodings: str | None = None  # how columns of a file became numbers, as JSON

    @classmethod
    def of(cls, estimator: Any) -> EstimatorState:
        """Collect it from a fitted estimator."""
        own, parts = vars(estimator), fitted_parts(estimator)
        names = {name: own.get(f"{name}_") for name in ("feature_names_in", "component_names")}
        return cls(
            model=parts.model,
            units=parts.units,
            state=replace(parts.state, locals=None),
            trace=to_columns(estimator.trace_),
            converged=bool(estimator.converged_),
            n_features_in=int(estimator.n_features_in_),
            output=own.get("_sklearn_output_config", {}).get("transform"),
            warnings=[(each.code, each.message, each.remedy) for each in own.get("warnings_", [])],
            attributes=attributes_of(estimator),
            encodings=encodings_to_text(own["encodings_"]) if "encodings_" in own else None,
            **{name: None if value is None else list(map(str, value)) for name, value in names.items()},
        )


def attributes_of(estimator: Any) -> dict[str, Any]:
    """What it knows besides its posterior: the attributes that its class names in `file_attributes` and that it has."""
    return {
        name: vars(estimator)[name] for name in getattr(estimator, "file_attributes", ()) if name in vars(estimator)
    }


def parameters_of(estimator: Any) -> dict[str, Any]:
    """The constructor's parameters, as far as they are data; a generator of random numbers becomes None."""
    params = {name: value for name, value in estimator.get_params(deep=False).items() if name not in LEFT_BEHIND}
    if not isinstance(params.get("random_state", 0), int | float | np.integer | np.floating):
        params["random_state"] = None
    chosen = params.get("likelihoods")
    if type(chosen) is dict:  # by column number or name, which are the same column as text
        params["likelihoods"] = {
            str(name): {str(column): own for column, own in kind.items()} if type(kind) is dict else kind
            for name, kind in chosen.items()
        }
    return params


def rebuilt(name: str, params: Mapping[str, Any], fitted: EstimatorState) -> Any:
    """The estimator that a file tells of.

    Raises
    ------
    FileRefused
        If its parts do not fit together or its numbers cannot be.
    """
    try:
        # absurd numbers may divide by zero on their way to being refused
        with np.errstate(all="ignore"), one_blas_thread():
            _check_parts(name, fitted)
            columns = names_of_columns(fitted.attributes) if isinstance(fitted.model, MultiView) else set()
            check_agreement(name, params, fitted.model, columns)
            return _assembled(estimator_class(name), params, fitted)
    except (FileRefused, MemoryError):
        raise
    except Exception as error:
        raise FileRefused(f"its parts do not make a {name} ({type(error).__name__}: {error}).") from error


def _check_parts(name: str, fitted: EstimatorState) -> None:
    """Everything that can be known before the equations of the model see the numbers."""
    model, units, state, d = fitted.model, fitted.units, fitted.state, fitted.n_features_in
    _check_attributes(estimator_class(name), fitted.attributes)
    models = models_of(estimator_class(name))
    if name_of(type(model)) is None or not issubclass(type(model), models):
        wanted = " or ".join(sorted(cls.__name__ for cls in models))
        raise FileRefused(f"its model is a {type(model).__name__}; a {name} has a {wanted}.")
    _check_sums(model, state)
    if d < 1:
        raise FileRefused(f"it claims {d} columns; expected at least 1.")
    if fitted.feature_names_in is not None and len(fitted.feature_names_in) != d:
        raise FileRefused(f"it has {len(fitted.feature_names_in)} names for {d} columns.")
    if fitted.output is not None and fitted.output not in CONTAINERS:
        raise FileRefused(f"output is {fitted.output[:40]!r}; expected one of {', '.join(CONTAINERS)}.")
    check_settings(model, d)
    columns = d
    if isinstance(model, MultiView):
        check_views(model, state, fitted.attributes, d)
        columns = columns_of_rows(fitted.attributes)
    check_sizes([*arrays_with_shapes(units, "units")], {"d": columns})
    _check_shapes(model, state, d)
    check_finite(fitted, "fitted")
    check_domains(model, "model")
    check_domains(state.q, "state.q")
    if kinds(state.q, "q") != kinds(model.prior(1), "q"):
        raise FileRefused("its posterior is not of the family that its model has.")
    if not np.all((units.scale > 0) & (units.scale < np.inf)):
        raise FileRefused(f"units.exponent is {str(units.exponent)[:80]}, beyond the range of numbers.")
    if model.floats_per_row(state.q.n_components) > MOST_FLOATS_PER_ROW:
        raise FileRefused(f"its model would need more than {MOST_FLOATS_PER_ROW} numbers for every row of data.")
    for sums in (state.stats, state.data):
        if sums is not None and not sums.n > 0:
            raise FileRefused(f"it claims {sums.n} rows; expected more than 0.")
    if state.step < 0:
        raise FileRefused(f"it claims {state.step} iterations; expected 0 or more.")
    check_finite(model.global_terms(state.q), "terms")
    stream = fitted.attributes.get("stream_")
    if stream is not None:
        check_stream(estimator_class(name), stream, columns)  # of levels, rows have more columns than tables
    if isinstance(model, MultiView):
        check_samples(model, state, fitted.attributes)
    elif isinstance(model, Mixture):
        check_columns(model, state, fitted.attributes, d)
    elif isinstance(model, NoisyIca):
        check_rounding(model.rounding)


def _check_attributes(cls: type, attributes: Mapping[str, Any]) -> None:
    """Refuse what the class does not keep, and what is not of the type that it says."""
    known = getattr(cls, "file_attributes", ())
    for name, value in attributes.items():
        if name not in known:
            raise FileRefused(f"a {cls.__name__} keeps no {name[:40]!r}; it keeps {', '.join(known) or 'nothing'}.")
        if not fits(value, hints_of(cls)[name]):
            raise FileRefused(f"{name} is a {type(value).__name__}; expected {hints_of(cls)[name]}.")


def _check_sums(model: Any, state: State) -> None:
    """Refuse statistics, or a batch that stands for all rows, of another kind than the model's methods make."""
    made = [hints_of(model.statistics).get("return", Any)]
    made += [get_args(hints_of(model.walk)["return"])[1]] if isinstance(model, Walking) else []
    wanted = hints_of(model.compress).get("return", Any) if isinstance(model, Compressing) else None
    known = state.stats is None and state.data is not None  # the batch tells them, in files before version 4
    whole = state.data is None if wanted is None else fits(state.data, wanted)
    for sums, fine in ((state.stats, known or any(fits(state.stats, kind) for kind in made)), (state.data, whole)):
        if not fine:
            raise FileRefused(f"its sums are a {type(sums).__name__}, which a {type(model).__name__} does not take.")


def _check_shapes(model: Any, state: State, n_features: int) -> None:
    """Refuse arrays that do not have the shapes that their fields declare."""
    sizes = switches_of(model) | (sizes_of_views(model) if isinstance(model, MultiView) else {})
    if sizes.get("n_features", n_features) != n_features:
        raise FileRefused(f"its model has {sizes['n_features']} columns and its data {n_features}; they must agree.")
    found = [*arrays_with_shapes(model, "model"), *arrays_with_shapes(state, "state")]
    check_axes(found, type(model).__name__)
    check_sizes(found, sizes | {"d": n_features, "k": state.q.n_components})


def _assembled(cls: Any, params: Mapping[str, Any], fitted: EstimatorState) -> Any:
    """A new estimator that publishes the stored fit; refused where a parameter or a published number is not finite."""
    known = [name for name in inspect.signature(cls).parameters if name not in LEFT_BEHIND]
    strange = [name for name in params if name not in known]
    if strange:
        raise FileRefused(f"{cls.__name__} has no parameter {strange[0][:80]!r}; it has {', '.join(known)}.")
    trace = from_columns(fitted.trace)
    if not trace:
        raise FileRefused("its trace is empty; a fit has at least one iteration.")
    for name, value in params.items():
        if isinstance(value, float) and np.isinf(value):
            continue  # "without limit" is a setting, NaN is none
        check_finite(value, f"parameter {name}")
    estimator = cls(**params)
    estimator.n_features_in_ = fitted.n_features_in
    if fitted.feature_names_in is not None:
        estimator.feature_names_in_ = np.array(fitted.feature_names_in, dtype=object)
    if fitted.component_names is not None:
        estimator.component_names_ = np.array(fitted.component_names, dtype=object)
    if fitted.output is not None:
        estimator.set_output(transform=fitted.output)
    if fitted.encodings is not None:
        estimator.encodings_ = _encodings(fitted)
    estimator.warnings_ = [WarningRecord(*each) for each in fitted.warnings]
    for name, value in fitted.attributes.items():
        setattr(estimator, name, value)
    estimator._keep(fitted.model, fitted.units, Fit(_with_statistics(fitted), trace, fitted.converged))
    for name, value in vars(estimator).items():
        if name.endswith("_"):
            check_finite(value, name)
    return estimator


def _with_statistics(fitted: EstimatorState) -> State:
    """The state; what a file before version 4 does not hold of it is found from the batch that stands for all rows."""
    model, state = fitted.model, fitted.state
    if state.stats is not None:
        return state
    return replace(state, stats=model.statistics(state.data, model.local_step(state.q, state.data)))


def _encodings(fitted: EstimatorState) -> dict[str, Encoding]:
    """How columns become numbers; as many numbers as the model has columns."""
    encodings = encodings_from_text(fitted.encodings or "")
    # a model that knows columns of levels takes one number for each column, others one for each level
    width = sum(
        len(encoding.columns if _has_levels(fitted.attributes, encoding) else encoding.names)
        for encoding in encodings.values()
    )
    if width != fitted.n_features_in:
        raise FileRefused(f"its encoding makes {width} columns of a table; the model has {fitted.n_features_in}.")
    return encodings


def _has_levels(attributes: Mapping[str, Any], encoding: Encoding) -> bool:
    """Whether a model takes the columns of a table as they are, levels too."""
    if "columns_" in attributes:
        return bool(attributes["columns_"].encoding)
    if "layout_" not in attributes:
        return False
    names = [name for own in attributes["layout_"].as_read.features for name in own]
    return sorted(names) == sorted(column.name for column in encoding.columns)
