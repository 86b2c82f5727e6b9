"""Posteriors collected while Lightning trains."""

import math
import pickle
import subprocess
import sys

import pytest

from latens.errors import StillSnapshots
from latens.nets import SWAG, FactorPosterior

pytestmark = [
    pytest.mark.extras,
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*Trainer was configured without a logger"),
]

N_ROWS, BATCH = 40, 8  # 5 batches an epoch


def parts():
    """Lightning, a module of it, and its rows."""
    import lightning.pytorch as lightning
    import torch

    class Line(lightning.LightningModule):
        def __init__(self, gamma=1.0):
            super().__init__()
            torch.manual_seed(0)
            self.net = torch.nn.Linear(3, 1)
            self.gamma, self.rates = gamma, []

        def training_step(self, batch, _):
            self.rates.append(self.optimizers().param_groups[0]["lr"])
            x, y = batch
            return (self.net(x)[:, 0] - y).square().mean()

        def validation_step(self, batch, _):
            return None

        def configure_optimizers(self):
            optimiser = torch.optim.SGD(self.parameters(), lr=0.1)
            return [optimiser], [torch.optim.lr_scheduler.ExponentialLR(optimiser, self.gamma)]

        def forward(self, x):
            return self.net(x)

    x = torch.randn(N_ROWS, 3, generator=torch.Generator().manual_seed(1))
    y = x.sum(1) + 0.3 * torch.randn(N_ROWS, generator=torch.Generator().manual_seed(2))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH)
    return lightning, Line, loader


def trainer(lightning, folder, callbacks, **options):
    options = {"max_epochs": 8, **options}
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=callbacks,
        **{"enable_checkpointing": False, **options},
    )


def callback(*given, **options):
    from latens.nets import PosteriorCallback

    return PosteriorCallback(*given, **options)


@pytest.mark.parametrize(
    ("options", "limits", "expected"),
    [
        ({"start": 0.75}, {}, 2),
        ({"start": 0.5}, {}, 4),
        ({"start": 0.0}, {}, 8),
        ({"start": 0.6}, {}, 4),  # 4.8 epochs are .6 of them
        ({"start": 0.5, "every": 2}, {}, 10),
        ({"start": 0.5}, {"max_epochs": -1, "max_steps": 40}, 4),
        ({"start": 0.5, "every": 5}, {"accumulate_grad_batches": 5}, 1),
        ({"start": 0.0, "every": 1}, {"accumulate_grad_batches": 5}, 8),
    ],
)
@pytest.mark.filterwarnings("ignore::latens.errors.StillSnapshots")
def test_snapshots_are_taken_in_the_last_part_of_the_training(options, limits, expected, tmp_path):
    lightning, line, loader = parts()
    taking = callback(SWAG, rank=0, **options)
    trainer(lightning, tmp_path, [taking], **limits).fit(line(), loader)
    assert taking.posterior.n == expected


def test_the_posterior_is_that_of_a_plain_loop_and_predicts(tmp_path):
    import torch

    lightning, line, loader = parts()
    taking, module = callback(FactorPosterior, rank=2, start=0.25), line()
    trainer(lightning, tmp_path, [taking]).fit(module, loader)
    other = line()
    posterior, step = FactorPosterior(other, rank=2), torch.optim.SGD(other.parameters(), lr=0.1)
    for epoch in range(8):
        for x, y in loader:
            step.zero_grad()
            (other(x)[:, 0] - y).square().mean().backward()
            step.step()
        if epoch >= 2:
            posterior.update()
    assert torch.allclose(taking.posterior.mean, posterior.mean)
    assert torch.allclose(taking.posterior.variance, posterior.variance)
    assert taking.posterior.selection.names == ["net.weight", "net.bias"]
    answer = taking.posterior.predict(loader, 5, "regression", random_state=0)
    assert answer.mean.shape == (N_ROWS,)


def test_the_learning_rate_is_held_against_a_schedule(tmp_path):
    lightning, line, loader = parts()
    module, left_alone = line(gamma=0.5), line(gamma=0.5)
    trainer(lightning, tmp_path, [callback(SWAG, start=0.5, lr=0.03)]).fit(module, loader)
    trainer(lightning, tmp_path, [callback(SWAG, start=0.5)]).fit(left_alone, loader)
    assert module.rates[: 4 * 5] == left_alone.rates[: 4 * 5]
    assert module.rates[4 * 5 :] == [0.03] * 20
    assert left_alone.rates[-1] == pytest.approx(0.1 * 0.5**7)


@pytest.mark.parametrize("every", ["epoch", 3])
@pytest.mark.parametrize("with_validation", [False, True])
def test_a_resumed_training_ends_with_the_same_posterior(every, with_validation, tmp_path):
    import torch

    lightning, line, loader = parts()
    loaders = (loader, loader) if with_validation else (loader,)

    saving = lightning.callbacks.ModelCheckpoint(tmp_path, filename="{epoch}", save_top_k=-1)
    whole, resumed = (callback(FactorPosterior, rank=3, start=0.25, every=every) for _ in range(2))
    trainer(lightning, tmp_path, [whole, saving], enable_checkpointing=True).fit(line(), *loaders)
    path = tmp_path / "epoch=4.ckpt"
    held = torch.load(path, weights_only=True)["callbacks"][whole.state_key]
    assert held["posterior"]["n"] == (3 if every == "epoch" else 5)  # epochs 2 to 4; steps 12, 15, ..., 24
    trainer(lightning, tmp_path, [resumed]).fit(line(), *loaders, ckpt_path=path)
    assert resumed.posterior.n == whole.posterior.n
    assert torch.allclose(resumed.posterior.mean, whole.posterior.mean)
    for found, wanted in zip(resumed.posterior.covariance_factors(), whole.posterior.covariance_factors(), strict=True):
        assert torch.allclose(found, wanted, atol=1e-7)


def test_only_the_first_process_collects(tmp_path):
    lightning, line, loader = parts()
    taking = callback(SWAG, rank=0, start=0.0)
    training = trainer(lightning, tmp_path, [taking])
    training.strategy.set_world_ranks = lambda: None
    type(training).is_global_zero, is_global_zero = property(lambda self: False), type(training).is_global_zero
    try:
        training.fit(line(), loader)
    finally:
        type(training).is_global_zero = is_global_zero
    assert taking.posterior is None
    assert taking.state_dict() == {}


def test_too_few_snapshots_and_endless_trainings_are_told(tmp_path):
    lightning, line, loader = parts()
    with pytest.warns(StillSnapshots, match="only 1 snapshots were taken"):
        trainer(lightning, tmp_path, [callback(SWAG, start=0.9)]).fit(line(), loader)
    with pytest.raises(ValueError, match="set max_epochs"):
        trainer(lightning, tmp_path, [callback(SWAG)], max_epochs=-1).fit(line(), loader)


def test_weights_that_are_shared_out_are_refused(tmp_path):
    from types import SimpleNamespace

    strategy = type("FSDPStrategy", (), {})()
    with pytest.raises(ValueError, match="FSDPStrategy shares the weights out"):
        callback(SWAG).on_train_start(SimpleNamespace(strategy=strategy), None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 1.0}, "start=1.0"),
        ({"start": True}, "start=True"),
        ({"every": "step"}, "every='step'"),
        ({"every": 0}, "every=0"),
        ({"lr": 0.0}, r"lr=0\.0"),
        ({"lr": math.inf}, "lr=inf"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        callback(SWAG, **options)


def test_what_is_no_posterior_is_refused():
    with pytest.raises(TypeError, match="expected the class FactorPosterior, Online"):
        callback(dict)


def test_it_is_a_callback_and_can_be_sent_to_another_process():
    import lightning.pytorch as lightning

    taking = callback(SWAG, rank=3, lr=0.1)
    assert isinstance(taking, lightning.Callback)
    again = pickle.loads(pickle.dumps(taking))
    assert (type(again), again.rank, again.lr) == (type(taking), 3, 0.1)


def test_the_older_package_will_do():
    """Where only pytorch_lightning is installed."""
    script = """
import sys
sys.modules["lightning"] = sys.modules["lightning.pytorch"] = None
import pytorch_lightning
from latens.nets import SWAG, PosteriorCallback
assert isinstance(PosteriorCallback(SWAG), pytorch_lightning.Callback)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


def test_without_lightning_the_remedy_is_named():
    script = """
import sys
for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
    sys.modules[name] = None
from latens.nets import SWAG
try:
    from latens.nets import PosteriorCallback
except ImportError as error:
    assert "needs lightning: pip install 'latens[lightning]'" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
