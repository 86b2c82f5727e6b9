"""
Topics as clusters of short texts
=================================

Words that occur or do not occur, in clusters of texts whose number is found.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import latens

sea, kitchen, law = (
    ["ship", "harbour", "wave", "sail", "captain", "storm", "tide"],
    ["flour", "oven", "butter", "sugar", "dough", "bowl", "salt"],
    ["court", "judge", "claim", "contract", "appeal", "witness", "law"],
)
rng = np.random.default_rng(0)
texts = [" ".join(rng.choice(topic, 4, replace=False)) for topic in (sea, kitchen, law) for _ in range(40)]
words = CountVectorizer(binary=True)
X = words.fit_transform(texts).toarray().astype(float)

model = latens.BernoulliMixture(10, random_state=0).fit(X)
names = words.get_feature_names_out()
for k in range(model.n_components_):
    print(k, f"{model.weights_[k]:.2f}", list(names[np.argsort(-model.means_[k])[:5]]))
latens.plots.usage(model)
