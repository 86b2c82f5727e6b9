"""Draws the picture of the README: python docs/images/shapes.py"""

from pathlib import Path

import matplotlib.pyplot as plt

import latens

X, truth = latens.datasets.make_shapes(random_state=0)
model = latens.BinaryFactorAnalysis(16, random_state=0).fit(X)
match = latens.metrics.match_components(model.components_, truth.components)
busy = X[truth.codes.sum(axis=1) > 1]
strips = {
    "some of 400 images": busy[:8],
    "the eight hidden shapes": truth.components,
    "found": model.components_[match.index],
}

figure, grid = plt.subplots(3, 8, figsize=(8.4, 3.5), dpi=150)
for line, (title, images) in zip(grid, strips.items(), strict=True):
    for axes, image in zip(line, images, strict=True):
        axes.imshow(image.reshape(4, 4), cmap="Greys", vmin=0, vmax=max(1.0, images.max()))
        axes.set(xticks=[], yticks=[])
        for edge in axes.spines.values():
            edge.set_color("0.8")
    line[0].set_title(title, loc="left", fontsize=10)
figure.tight_layout(h_pad=0.8, w_pad=0.4)
figure.savefig(Path(__file__).with_name("shapes.png"))
