"""What the machine gives someone who writes the loop for one case: the actor alone, nothing logged or checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from cases import data_of
from torch import Tensor, nn

torch.set_num_threads(1)
torch.set_flush_denormal(True)

ENTROPY_WEIGHT = 1e-3
CHUNK = 64


def rows_of(case: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Return the data as tensors."""
    device = case.get("device", "cpu")
    obs, acts = data_of(case)
    return torch.as_tensor(obs, device=device), torch.as_tensor(acts, device=device)


def batches(obs: Tensor, acts: Tensor, size: int, n: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield ``n`` shuffled batches, gathering 64 at once, images one by one."""
    chunk = size * (CHUNK if obs.dim() == 2 else 1)
    while True:
        for rows in torch.split(torch.randperm(len(obs), device=obs.device), chunk):
            for pair in zip(torch.split(obs[rows], size), torch.split(acts[rows], size), strict=True):
                if n == 0:
                    return
                n -= 1
                yield pair


def make_actor(case: dict[str, Any]) -> nn.Sequential:
    """Build the actor's network."""
    torch.manual_seed(0)
    widths = [case["obs"], *case["widths"]]
    hidden = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*hidden, nn.Linear(widths[-1], case["acts"]))


def make_cnn(case: dict[str, Any]) -> nn.Sequential:
    """Build the Nature CNN."""
    torch.manual_seed(0)
    convolutions = [
        nn.Conv2d(4, 32, 8, 4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, 2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
    ]
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, case["acts"]))


def gaussian_loss(mean: Tensor, log_std: Tensor, acts: Tensor) -> Tensor:
    """Negative log-likelihood and entropy, the reference's loss."""
    deviation = (acts - mean) * torch.exp(-log_std)
    constant = 0.5 * math.log(2 * math.pi) * len(log_std)
    log_prob = -0.5 * deviation.square().sum(1) - log_std.sum() - constant
    entropy = log_std.sum() + 0.5 * len(log_std) + constant
    return -log_prob.mean() - ENTROPY_WEIGHT * entropy


def categorical_loss(logits: Tensor, acts: Tensor) -> Tensor:
    """Negative log-likelihood and entropy, the reference's loss."""
    log_p = torch.log_softmax(logits, 1)
    entropy = -(log_p.exp() * log_p).sum(1)
    return -log_p.gather(1, acts[:, None]).mean() - ENTROPY_WEIGHT * entropy.mean()


def autograd(case: dict[str, Any]) -> Callable[[int], None]:
    """Torch's autograd and fused Adam; images channels-last."""
    obs, acts = rows_of(case)
    is_cnn = case["policy"] == "cnn"
    net: nn.Module = make_cnn(case).to(memory_format=torch.channels_last) if is_cnn else make_actor(case)  # type: ignore[call-overload]  # torch's stub
    net = net.to(obs.device)
    log_std = nn.Parameter(torch.zeros(case["acts"], device=obs.device))
    is_discrete = case["discrete"] or is_cnn
    parameters = [*net.parameters(), *([] if is_discrete else [log_std])]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)

    def run(n: int) -> None:
        for some_obs, some_acts in batches(obs, acts, case["batch"], n):
            if is_cnn:
                some_obs = some_obs.to(torch.float32, memory_format=torch.channels_last).div_(255.0)
            outputs = net(some_obs)
            loss = categorical_loss(outputs, some_acts) if is_discrete else gaussian_loss(outputs, log_std, some_acts)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch's
            optimizer.step()

    return run


def by_hand(case: dict[str, Any]) -> Callable[[int], None]:
    """A backward pass written for this case, on one flat vector, and torch's fused Adam called directly."""
    obs, acts = rows_of(case)
    size, is_discrete = case["batch"], case["discrete"]
    widths = [case["obs"], *case["widths"], case["acts"]]
    shapes = [shape for a, b in pairwise(widths) for shape in ((b, a), (b,))]
    shapes += [] if is_discrete else [(case["acts"],)]
    vector = torch.cat([p.detach().reshape(-1) for p in make_actor(case).parameters()])
    if not is_discrete:
        vector = torch.cat([vector, torch.zeros(case["acts"])])
    gradient, average, square, step = *(torch.zeros_like(vector) for _ in range(3)), torch.zeros(())
    values, slopes = (
        [part.view(shape) for part, shape in zip(torch.split(v, [math.prod(s) for s in shapes]), shapes, strict=True)]
        for v in (vector, gradient)
    )
    weights, biases, into_weights, into_biases = values[0:-1:2], values[1::2], slopes[0:-1:2], slopes[1::2]
    if is_discrete:
        weights, into_weights = values[0::2], slopes[0::2]
    n_layers = len(weights)

    @torch.inference_mode()
    def run(n: int) -> None:
        for some_obs, some_acts in batches(obs, acts, size, n):
            hidden = [some_obs]
            for layer in range(n_layers - 1):
                hidden.append(torch.addmm(biases[layer], hidden[-1], weights[layer].t()).tanh_())
            outputs = torch.addmm(biases[n_layers - 1], hidden[-1], weights[-1].t())
            if is_discrete:
                log_p = torch.log_softmax(outputs, 1)
                p = log_p.exp()
                slope = p * (1 + ENTROPY_WEIGHT * (log_p - (p * log_p).sum(1, keepdim=True)))
                slope.scatter_add_(1, some_acts[:, None], torch.full((len(p), 1), -1.0))
                slope.div_(len(p))
            else:
                log_std = values[-1]
                precision = torch.exp(-2 * log_std)
                deviation = outputs - some_acts
                slope = deviation * (precision / len(deviation))
                torch.sum(slope * deviation, 0, out=slopes[-1])
                slopes[-1].neg_().add_(1 - ENTROPY_WEIGHT)
            for layer in range(n_layers - 1, -1, -1):
                torch.mm(slope.t(), hidden[layer], out=into_weights[layer])
                torch.sum(slope, 0, out=into_biases[layer])
                if layer:
                    slope = (slope @ weights[layer]) * (1 - hidden[layer].square())
            step.add_(1)
            torch._fused_adam_(
                [vector], [gradient], [average], [square], [], [step],
                lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip

    return run


CONTESTANTS = {"autograd": autograd, "by hand": by_hand}
