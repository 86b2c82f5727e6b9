"""
A network that knows what it does not know
==========================================

Snapshots of the last part of a training become a posterior over the weights; predictions are averaged over it.
"""

import matplotlib.pyplot as plt
import torch

import latens

torch.manual_seed(0)
x = torch.cat([torch.rand(40, 1) * 2 - 3, torch.rand(40, 1) * 2 + 1])
y = torch.sin(x) + 0.1 * torch.randn_like(x)
net = torch.nn.Sequential(torch.nn.Linear(1, 30), torch.nn.Tanh(), torch.nn.Linear(30, 1))
posterior = latens.nets.FactorPosterior(net, rank=5)
steps = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(600):
    batch = torch.randint(80, (20,))
    steps.zero_grad()
    (net(x[batch]) - y[batch]).square().mean().backward()
    steps.step()
    if epoch >= 300 and epoch % 5 == 0:
        posterior.update()

grid = torch.linspace(-4, 4, 100)[:, None]
answer = posterior.predict([grid], n_samples=50, task="regression")
mean, sd = answer.mean.ravel(), answer.variance.ravel() ** 0.5
plt.fill_between(grid.ravel(), mean - 2 * sd, mean + 2 * sd, alpha=0.3)
plt.plot(grid, mean)
plt.plot(x, y, "k.", ms=3)
