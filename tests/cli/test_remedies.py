"""Remedies of the library in the words of the command line can be typed as they stand."""

from __future__ import annotations

import shlex

from latens.cli.terminal.remedies import in_options


def test_names_of_views_with_blanks_are_quoted() -> None:
    words = in_options(
        "view 'b numbers' holds counts up to 6,300 and is taken as gaussian. Try likelihoods={'b numbers': "
        "'negative-binomial'} with exposure='total', or np.log1p of it."
    )
    typed = words[words.index("--likelihood") : words.index(", or")]
    assert shlex.split(typed) == ["--likelihood", "b numbers=negative-binomial", "--exposure", "total"]
