"""Pictures of fitted models, with matplotlib."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from latens import plots


@pytest.fixture(autouse=True)
def _no_window(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("extras") is None:
        yield
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


class Fitted(SimpleNamespace):
    """Carries the fitted attributes that pictures read."""

    def get_feature_names_out(self) -> list[str]:
        return [f"cause{i}" for i in range(len(self.components_) - 1)] + ["my own name"]


def fitted(components: np.ndarray) -> Fitted:
    k = len(components)
    history = np.array([-300.0, -20.0, -11.0, -10.0])
    return Fitted(components_=components, usage_=np.linspace(0.1, 0.5, k), elbo_history_=history, n_components_=k)


@pytest.mark.extras
def test_the_bound_is_drawn_against_iterations_from_one() -> None:
    ax = plots.bound(fitted(np.eye(4)))
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), [[1, -300], [2, -20], [3, -11], [4, -10]])


@pytest.mark.extras
def test_usage_has_one_named_bar_for_each_component() -> None:
    ax = plots.usage(fitted(np.eye(4)))
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], np.linspace(0.1, 0.5, 4))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["cause0", "cause1", "cause2", "my own name"]


@pytest.mark.extras
def test_square_rows_are_drawn_as_images() -> None:
    components = np.random.default_rng(0).random((5, 16))
    ax = plots.components(fitted(components))
    assert len(ax.images) == 5
    for image, component in zip(ax.images, components, strict=True):
        np.testing.assert_array_equal(image.get_array(), component.reshape(4, 4))
        assert image.get_clim() == (0, components.max())
    assert [text.get_text() for text in ax.texts] == ["cause0", "cause1", "cause2", "cause3", "my own name"]


@pytest.mark.extras
def test_a_given_shape_is_used_and_a_wrong_one_refused() -> None:
    ax = plots.components(fitted(np.ones((3, 16))), shape=(2, 8))
    assert ax.images[0].get_array().shape == (2, 8)
    with pytest.raises(ValueError, match=r"shape=\(3, 5\) does not hold the 16 columns"):
        plots.components(fitted(np.ones((3, 16))), shape=(3, 5))


@pytest.mark.extras
def test_other_rows_are_a_heat_map() -> None:
    components = np.random.default_rng(0).normal(size=(3, 7))
    (image,) = plots.components(fitted(components)).images
    np.testing.assert_array_equal(image.get_array(), components)
    low, high = image.get_clim()
    assert low == -high  # signed entries: white is 0


@pytest.mark.extras
def test_named_columns_are_a_heat_map_with_those_names() -> None:
    model = fitted(np.eye(4))
    model.feature_names_in_ = ["a", "b", "c", "d"]
    ax = plots.components(model)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "d"]


@pytest.mark.extras
def test_names_may_come_from_the_data_frame() -> None:
    frame = SimpleNamespace(columns=["a", "b", "c", "d"])
    ax = plots.components(fitted(np.eye(4)), frame)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "d"]


@pytest.mark.extras
def test_pictures_go_where_they_are_told() -> None:
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 3)
    model = fitted(np.eye(4))
    assert plots.bound(model, axes[0]) is axes[0]
    assert plots.usage(model, ax=axes[1]) is axes[1]
    assert plots.components(model, ax=axes[2]) is axes[2]
    assert len(pyplot.get_fignums()) == 1


@pytest.mark.extras
def test_a_model_without_components_gives_an_empty_picture() -> None:
    model = SimpleNamespace(components_=np.zeros((0, 16)), usage_=np.zeros(0))
    assert len(plots.components(model).images) == 0
    assert len(plots.usage(model).patches) == 0


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"SimpleNamespace is not fitted; call fit\(X\) first"):
        plots.bound(SimpleNamespace(n_components=3))


def test_a_picture_that_does_not_apply_is_refused() -> None:
    with pytest.raises(ValueError, match="SimpleNamespace has no usage_; this picture does not apply"):
        plots.usage(SimpleNamespace(elbo_history_=[1.0]))


def test_missing_matplotlib_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'latens\[plot\]'"):
        plots.bound(fitted(np.eye(4)))


@pytest.mark.extras
def test_calibration_of_classes_is_accuracy_over_confidence() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1.0, size=4000)
    chosen = rng.integers(2, size=4000)
    y = np.where(rng.random(4000) < p, chosen, 1 - chosen)
    probabilities = np.where(np.eye(2)[chosen] > 0, p[:, None], 1 - p[:, None])
    ax = plots.calibration(SimpleNamespace(probabilities=probabilities), y, n_bins=10, label="honest")
    diagonal, curve = ax.lines[:2]
    assert diagonal.get_xydata().tolist() == [[0.5, 0.5], [1, 1]]
    assert curve.get_xdata() == pytest.approx([0.55, 0.65, 0.75, 0.85, 0.95], abs=0.01)
    assert curve.get_ydata() == pytest.approx(curve.get_xdata(), abs=0.06)
    assert ax.get_legend().get_texts()[0].get_text().startswith("honest: calibration error 0.0")
    boastful = plots.calibration(np.clip(probabilities * 1.5 - 0.25, 0, 1), y, ax=ax)
    assert boastful is ax
    sure, right = ax.lines[-1].get_data()
    assert (right[1:] < sure[1:]).all()


@pytest.mark.extras
def test_calibration_of_a_regression_is_coverage_at_each_level() -> None:
    y = np.random.default_rng(1).normal(scale=2.0, size=5000)
    for spread, sign in ((4.0, 0), (1.0, -1), (16.0, 1)):
        ax = plots.calibration(SimpleNamespace(mean=np.zeros(5000), variance=np.full(5000, spread)), y)
        level, share = ax.lines[-1].get_data()
        assert len(level) == 19
        if sign == 0:
            assert share == pytest.approx(level, abs=0.03)
            assert "95 % inside 95 %" in ax.get_legend().get_texts()[0].get_text()
        else:
            assert (np.sign(share - level)[:-2] == sign).all()


@pytest.mark.extras
def test_calibration_takes_what_the_posteriors_answer_and_refuses_what_is_none() -> None:
    from latens.nets import ClassPrediction, RegressionPrediction

    classes = ClassPrediction(1, np.array([[0.8, 0.2], [0.3, 0.7]]), np.zeros(2), np.zeros(2))
    assert plots.calibration(classes, [0, 1]).get_xlabel() == "probability of the predicted class"
    numbers = RegressionPrediction(1, np.zeros((3, 2)), np.ones((3, 2)), np.ones((3, 2)))
    assert plots.calibration(numbers, np.ones((3, 2))).get_xlabel() == "level of the interval"
    with pytest.raises(ValueError, match="classes from 0 to 1"):
        plots.calibration(classes, [0, 2])
    with pytest.raises(ValueError, match="have shapes"):
        plots.calibration(numbers, np.ones(3))
