"""The graphical model of every model, one description each."""

from __future__ import annotations

from latens.report.charts.graphs import GraphicalModel, Node, Plate

__all__ = ["GRAPHS"]

GRAPHS = {
    "binary-factors": GraphicalModel(
        "binary factors",
        (
            Node("π", (0, 0), "shared"),
            Node("s", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("w", (1.5, 0), "shared"),
            Node("γ", (2.6, 0), "shared"),
            Node("τ", (2.6, 1), "shared"),
        ),
        (("π", "s"), ("s", "x"), ("w", "x"), ("γ", "w"), ("τ", "x"), ("τ", "w")),
        (Plate("rows n", ("s", "x")), Plate("causes k", ("π", "s"), above=True)),
    ),
    "noisy-or": GraphicalModel(
        "noisy-OR",
        (
            Node("π", (0, 0), "shared"),
            Node("s", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("p", (1.5, 0), "shared"),
            Node("leak", (2.7, 1), "shared"),
        ),
        (("π", "s"), ("s", "x"), ("p", "x"), ("leak", "x")),
        (Plate("rows n", ("s", "x")), Plate("causes k", ("π", "s"), above=True)),
    ),
    "gaussian-mixture": GraphicalModel(
        "a mixture of Gaussians",
        (
            Node("π", (0, 0), "shared"),
            Node("c", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("μ", (1.5, 0), "shared"),
            Node("Λ", (2.6, 0), "shared"),
        ),
        (("π", "c"), ("c", "x"), ("μ", "x"), ("Λ", "x"), ("Λ", "μ")),
        (Plate("rows n", ("c", "x")), Plate("clusters k", ("μ", "Λ"), above=True)),
    ),
    "known-mixture": GraphicalModel(
        "the mixture of document 001",
        (
            Node("1/K", (0, 0), "given"),
            Node("c", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("μ", (1.5, 0), "shared"),
            Node("α, σ²", (2.7, 0), "given"),
            Node("λ²", (2.7, 1), "given"),
        ),
        (("1/K", "c"), ("c", "x"), ("μ", "x"), ("α, σ²", "μ"), ("λ²", "x")),
        (Plate("rows n", ("c", "x")), Plate("clusters k", ("μ",), above=True)),
    ),
    "bernoulli-mixture": GraphicalModel(
        "a mixture of Bernoullis",
        (
            Node("π", (0, 0), "shared"),
            Node("c", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("p", (1.5, 0), "shared"),
        ),
        (("π", "c"), ("c", "x"), ("p", "x")),
        (Plate("rows n", ("c", "x")), Plate("clusters k", ("p",), above=True)),
    ),
    "latent-classes": GraphicalModel(
        "latent classes of columns of any kind",
        (
            Node("π", (0, 0), "shared"),
            Node("c", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("η", (1.5, 0), "shared"),
            Node("ν, r", (3.0, 0.5), "shared"),
        ),
        (("π", "c"), ("c", "x"), ("η", "x"), ("ν, r", "x")),
        (Plate("rows n", ("c", "x")), Plate("classes k", ("η",), above=True)),
    ),
    "noisy-ica": GraphicalModel(
        "noisy ICA",
        (
            Node("α", (0, 0), "shared"),
            Node("u", (0, 1), "row"),
            Node("z", (1.2, 1), "row"),
            Node("x", (2.6, 1), "observed"),
            Node("A", (2.6, 0), "shared"),
            Node("γ", (3.7, 0), "shared"),
            Node("τ", (3.7, 1), "shared"),
        ),
        (("α", "u"), ("u", "z"), ("z", "x"), ("A", "x"), ("γ", "A"), ("τ", "x"), ("τ", "A")),
        (Plate("rows n", ("u", "z", "x")), Plate("sources k", ("α", "u", "z"), above=True)),
    ),
    "factor-analysis": GraphicalModel(
        "factor analysis",
        (
            Node("h", (0, 1), "row"),
            Node("x", (1.5, 1), "observed"),
            Node("F", (1.5, 0), "shared"),
            Node("ψ", (2.6, 1), "shared"),
            Node("c", (2.6, 0), "shared"),
        ),
        (("h", "x"), ("F", "x"), ("ψ", "x"), ("c", "x")),
        (Plate("rows n", ("h", "x")),),
    ),
    "linear-regression": GraphicalModel(
        "linear regression",
        (
            Node("x", (0, 1), "given"),
            Node("y", (1.5, 1), "observed"),
            Node("θ", (1.5, 0), "shared"),
            Node("α", (0.2, 0), "shared"),
            Node("β", (2.6, 1), "shared"),
        ),
        (("x", "y"), ("θ", "y"), ("α", "θ"), ("β", "y")),
        (Plate("rows n", ("x", "y")),),
    ),
    "multi-view": GraphicalModel(
        "sparse factors of several views",
        (
            Node("z", (0, 2), "row"),
            Node("y", (1.6, 2), "observed"),
            Node("w", (1.6, 1), "shared"),
            Node("α", (1.6, 0), "shared"),
            Node("s", (2.7, 1), "shared"),
            Node("θ", (2.7, 0), "shared"),
            Node("τ", (2.9, 1.75), "shared"),
            Node("b", (2.9, 2.4), "shared"),
        ),
        (("z", "y"), ("w", "y"), ("s", "w"), ("θ", "s"), ("α", "w"), ("τ", "y"), ("b", "y")),
        (Plate("rows n", ("z", "y")), Plate("views m", ("α", "w", "s", "θ", "y", "τ", "b"), above=True)),
    ),
    "weight-posterior": GraphicalModel(
        "the weights of a network, by several trainings",
        (
            Node("m", (0.4, 0), "shared"),
            Node("F", (1.5, 0), "shared"),
            Node("ψ", (2.6, 0), "shared"),
            Node("w", (1.5, 1), "shared"),
            Node("x", (0.3, 2.1), "given"),
            Node("y", (1.5, 2.1), "observed"),
        ),
        (("m", "w"), ("F", "w"), ("ψ", "w"), ("w", "y"), ("x", "y")),
        (Plate("rows n", ("x", "y")), Plate("trainings j", ("m", "F", "ψ", "w"), above=True)),
    ),
}
