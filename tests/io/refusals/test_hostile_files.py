"""Files made to do harm: well formed, correctly signed, and each with one lie."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from latens.io.archive.writing import VERSION
from tests.io.fits import estimators_differ, fitted
from tests.io.refusals.forging import Forgery, forgery

Lie = Callable[[Forgery], Any]


def entry(**changes: Any) -> Lie:
    return lambda f: f.header["arrays"][0].update(changes)


def header(**changes: Any) -> Lie:
    return lambda f: f.header.update(changes)


def field(path: str, **changes: Any) -> Lie:
    return lambda f: f.at(path).update(changes)


def param(**changes: Any) -> Lie:
    return lambda f: f.header["params"].update(changes)


def reshaped(path: str, change: Callable[[np.ndarray], Any]) -> Lie:
    return lambda f: f.put(path, np.asarray(change(f.get(path))))


def text(change: Callable[[str], str]) -> Lie:
    return lambda f: setattr(f, "text", change(json.dumps(f.header)).encode())


def member(name: str) -> Lie:
    return lambda f: f.extra.append((name, b"x"))


def tampered(change: Callable[[zipfile.ZipFile], None]) -> Lie:
    return lambda f: setattr(f, "tamper", change)


def objects(f: Forgery) -> None:
    """An array member that is a pickle in disguise, signed."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    data, size = buffer.getvalue(), len(f.members["arrays/0.npy"])
    f.sign(0, data.ljust(size, b"\0")[:size])


def swollen(archive: zipfile.ZipFile) -> None:
    """The directory claims terabytes, as the header does."""
    info = archive.getinfo("arrays/0.npy")
    info.file_size = info.compress_size = 128 + 8 * 10**12


def twins(f: Forgery) -> None:
    f.header["arrays"].append({**f.header["arrays"][0], "name": f"arrays/{len(f.header['arrays'])}"})
    f.members[f"arrays/{len(f.header['arrays']) - 1}.npy"] = f.members["arrays/0.npy"]


def shared(archive: zipfile.ZipFile) -> None:
    """Two members that are the same bytes."""
    archive.getinfo("arrays/2.npy").header_offset = archive.getinfo("arrays/1.npy").header_offset


def truth_values(f: Forgery) -> None:
    f.header["params"]["init"] = {"array": 0}
    f.at("units")["origin"] = {"array": 0}
    data = f.members["arrays/0.npy"]
    body = b"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }"
    body += b" " * (-(len(body) + 11) % 64) + b"\n"
    f.header["arrays"][0].update(dtype="|b1", shape=[2])
    f.sign(0, data[:8] + len(body).to_bytes(2, "little") + body + b"\x01\x02")


NAN = {"float": "nan"}

LIES: dict[str, tuple[Lie, str]] = {
    # the archive
    "a member that is not declared": (member("more.npy"), "member 'more.npy' that its header does not declare"),
    "an absolute name": (member("/etc/passwd"), "member '/etc/passwd'"),
    "a name that climbs": (member("../../evil"), "member '../../evil'"),
    "a member twice": (member("arrays/0.npy"), "two of its members have the same name"),
    "two headers": (member("header.json"), "2 members called header.json"),
    "compression": (lambda f: setattr(f, "compression", zipfile.ZIP_DEFLATED), "is compressed"),
    "a missing member": (lambda f: f.members.pop("arrays/3.npy"), "declares arrays/3.npy, which it does not have"),
    "overlapping members": (tampered(shared), "damaged"),
    "an encrypted member": (
        tampered(lambda archive: setattr(archive.getinfo("header.json"), "flag_bits", 1)),
        "latens does not encrypt",
    ),
    "compression that saves nothing": (
        tampered(lambda archive: setattr(archive.getinfo("header.json"), "compress_type", zipfile.ZIP_DEFLATED)),
        "is compressed",
    ),
    # the header
    "no JSON": (text(lambda s: s[:-1]), "no valid JSON"),
    "other bytes": (lambda f: setattr(f, "text", b"\xff\xfe"), "no valid JSON"),
    "a key twice": (text(lambda s: s[:-1] + ', "version": 1}'), "a key is given twice"),
    "bare NaN": (text(lambda s: s.replace("1e-05", "NaN")), "NaN is no JSON"),
    "a number beyond range": (text(lambda s: s.replace("1e-05", "1e999")), "1e999 is too large"),
    "an endless number": (text(lambda s: s.replace("1e-05", "9" * 10000)), "no valid JSON"),
    "deep nesting": (text(lambda s: "[" * 200_000), "nested too deeply"),
    "nesting within reach of JSON": (param(init=json.loads("[" * 100 + "]" * 100)), "levels deep"),
    "a list": (text(lambda s: "[]"), "does not say that it is a latens-model"),
    "another format": (header(format="other"), "does not say that it is a latens-model"),
    "a newer version": (header(version=VERSION + 1), rf"newer latens \(format {VERSION + 1}.*Upgrade latens"),
    "a version of text": (header(version="1"), "format version is '1'"),
    "version zero": (header(version=0), "format version is '0'"),
    "version True": (header(version=True), "format version is 'True'"),
    "an unknown key": (header(more=1), "keys .*more"),
    "a missing key": (lambda f: f.header.pop("params"), "has the keys"),
    "no writer": (header(latens=None), "does not name the version"),
    "an oversized header": (text(lambda s: s + " " * 65 * 2**20), "header claims .* at most"),
    # declared arrays
    "10**12 elements": (entry(shape=[10**12]), "bytes where its declared shape and dtype need 8000000000128"),
    "10**12 elements, and a directory that agrees": (
        lambda f: (entry(shape=[10**12])(f), tampered(swollen)(f)),
        "members claim more bytes than the",
    ),
    "sizes beyond 64 bits": (entry(shape=[2**40, 2**40], layout=[0, 1]), "declared shape and dtype need"),
    "no elements in a huge shape": (entry(shape=[0, 2**62, 2**62], layout=[0, 1, 2]), "need"),
    "a negative size": (entry(shape=[-16]), "expected at most 16 sizes from 0 on"),
    "two negative sizes": (entry(shape=[-4, -4], layout=[0, 1]), "sizes from 0 on"),
    "a fractional size": (entry(shape=[16.0]), "sizes from 0 on"),
    "a size of text": (entry(shape=["16"]), "sizes from 0 on"),
    "too many axes": (entry(shape=[1] * 17), "at most 16 sizes"),
    "no shape": (entry(shape=None), "sizes from 0 on"),
    "an order of other axes": (entry(layout=[1]), "has layout"),
    "objects": (entry(dtype="|O"), "has dtype '|O'"),
    "structures": (entry(dtype=[["a", "<f8"]]), "has dtype"),
    "texts": (entry(dtype="<U4"), "has dtype '<U4'"),
    "another byte order": (entry(dtype=">f8"), "has dtype '>f8'"),
    "objects in disguise": (objects, "do not match their checksum"),
    "another dtype of the same size": (entry(dtype="<i8"), "checksum"),
    "another shape of the same size": (entry(shape=[4, 4], layout=[0, 1]), "checksum"),
    "a wrong checksum": (entry(sha256="0" * 64), "do not match their checksum"),
    "no checksum": (entry(sha256=None), "no SHA-256"),
    "a key more": (entry(url="http://"), "not given by"),
    "another name": (entry(name="../x"), "is called '../x'"),
    "arrays that are no list": (header(arrays={}), "lists no arrays"),
    "an array of nothing": (twins, "1 of its arrays belong to nothing"),
    "truth values beyond 0 and 1": (truth_values, "neither 0 nor 1"),
    # classes and fields
    "an estimator from elsewhere": (header(estimator="os.system"), "holds a 'os.system'; this version reads"),
    "an estimator that is a record": (header(estimator="Beta"), "holds a 'Beta'"),
    "an estimator that is a list": (header(estimator=["BinaryFactorAnalysis"]), "this version reads"),
    "a class from elsewhere": (
        field("", model={"record": "os:system", "fields": {}}),
        "class 'os:system', which this version does not know",
    ),
    "a class that is a list": (field("", model={"record": ["Beta"], "fields": {}}), "does not know"),
    "a call": (field("", model={"call": "os.system", "args": ["true"]}), "mean nothing in this format"),
    "two meanings": (field("units", exponent={"float": "inf", "array": 0}), "mean nothing in this format"),
    "an unknown special number": (field("units", exponent={"float": "1.5"}), "mean nothing"),
    "an unknown field": (field("state.q.usage", evil=1), "Beta with an unknown field 'evil'; it has on, off"),
    "a missing field": (lambda f: f.at("state.q.usage").pop("on"), "Beta without on"),
    "a text for a number": (field("model", floor="small"), r"model.floor is 'small' \(str\); expected float"),
    "a fraction for a whole number": (field("units", exponent=0.5), r"exponent is 0.5 \(float\); expected int"),
    "True for a whole number": (field("units", exponent=True), r"expected int"),
    "a number for a truth value": (field("model", points=1), r"expected bool"),
    "a list for a tuple": (field("model", noise=[0.1, 0.1]), r"model.noise is .*expected tuple\[float, float\]"),
    "a tuple too long": (field("model", noise={"tuple": [0.1, 0.1, 0.1]}), r"expected tuple\[float, float\]"),
    "a number for an array": (field("state.q.usage", on=3.0), r"usage.on is 3.0 \(float\)"),
    "an array for a number": (field("model", floor={"array": 0}), "floor is an array of float64; expected float"),
    "another family": (
        lambda f: f.at("")["state"]["fields"]["q"]["fields"]["loadings"].update(record="Gamma"),
        "Gamma with an unknown field",
    ),
    "another model": (field("", model={"record": "Exact", "fields": {}}), "model is a Exact; a Binary"),
    "a posterior of another kind": (
        lambda f: f.at("state").update(q=f.at("state.q")["usage"]),
        "which a BinaryFactors does not have there",
    ),
    "a posterior that the prior does not have": (field("model", points=True), "not of the family"),
    "integers for floats": (reshaped("state.q.usage.on", lambda x: x.astype("<i8")), "array of int64; expected"),
    "no fit at all": (header(fitted={"dict": {}}), "given as a dict; expected the record EstimatorState"),
    "an array that is not there": (field("units", origin={"array": 999}), "array 999 of"),
    "a negative array": (field("units", origin={"array": -1}), "array -1 of"),
    "the array True": (field("units", origin={"array": True}), "array True of"),
    "statistics of another kind": (
        lambda f: f.at("")["state"]["fields"]["stats"].update(
            record="RegressionSums",
            fields={"n": 1.0, "y": 1.0, "yy": 1.0, **{key: {"array": 0} for key in ("x", "xx", "xy")}},
        ),
        "sums are a RegressionSums, which a BinaryFactors does not take",
    ),
    "statistics of nothing": (lambda f: f.at("state").update(stats=None), "its sums are a NoneType"),
    # parameters
    "an unknown parameter": (param(shell="rm"), "no parameter 'shell'"),
    "a callback": (param(callbacks="print"), "no parameter 'callbacks'"),
    "parameters without names": (header(params=[1]), "not given by name"),
    "a NaN parameter": (param(tol=NAN), "parameter tol is nan"),
    "a NaN within a parameter": (param(init=[NAN]), r"parameter init\[0\] is nan"),
    # numbers that cannot be
    "NaN in an array": (reshaped("state.stats.zx", lambda x: x * np.nan), "state.stats.zx holds NaN"),
    "infinity in an array": (reshaped("units.origin", lambda x: x + np.inf), "units.origin holds NaN or inf"),
    "an infinite number": (field("state.stats", entropy={"float": "-inf"}), "entropy is -inf"),
    "a negative count": (reshaped("state.q.usage.on", lambda x: -x), "usage.on holds values that are not positive"),
    "a count of zero": (reshaped("state.q.usage.on", lambda x: 0 * x), "usage.on holds values that are not positive"),
    "a precision that is none": (
        reshaped("state.q.loadings.weights.precision", lambda x: -x),
        "precision holds values that are not positive definite",
    ),
    "a precision that is lopsided": (
        reshaped("state.q.loadings.weights.precision", lambda x: x + 0.1 * np.triu(x, 1)),
        "not positive definite",
    ),
    "no rows": (field("state.stats", n=0.0), "claims 0.0 rows"),
    "a scale beyond range": (field("units", exponent=5000), "units.exponent is 5000, beyond the range"),
    "a scale of nothing": (field("units", exponent=-5000), "beyond the range"),
    "published numbers beyond range": (field("units", exponent=1020), "noise_variance_ is inf"),
    "2**60 states for a row": (
        field("model", e_step={"record": "Truncated", "fields": {"n_states": 2**60}}),
        "model.e_step.n_states is 1152921504606846976; expected at most",
    ),
    "millions of states for a row": (
        lambda f: [
            put(f)
            for put in (
                field("model", e_step={"record": "Truncated", "fields": {"n_states": 2**20}}),
                *(reshaped(path, lambda x: np.ones(40)) for path in ("state.q.usage.on", "state.q.usage.off")),
                *(reshaped(f"state.q.loadings.alpha.{name}", lambda x: np.ones(40)) for name in ("shape", "rate")),
                reshaped("state.q.loadings.weights.mean", lambda x: np.ones((40, 16))),
                reshaped("state.q.loadings.weights.precision", lambda x: np.eye(40)[None]),
                reshaped("state.stats.on", lambda x: np.ones(40)),
                reshaped("state.stats.zz", lambda x: np.eye(40)[None]),
                reshaped("state.stats.zx", lambda x: np.ones((40, 16))),
            )
        ],
        "numbers for every row",
    ),
    "endless sweeps": (
        field("model", e_step={"record": "MeanField", "fields": {"n_sweeps": 10**18}}),
        "n_sweeps is 1000000000000000000; expected at most",
    ),
    "a negative prior": (field("model", noise={"tuple": [-1.0, -1.0]}), r"terms\['kl_loadings'\] is nan"),
    # parts that do not fit together
    "usage of 3, loadings of 4": (
        lambda f: [reshaped(f"state.q.usage.{name}", lambda x: x[:3])(f) for name in ("on", "off")],
        r"weights.mean has shape \(4, 16\); expected \(k\+intercept d\) with k=3, intercept=0, d=16",
    ),
    "counts of different lengths": (reshaped("state.q.usage.on", lambda x: x[:3]), "do not make a"),
    "counts that broadcast": (
        reshaped("state.q.usage.on", lambda x: x[:, None]),
        r"has 2 axes; expected the shape \(k\)",
    ),
    "statistics of 3": (
        reshaped("state.stats.on", lambda x: x[:3]),
        r"stats.on has shape \(3,\); expected \(k\) with k=4",
    ),
    "a Gram for half the columns": (
        reshaped("state.stats.zz", lambda x: np.repeat(x, 8, axis=0)),
        r"zz has shape \(8, 4, 4\); expected \(1\|d k",
    ),
    "an origin of other columns": (reshaped("units.origin", lambda x: x[:5]), r"origin has shape \(5,\)"),
    "10**12 columns": (field("model", n_features=10**12), "model.n_features is 1000000000000; expected at most"),
    "a model of more columns": (field("model", n_features=17), "model has 17 columns and its data 16"),
    "other columns": (field("", n_features_in=17), r"units.origin has shape \(16,\); expected \(d\) with d=17"),
    "names for other columns": (field("", feature_names_in=["a"]), "1 names for 16 columns"),
    "names that are numbers": (field("", component_names=[1]), "component_names is"),
    "an intercept that is not there": (
        field("model", intercept=True),
        r"expected \(k\+intercept d\) with k=4, intercept=1, d=16",
    ),
    "a parameter that the model denies": (
        param(noise="diagonal"),
        "it states noise='diagonal', but its model was built with noise='shared'",
    ),
    "another prior": (param(prior="ml"), "built with prior='ard'"),
    "an intercept that was not fitted": (param(fit_intercept=True), "built with fit_intercept=False"),
    "another E step": (param(e_step="exact"), "built with e_step='auto'"),
    "an E step that is an array": (param(e_step=[1.0]), "built with e_step='auto'"),
    "no iterations": (field("", trace=[]), "trace is empty"),
    "a trace of other columns": (lambda f: f.at("")["trace"][0]["dict"].update(x=1), "trace has the columns"),
    "a trace of other lengths": (
        lambda f: f.at("")["trace"][0]["dict"].update(elbo=f.at("units")["origin"], seconds=f.at("units")["origin"]),
        "column step of its trace is no array of 16 numbers",
    ),
    "a container from elsewhere": (field("", output="os"), "output is 'os'"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_told(lie: str, tmp_path: Path) -> None:
    change, message = LIES[lie]
    forged = forgery(tmp_path)
    change(forged)
    path = forged.write(tmp_path / "model")
    with pytest.raises(FileRefused, match=f"(?s)model is refused: .*({message})"):
        latens.load(path)


LIES_OF_DATA: dict[str, tuple[Lie, str]] = {
    "no batch that stands for the rows": (field("state", data=None), "its sums are a NoneType"),
    "statistics in place of it": (
        lambda f: f.at("state").update(data=f.at("state")["stats"]),
        "its sums are a FactorStatistics, which a ExactFactors does not take",
    ),
    "sums of no rows": (field("state.data", n=0.0), "claims 0.0 rows"),
    "sums of other columns": (reshaped("state.data.xx", lambda x: x[1:, 1:]), "has shape"),
    "statistics of other factors": (reshaped("state.stats.zx", lambda x: x[1:]), "has shape"),
    "NaN in the sums": (reshaped("state.data.xx", lambda x: x * np.nan), "holds NaN"),
}


@pytest.mark.parametrize("lie", LIES_OF_DATA)
def test_a_lie_about_the_sums_that_stand_for_the_rows_is_refused(lie: str, tmp_path: Path) -> None:
    change, message = LIES_OF_DATA[lie]
    rows = np.random.default_rng(0).normal(size=(40, 3)) @ np.random.default_rng(1).normal(size=(3, 6))
    forged = Forgery(latens.save(latens.FactorAnalysis(2).fit(rows), tmp_path / "honest"))
    change(forged)
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


def test_a_forgery_without_a_lie_is_read(tmp_path: Path) -> None:
    forged = forgery(tmp_path)
    for path in ("state.q.usage.on", "state.q.loadings.weights.precision", "state.stats.zx"):
        forged.put(path, forged.get(path))
    assert estimators_differ(fitted(), latens.load(forged.write(tmp_path / "model"))) is None


def test_fields_that_an_older_version_did_not_write_take_their_defaults(tmp_path: Path) -> None:
    forged = forgery(tmp_path)
    for path, name in [("model", "e_step"), ("", "output"), ("state", "locals")]:
        forged.at(path).pop(name)
    forged.header["params"].pop("verbose")
    assert estimators_differ(fitted(), latens.load(forged.write(tmp_path / "model"))) is None


@pytest.mark.parametrize("model", [latens.GaussianMixture(2, random_state=0), latens.NoisyICA(2, random_state=0)])
def test_forged_steps_of_rounded_columns_are_refused(model: Any, tmp_path: Path) -> None:
    rounded = np.round(np.random.default_rng(0).normal(0, 2, size=(80, 3)))
    honest = latens.save(model.fit(rounded), tmp_path / "honest")
    for change, message in [
        (lambda x: -x, "rounded columns by numbers"),
        (lambda x: x[1:], "model.rounding has shape"),
    ]:
        forged = Forgery(honest)
        forged.put("model.rounding", change(forged.get("model.rounding")))
        with pytest.raises(FileRefused, match=message):
            latens.load(forged.write(tmp_path / "model"))


def test_no_module_is_imported_for_a_name_in_a_file(tmp_path: Path) -> None:
    for key, value in [("estimator", "antigravity.x"), ("fitted", {"record": "antigravity:x", "fields": {}})]:
        forged = forgery(tmp_path)
        forged.header[key] = value
        with pytest.raises(FileRefused):
            latens.load(forged.write(tmp_path / "model"))
    assert "antigravity" not in sys.modules


def test_memory_is_not_taken_for_what_a_file_claims(tmp_path: Path) -> None:
    for lie in ("10**12 elements", "10**12 elements, and a directory that agrees", "10**12 columns"):
        forged = forgery(tmp_path)
        LIES[lie][0](forged)
        path = forged.write(tmp_path / "model")
        tracemalloc.start()
        with pytest.raises(FileRefused):
            latens.load(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**22


def test_a_checksum_covers_every_byte_of_a_member(tmp_path: Path) -> None:
    forged = forgery(tmp_path)
    for number, declared in enumerate(forged.header["arrays"]):
        assert hashlib.sha256(forged.members[f"arrays/{number}.npy"]).hexdigest() == declared["sha256"]
