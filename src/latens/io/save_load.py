"""`latens.save` and `latens.load`.

A load reads the archive and its checksums (`archive.reading`), brings a file of an earlier version to the present one
(`versions`), makes records of its header (`encoding`), and makes an estimator of them that passes `checks`
(`estimator_state.rebuilt`). A save does the last two as well before it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latens import __version__
from latens.errors import FileRefused
from latens.estimators.fitted_parts import check_fitted
from latens.io.archive.reading import read_archive
from latens.io.archive.writing import FORMAT, VERSION, write_archive
from latens.io.encoding import decode, encode
from latens.io.estimator_state import EstimatorState, parameters_of, rebuilt
from latens.io.registry import custom_records, estimator_class, estimators, name_of
from latens.io.versions import upgrade
from latens.models.likelihoods.names import own_likelihoods
from latens.system.atomic_write import replacing, special_file

__all__ = ["load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to a file that `latens.load` reads.

    The file contains only data, arrays and JSON, with checksums. An existing file at `path` stays until the new file
    is complete. Callbacks are not written, and a `random_state` that is a generator is written as None.

    Parameters
    ----------
    model : fitted estimator of latens
    path : str or path-like
        Where to write; no suffix is added. The folder must exist.

    Returns
    -------
    pathlib.Path
        The path.

    Raises
    ------
    TypeError
        If `model` is not an estimator of latens, or a parameter cannot be stored in files, such as a
        likelihood of one's own that is not marked by `latens.likelihoods.record`.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> import latens, pathlib, tempfile
    >>> X, truth = latens.datasets.make_shapes(random_state=0)
    >>> model = latens.BinaryFactorAnalysis(8, n_init=1, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = latens.load(latens.save(model, pathlib.Path(folder) / "shapes.latens"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    path = Path(path)
    name = name_of(type(model))
    if name not in estimators():
        raise TypeError(
            f"a {type(model).__name__} cannot be saved; latens.save writes {', '.join(estimators())}. "
            "Of a pipeline, save the step that is one of them."
        )
    check_fitted(model, f"this {name} is not fitted yet, so there is nothing to save; call fit first.")
    with custom_records(_own_classes(model)):
        header, arrays = _written(name, model)
    with replacing(path) as file:
        write_archive(file, header, arrays)
    return path


def _own_classes(model: Any) -> set[type]:
    """Classes of the caller's own likelihoods."""
    given = vars(model).get("likelihoods")
    own = {} if given is None else own_likelihoods(given)
    return {type(kind) for kind in own.values() if name_of(type(kind)) is None}


def _written(name: str, model: Any) -> tuple[dict[str, Any], list[Any]]:
    """Header and arrays of a file."""
    arrays: list[Any] = []
    params = {key: encode(value, arrays, f"the parameter {key}") for key, value in parameters_of(model).items()}
    fitted = encode(EstimatorState.of(model), arrays, name)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "latens": __version__,
        "estimator": name,
        "params": params,
        "fitted": fitted,
    }
    try:
        _model_in(header, arrays)  # what is written can be read
    except FileRefused as error:
        raise ValueError(f"this {name} cannot be saved, since it could not be loaded: {error}") from error
    return header, arrays


def load(path: str | os.PathLike[str], *, custom: Iterable[type] = (), max_bytes: int | None = None) -> Any:
    """Read an estimator that `latens.save` wrote.

    Nothing in the file is executed, imported or unpickled: a malicious file is refused.

    Parameters
    ----------
    path : str or path-like
    custom : list of classes
        Likelihoods of one's own that the model was fitted with. A file names them; the code is the caller's.
    max_bytes : int, optional
        Refuse larger files. In any case, memory is limited by the size of the file on disk.

    Returns
    -------
    fitted estimator
        Its results have the same bits as those of the saved estimator, and `partial_fit` continues from there.

    Raises
    ------
    latens.errors.FileRefused
        If the file is not a model, or is damaged, malicious or of a newer format; the message says which.
    FileNotFoundError
        If there is no file.
    """
    path = Path(path)
    kind = special_file(path)
    if kind is not None:
        raise FileRefused(f"{path} is refused: it is {kind}, not a file.")
    with open(path, "rb") as file, custom_records(custom):
        try:
            header, arrays = read_archive(file, max_bytes)
            return _model_in(header, arrays, dropped=upgrade(header, arrays))
        except FileRefused as error:
            raise FileRefused(f"{path} is refused: {error}") from error.__cause__


def _model_in(header: dict[str, Any], arrays: list[Any], dropped: Iterable[int] = ()) -> Any:
    """The estimator that a header of the present version describes; nothing refers to `dropped` arrays any more."""
    used = set(dropped).intersection(range(len(arrays)))

    def take(number: int) -> Any:
        if type(number) is not int or not 0 <= number < len(arrays):
            raise FileRefused(f"it refers to the array {number!r} of {len(arrays)}.")
        used.add(number)
        return arrays[number]

    name = header["estimator"]
    estimator_class(name)
    if not isinstance(header["params"], dict):
        raise FileRefused("its parameters are not given by name.")
    params = {key: decode(node, take, f"the parameter {key[:40]}") for key, node in header["params"].items()}
    fitted = decode(header["fitted"], take, "fitted")
    if not isinstance(fitted, EstimatorState):
        raise FileRefused(f"what was fitted is given as a {type(fitted).__name__}; expected the record EstimatorState.")
    estimator = rebuilt(name, params, fitted)
    if len(used) != len(arrays):
        raise FileRefused(f"{len(arrays) - len(used)} of its arrays belong to nothing.")
    return estimator
