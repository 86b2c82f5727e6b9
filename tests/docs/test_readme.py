"""What the README shows is run as written."""

import re
import shlex
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_quick_start_runs_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)[:1]
    space: dict[str, object] = {}
    exec(compile(code, str(README), "exec"), space)
    printed = capsys.readouterr().out
    assert printed.startswith("8\n")
    assert (tmp_path / "report.html").stat().st_size > 1000
    again = space["latens"].load("shapes.latens")  # type: ignore[attr-defined]
    assert again.transform(space["X"]) == pytest.approx(space["codes"], abs=0)


def test_the_quick_start_has_ten_lines():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)[:1]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 10


def test_the_first_commands_are_commands_with_those_options():
    from latens.cli import main

    (block,) = re.findall(r"```sh\n(.*?)```", README.read_text(), flags=re.S)[:1]
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert commands[0] == ["pip", "install", "latens[table]"]
    for program, name, *rest in commands[1:]:
        assert program == "latens"
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= known


@pytest.mark.extras
def test_the_torch_loop_has_five_lines_and_runs_as_written():
    import torch

    import latens

    (code,) = re.findall(r"```python\n(posterior = .*?)```", README.read_text(), flags=re.S)
    assert len(code.strip().splitlines()) == 5
    torch.manual_seed(0)
    x = torch.randn(200, 2)
    y = (x[:, 0] > 0).long()
    net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.5)

    def train(net, loader):
        for x, y in loader:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimiser.step()

    rows = torch.utils.data.TensorDataset(x, y)
    space = {"latens": latens, "net": net, "train": train}
    space["loader"] = torch.utils.data.DataLoader(rows, 20, shuffle=True)
    space["test_loader"] = torch.utils.data.DataLoader(rows, 50)
    for _ in range(20):
        train(net, space["loader"])
    exec(compile(code, str(README), "exec"), space)
    assert space["posterior"].n == 20
    assert (space["answer"].classes == y.numpy()).mean() > 0.9
    assert space["answer"].mutual_information.max() > 0


def test_every_link_of_the_readme_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
