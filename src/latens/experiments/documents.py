"""The five source documents: what they are called, and who wrote them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DOCUMENTS", "Document"]


@dataclass(frozen=True)
class Document:
    number: str
    title: str
    author: str
    year: str = ""

    @property
    def cited(self) -> str:
        """
        Examples
        --------
        >>> DOCUMENTS["001"].cited
        'document 001, "Probabilistic Graphical Models - Tutorial 8" by Fernando García Sanz, 2020'
        """
        return f'document {self.number}, "{self.title}" by {self.author}' + f", {self.year}" * bool(self.year)


DOCUMENTS = {
    document.number: document
    for document in (
        Document("000", "Assignment 5: Approximate Inference", "Callum Lau", "2020"),
        Document("001", "Probabilistic Graphical Models - Tutorial 8", "Fernando García Sanz", "2020"),
        Document("002", "Extending the Bayesian Deep Learning Method MultiSWAG", "Scott Brownlie", "2021"),
        Document("003", "Spike and Slab with sample-wise noise precision", "an author who is not named"),
        Document(
            "004",
            "Latent variable models. Variational approximations",
            "Milos Hauskrecht, its second part, The Noisy-OR Vector Quantizer, by Tomas Singliar and Milos Hauskrecht",
        ),
    )
}
