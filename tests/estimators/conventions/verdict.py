"""What scikit-learn's own checks say about an estimator, in one place for all of them."""

import warnings
from typing import Any

from sklearn.utils.estimator_checks import check_estimator


def complaints(estimator: Any, *, with_pandas: bool = False) -> list[tuple[str, str]]:
    """Checks that failed, or were skipped for another reason than a package or a switch that is absent here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 40
    absent = ("SCIPY_ARRAY_API",) if with_pandas else ("SCIPY_ARRAY_API", "pandas")
    return [
        (result["check_name"], str(result["exception"]))
        for result in results
        if result["status"] == "failed"
        or (result["status"] == "skipped" and not any(word in str(result["exception"]) for word in absent))
    ]
