"""What the experiments on weight posteriors find."""

import numpy as np
import pytest

from latens import BayesianLinearRegression
from latens.experiments import collected_weights, digits_nets, find, small_nets, uci_nets

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_factors_beat_swag_and_its_diagonal_and_draw_tensors_as_one(quick):
    experiment = find("weight-posterior")
    result = experiment.run(
        experiment.quick if quick else experiment.settings, np.random.default_rng(50002), lambda _: None
    )
    summary, _, correlation = result.tables
    for n, factors, swag, diagonal in summary.rows:
        assert factors < swag
        assert factors < (diagonal if n >= 300 else 1.01 * diagonal)
    assert correlation.rows[0][1] > 0.95
    figures = [figure for section in result.figures for figure in section.figures]
    assert all(figure.name and figure.caption for figure in figures)


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_sgd_is_sure_where_there_are_no_rows_and_posteriors_are_not(quick):
    experiment = find("weight-uncertainty")
    result = experiment.run(
        experiment.quick if quick else experiment.settings, np.random.default_rng(50003), lambda _: None
    )
    line, moons = result.tables
    (_, kl, at_rows, in_gap), (_, our_kl, ours_at_rows, ours_in_gap) = line.rows[1:]
    assert our_kl < 0.3 * kl
    assert in_gap < 0.2 < at_rows
    assert 0.6 < ours_in_gap < 1.5
    assert ours_at_rows < 2
    trained, _, several = (row[2] for row in moons.rows)
    assert several < trained - 0.02
    figures = [figure for section in result.figures for figure in section.figures]
    assert [figure.name for figure in figures] == ["line", "moons"]


def test_all_methods_are_compared_split_by_split():
    experiment = find("uci-nets")
    result = experiment.run(experiment.quick, np.random.default_rng(50004), lambda _: None)
    summary, pairs, calibration, costs, runs, scales = result.tables
    assert [row[0] for row in summary.rows] == [row[0] for row in calibration.rows] == list(uci_nets.METHODS)
    assert all(0 <= row[1] < 0.3 for row in calibration.rows)
    words = {kind: n_words for _, kind, _, n_words in costs.rows}
    assert words["SWAG"] == words["FactorPosterior"] == 2 + experiment.quick.rank
    assert words["transport"] == pytest.approx(3 + 2 * experiment.quick.rank, abs=5)  # and K x K numbers
    assert len(runs.rows) == len(uci_nets.METHODS) * experiment.quick.n_splits * experiment.quick.n_seeds
    assert {row[2] for row in scales.rows} == set(experiment.quick.scales)
    by_name = {(method, split): value for _, method, split, _, value in runs.rows}
    for _, ours, rival, gap, error, wins in pairs.rows:
        gaps = np.array([by_name[ours, split] - by_name[rival, split] for split in range(experiment.quick.n_splits)])
        assert gap == pytest.approx(gaps.mean())
        assert error == pytest.approx(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        assert wins == f"{(gaps > 0).sum()} of {len(gaps)}"
    several = {row[0]: row[1] for row in summary.rows}
    assert several["MultiPosterior"] > several["SGD"]


def test_the_nets_are_those_of_torch():
    """Gradients, steps and outputs of all nets at once, against modules trained one by one."""
    import torch

    source = torch.Generator().manual_seed(0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12, 3)), rng.normal(size=(2, 12, 1))
    learnt = rng.random((2, 12)) < 0.7
    data = small_nets.Data.of(x, y, learnt)
    nets = small_nets.Nets.random(2, 3, 5, source)
    alone = []
    for module in nets.copy().modules():
        w1, b1, w2, b2 = module.parameters()
        net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
        for mine, theirs in zip(net.parameters(), (w1.T, b1[0], w2.T, b2[0]), strict=True):
            mine.data.copy_(theirs)
        alone.append((net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)))
    seen = []
    batch = data.batch
    object.__setattr__(data, "batch", lambda size, source: seen.append(batch(size, source)) or seen[-1])
    nets.train(data, np.full(6, 0.1), 4, source, decay=0.01)
    for i, (net, optimiser) in enumerate(alone):
        for rows, target in seen:
            assert {tuple(row) for row in rows[i].tolist()} <= {tuple(row) for row in data.x[i][learnt[i]].tolist()}
            optimiser.zero_grad()
            (0.5 * (net(rows[i]) - target[i]).square().mean()).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), small_nets.LONGEST_GRADIENT)
            optimiser.step()
        want = net(data.x[i]).detach().numpy()
        assert small_nets.outputs(nets.vectors()[i : i + 1], data.x[i], 5)[0] == pytest.approx(want, abs=1e-5)


def test_digits_are_compared_by_likelihood_and_calibration():
    experiment = find("digits-nets")
    result = experiment.run(experiment.quick, np.random.default_rng(50005), lambda _: None)
    summary, pairs, costs, runs = result.tables
    assert [row[0] for row in summary.rows] == list(digits_nets.COMPARED)
    by_name = {row[0]: row[1:] for row in summary.rows}
    assert by_name["several SGD"][0] > by_name["SGD"][0]
    assert all(-0.5 < row[0] < 0 and 0 < row[1] < 0.1 and row[2] < 10 for row in by_name.values())
    assert all((row[4] == 1) == (name in digits_nets.PLAIN.values()) for name, row in by_name.items())
    assert by_name["SGD"][2] == by_name["SGD, T = 1"][2]  # a temperature changes no answer, only how sure it is
    assert len(runs.rows) == len(digits_nets.COMPARED) * experiment.quick.n_splits
    assert {row[1] for row in costs.rows} == set(collected_weights.KINDS)
    for one, other, gap, _, _ in pairs.rows:
        assert gap == pytest.approx(by_name[one][0] - by_name[other][0])


def test_several_outputs_learn_by_cross_entropy_as_torch_does():
    import torch

    rng, source = np.random.default_rng(2), torch.Generator().manual_seed(1)
    x, labels = rng.normal(size=(1, 8, 3)).astype(np.float32), rng.integers(4, size=8)
    nets = small_nets.Nets.random(1, 3, 5, source, n_outputs=4)
    weights = [w.clone().requires_grad_() for w in nets.weights]
    hidden = torch.baddbmm(weights[1], torch.tensor(x), weights[0]).relu()
    answer = torch.baddbmm(weights[3], hidden, weights[2])[0]
    torch.nn.functional.cross_entropy(answer, torch.tensor(labels)).backward()
    slopes = small_nets._slopes(nets.weights, torch.tensor(x), torch.eye(4)[labels][None])
    for slope, weight in zip(slopes, weights, strict=True):
        assert slope.numpy() == pytest.approx(weight.grad.numpy(), abs=1e-6)
    result = small_nets.outputs(nets.vectors(), torch.tensor(x[0]), 5)[0]
    assert result == pytest.approx(answer.detach().numpy(), abs=1e-5)


def test_the_curvature_of_a_softmax_is_that_of_autograd():
    import torch

    rng = np.random.default_rng(3)
    units, weights = rng.normal(size=(20, 3)), rng.normal(size=(3, 4))
    labels = torch.tensor(rng.integers(4, size=20))

    def energy(flat):
        logits = torch.tensor(units) @ flat.reshape(3, 4)
        return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") + 0.35 * flat.square().sum()

    want = torch.autograd.functional.hessian(energy, torch.tensor(weights.ravel()))
    found = collected_weights._softmax_curvature(units, units @ weights, 0.7)
    assert found == pytest.approx(want.numpy(), abs=1e-10)


def test_the_last_layer_is_drawn_about_the_trained_weights_as_wide_as_its_posterior():
    import torch

    rng, source = np.random.default_rng(4), torch.Generator().manual_seed(2)
    x, y = rng.normal(size=(1, 60, 2)), rng.normal(size=(1, 60, 1))
    data = small_nets.Data.of(x, y, np.ones((1, 60), bool))
    nets = small_nets.Nets.random(1, 2, 3, source)
    drawn = collected_weights.last_layer_deviations(nets, data, 1e-4, 20000, source)[0].double().numpy()
    assert not drawn[:, :-4].any()
    units = small_nets.hidden_units(nets.weights, data.x)[0].double().numpy()
    fit = BayesianLinearRegression(fit_intercept=False).fit(units, y[0, :, 0])
    assert np.cov(drawn[:, -4:].T) == pytest.approx(fit.coef_covariance_, abs=0.05 * np.trace(fit.coef_covariance_))


def test_the_noise_is_that_of_the_rows_left_out():
    from scipy.stats import t

    rng = np.random.default_rng(1)
    y = [0.3 * rng.standard_t(uci_nets.FREEDOM, size=400) for _ in range(3)]
    good, bad = ([np.full((5, 400), level) for _ in range(3)] for level in (0.0, 2.0))
    predictions = [np.stack(pair) for pair in zip(bad, good, strict=True)]  # two scales, of which the second fits
    best = t(uci_nets.FREEDOM, scale=0.3).logpdf(y[0]).mean()
    (off, near), left_out, noises = uci_nets._tested(predictions, y)
    assert left_out[1] > left_out[0]
    assert noises[1] == pytest.approx(0.09, rel=0.5)
    assert near == pytest.approx(best, abs=0.02)
    assert off < best - 0.5
    two = np.array([[0.0], [1.0]])
    mixed = 0.5 * t(uci_nets.FREEDOM, scale=0.5).pdf([0.3, 0.7]).sum()
    assert uci_nets._log_likelihoods(two, np.array([0.3]), np.array([0.25])) == pytest.approx(np.log(mixed))
