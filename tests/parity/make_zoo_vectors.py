#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes zoo_vectors.json: the losses of 20 SGD steps of every network of the zoo, computed by PyTorch in double, and how
far PyTorch's own kernels for float are from them.

Run by hand with a Python that can import torch (the file says which version made it); tests/model/zoo_parity_test.cpp reads
the file. Weights and data are integer formulas, so that the file holds results only. Where torchvision is importable, names
and shapes of the networks that it has are checked against it. A new network is a module and a row of MODELS.
"""

import itertools
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

STEPS = 20
ROWS = 12  # of a batch
NUDGE = 2**-22  # four roundings to float
OPTIMIZER = {"lr": 0.001, "momentum": 0.9, "weight_decay": 0.0005}


def scrambled(count, stream):
    """count integers in [0, 2^32) that any language can repeat: a hash of their index and the stream."""
    x = (torch.arange(count, dtype=torch.int64) + stream * 1000003) % 2**32
    for _ in range(2):
        x = ((x ^ (x >> 16)) * 0x45D9F3B) % 2**32
    return x ^ (x >> 16)


def noise(count, stream):
    """In [-1, 1), rounded to float32."""
    return (scrambled(count, stream).double() / 2**31 - 1).float().double()


class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:-1])

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = torch.relu(norm(layer(x)))
        return self.layers[-1](x)


class LeNet(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 6 * 6, 120)  # of 32x32
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, outputs)

    def forward(self, x):
        h = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        h = torch.max_pool2d(torch.relu(self.conv2(h)), 2).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(h)))))


class Cnn(nn.Module):
    def __init__(self, channels, side, outputs, batch_norm=True):
        super().__init__()
        self.layers = nn.ModuleList()
        for a, b in zip(channels, channels[1:]):
            layer = nn.Module()
            layer.conv = nn.Conv2d(a, b, 3, padding=1, bias=not batch_norm)
            if batch_norm:
                layer.bn = nn.BatchNorm2d(b)
            self.layers.append(layer)
            side //= 2
        self.fc = nn.Linear(channels[-1] * side * side, outputs)

    def forward(self, x):
        for layer in self.layers:
            x = torch.max_pool2d(layer.conv(x), 2)
            x = torch.relu(layer.bn(x) if hasattr(layer, "bn") else x)
        return self.fc(x.flatten(1))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions, or a bottleneck (expansion 4)."""

    def __init__(self, channels, width, stride, expansion=1, projection=True):
        super().__init__()
        out = width * expansion
        shapes = [(channels, width, 3, stride), (width, width, 3, 1)]
        if expansion > 1:
            shapes = [(channels, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
        for i, (a, b, kernel, step) in enumerate(shapes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.depth, self.stride, self.more = len(shapes), stride, out - channels
        if projection and (stride > 1 or self.more):
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        h = x
        for i in range(1, self.depth + 1):
            h = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(h))
            if i < self.depth:
                h = torch.relu(h)
        if hasattr(self, "downsample"):
            x = self.downsample(x)
        elif self.stride > 1 or self.more:  # option A
            x = functional.pad(
                x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more - self.more // 2)
            )
        return torch.relu(h + x)


class ResNet(nn.Module):
    def __init__(self, blocks, width, outputs, stem="imagenet", **of_blocks):
        super().__init__()
        self.pooled = stem == "imagenet"
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False) if self.pooled else nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels = width
        self.stages = len(blocks)
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                layers.append(ResidualBlock(channels, width << stage, 2 if stage and not i else 1, **of_blocks))
                channels = (width << stage) * of_blocks.get("expansion", 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, outputs)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        if self.pooled:
            x = functional.max_pool2d(x, 3, 2, 1)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class Vgg16(nn.Module):
    """Without dropout: it has no parameters, only its places in the names are kept."""

    def __init__(self, width, hidden, outputs, batch_norm):
        super().__init__()
        layers, channels = [], 3
        for factor in [1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8, 0]:
            if factor == 0:
                layers.append(nn.MaxPool2d(2))
                continue
            layers.append(nn.Conv2d(channels, width * factor, 3, padding=1))
            channels = width * factor
            layers += ([nn.BatchNorm2d(channels)] if batch_norm else []) + [nn.ReLU()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, hidden),
            nn.ReLU(),
            nn.Identity(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Identity(),
            nn.Linear(hidden, outputs),
        )

    def forward(self, x):
        return self.classifier(functional.adaptive_avg_pool2d(self.features(x), 7).flatten(1))


def conv_norm(a, b, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(a, b, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(b), nn.ReLU6()
    )


class InvertedResidual(nn.Module):
    def __init__(self, a, b, stride, expansion):
        super().__init__()
        hidden = a * expansion
        layers = [conv_norm(a, hidden, 1)] if expansion > 1 else []
        layers += [conv_norm(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, b, 1, bias=False), nn.BatchNorm2d(b)]
        self.conv = nn.Sequential(*layers)
        self.residual = stride == 1 and a == b

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width, outputs, stem="imagenet"):
        super().__init__()

        def rounded(wanted):
            channels = max(8, int(wanted + 4) // 8 * 8)
            return channels + 8 if channels < 0.9 * wanted else channels

        channels = rounded(32 * width)
        features = [conv_norm(3, channels, 3, 2 if stem == "imagenet" else 1)]
        for expansion, out, count, stride in [
            (1, 16, 1, 1),
            (6, 24, 2, 2),
            (6, 32, 3, 2),
            (6, 64, 4, 2),
            (6, 96, 3, 1),
            (6, 160, 3, 2),
            (6, 320, 1, 1),
        ]:
            for i in range(count):
                features.append(InvertedResidual(channels, rounded(out * width), 1 if i else stride, expansion))
                channels = rounded(out * width)
        last = rounded(1280 * max(1.0, width))
        self.features = nn.Sequential(*features, conv_norm(channels, last, 1))
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(last, outputs))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class VitLayer(nn.Module):
    def __init__(self, width, heads, mlp):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, mlp), nn.GELU(), nn.Identity(), nn.Linear(mlp, width), nn.Identity())

    def forward(self, x):
        h = self.ln_1(x)
        x = x + self.self_attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Vit(nn.Module):
    def __init__(self, shape, outputs, **sizes):
        super().__init__()
        patch, width = sizes["patch"], sizes["width"]
        channels, height, across = shape
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.conv_proj = nn.Conv2d(channels, width, patch, patch)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, height // patch * (across // patch) + 1, width))
        self.encoder.layers = nn.Sequential()
        for i in range(sizes["depth"]):
            self.encoder.layers.add_module(f"encoder_layer_{i}", VitLayer(width, sizes["heads"], sizes["mlp"]))
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.Sequential()
        self.heads.add_module("head", nn.Linear(width, outputs))

    def forward(self, x):
        x = torch.cat([self.class_token.expand(len(x), -1, -1), self.conv_proj(x).flatten(2).transpose(1, 2)], 1)
        return self.heads(self.encoder.ln(self.encoder.layers(x + self.encoder.pos_embedding))[:, 0])


class Conv1D(nn.Module):
    """The linear layer of Hugging Face's GPT-2."""

    def __init__(self, a, b):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(a, b)), nn.Parameter(torch.zeros(b))

    def forward(self, x):
        return x @ self.weight + self.bias


class GptLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.count = heads
        self.ln_1, self.attn = nn.LayerNorm(width), nn.Module()
        self.attn.c_attn, self.attn.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.ln_2, self.mlp = nn.LayerNorm(width), nn.Module()
        self.mlp.c_fc, self.mlp.c_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)

    def forward(self, x):
        heads = [part.unflatten(2, (self.count, -1)).transpose(1, 2) for part in self.attn.c_attn(self.ln_1(x)).chunk(3, 2)]
        x = x + self.attn.c_proj(functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp.c_proj(functional.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, tokens, vocabulary, layers, width, heads):
        super().__init__()
        self.transformer = nn.Module()
        self.transformer.wte, self.transformer.wpe = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.transformer.h = nn.ModuleList(GptLayer(width, heads) for _ in range(layers))
        self.transformer.ln_f = nn.LayerNorm(width)

    def forward(self, x):
        part = self.transformer
        h = part.wte(x.long()) + part.wpe(torch.arange(x.shape[1]))
        for layer in part.h:
            h = layer(h)
        return functional.linear(part.ln_f(h), part.wte.weight)


class Lstm(nn.Module):
    def __init__(self, width, outputs, vocabulary=0, **options):
        super().__init__()
        if vocabulary:
            self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, batch_first=True, **options)
        self.directions = 2 if self.lstm.bidirectional else 1
        self.fc = nn.Linear(self.directions * self.lstm.hidden_size, outputs)

    def forward(self, x):
        last, _ = self.lstm(self.embedding(x.long()) if hasattr(self, "embedding") else x)[1]
        return self.fc(torch.cat(list(last[-self.directions :]), 1))


class WideAndDeep(nn.Module):
    """A lookup per feature, in its part of the common tables."""

    def __init__(self, categories, embedding, hidden, outputs):
        super().__init__()
        self.categories = categories
        numbers = categories.count(0)
        self.wide = nn.Module()
        self.wide.weight = nn.Parameter(torch.zeros(sum(categories), outputs))
        self.wide.bias = nn.Parameter(torch.zeros(outputs))
        if numbers:
            self.wide.numeric = nn.Linear(numbers, outputs, bias=False)
        self.embedding = nn.Embedding(sum(categories), embedding)
        widths = [embedding * (len(categories) - numbers) + numbers, *hidden, outputs]
        self.deep = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        out, deep, numbers, first = self.wide.bias, [], [], 0
        for column, n in zip(x.unbind(1), self.categories):
            if n == 0:
                numbers.append(column[:, None])
                continue
            out = out + self.wide.weight[first : first + n][column.long()]
            deep.append(self.embedding.weight[first : first + n][column.long()])
            first += n
        if numbers:
            out = out + self.wide.numeric(torch.cat(numbers, 1))
        h = torch.cat(deep + numbers, 1)
        for layer in self.deep[:-1]:
            h = torch.relu(layer(h))
        return out + self.deep[-1](h)


def data(shape, outputs, task="classification", categories=()):
    """As dataset.json has it; features that are categories are integers below them, else noise."""
    return {"shape": list(shape), "outputs": outputs, "task": task, "categories": list(categories)}


IMAGES = data([3, 32, 32], 10)
MODELS = {  # case -> our model section, the data, PyTorch's network
    "mlp": ({"name": "mlp", "hidden": [24, 16], "batch_norm": True}, data([20], 5), lambda: Mlp([20, 24, 16, 5])),
    "lenet": ({"name": "lenet"}, IMAGES, lambda: LeNet(3, 10)),
    "cnn": ({"name": "cnn", "channels": [8, 16, 24]}, IMAGES, lambda: Cnn([3, 8, 16, 24], 32, 10)),
    "cnn_plain": ({"name": "cnn", "channels": [8, 16], "batch_norm": False}, IMAGES, lambda: Cnn([3, 8, 16], 32, 10, False)),
    "resnet20": ({"name": "resnet20", "width": 8}, IMAGES, lambda: ResNet([3, 3, 3], 8, 10, "cifar", projection=False)),
    "resnet18_cifar": (
        {"name": "resnet18", "stem": "cifar", "width": 8},
        IMAGES,
        lambda: ResNet([2, 2, 2, 2], 8, 10, "cifar"),
    ),
    "resnet50": ({"name": "resnet50", "width": 8}, data([3, 64, 64], 10), lambda: ResNet([3, 4, 6, 3], 8, 10, expansion=4)),
    "mobilenet_v2": (
        {"name": "mobilenet_v2", "width": 0.25, "dropout": 0.0, "stem": "cifar"},
        IMAGES,
        lambda: MobileNetV2(0.25, 10, "cifar"),
    ),
    "vgg16_bn": ({"name": "vgg16_bn", "width": 8, "hidden": 32, "dropout": 0.0}, IMAGES, lambda: Vgg16(8, 32, 10, True)),
    "vgg16": ({"name": "vgg16", "width": 8, "hidden": 32, "dropout": 0.0}, IMAGES, lambda: Vgg16(8, 32, 10, False)),
    "vit": (
        {"name": "vit", "patch": 4, "width": 24, "depth": 2, "heads": 3, "mlp": 40},
        data([3, 16, 12], 10),
        lambda: Vit([3, 16, 12], 10, patch=4, width=24, depth=2, heads=3, mlp=40),
    ),
    "gpt": (
        {"name": "gpt", "layers": 2, "width": 24, "heads": 3},
        data([9], 13, "language", [13]),
        lambda: Gpt(9, 13, 2, 24, 3),
    ),
    "lstm": (
        {"name": "lstm", "hidden": 16, "layers": 2},
        data([11, 5], 3),
        lambda: Lstm(5, 3, hidden_size=16, num_layers=2),
    ),
    "lstm_tokens": (
        {"name": "lstm", "hidden": 16, "layers": 2, "embedding": 6, "bidirectional": True},
        data([11], 3, categories=[9]),
        lambda: Lstm(6, 3, vocabulary=9, hidden_size=16, num_layers=2, bidirectional=True),
    ),
    "wide_and_deep": (
        {"name": "wide_and_deep", "embedding": 4, "hidden": [16, 12]},
        data([5], 3, categories=[4, 0, 9, 0, 2]),
        lambda: WideAndDeep([4, 0, 9, 0, 2], 4, [16, 12], 3),
    ),
}
TORCHVISION = {  # its name -> ours at its size
    "resnet18": lambda: ResNet([2, 2, 2, 2], 64, 1000),
    "resnet34": lambda: ResNet([3, 4, 6, 3], 64, 1000),
    "resnet50": lambda: ResNet([3, 4, 6, 3], 64, 1000, expansion=4),
    "vgg16": lambda: Vgg16(64, 4096, 1000, False),
    "vgg16_bn": lambda: Vgg16(64, 4096, 1000, True),
    "mobilenet_v2": lambda: MobileNetV2(1.0, 1000),
    "vit_b_16": lambda: Vit([3, 224, 224], 1000, patch=16, width=768, depth=12, heads=12, mlp=3072),
}


def fill(network):
    """Matrices and kernels: uniform with He's variance; scales of norms: near 0.3; biases: near 0.6.

    Deep networks with batch norm double a rounding error every few layers and steps. Where most units of a relu are active,
    as with these scales and biases, it stays below 1e-6, while the steps change the losses by 5 % and more.
    """
    with torch.no_grad():
        for t, (name, parameter) in enumerate(network.named_parameters()):
            values = noise(parameter.numel(), t).view_as(parameter)
            if parameter.dim() > 1:
                values = values * (6 * parameter.shape[0] / parameter.numel()) ** 0.5
            elif name.endswith("weight"):
                values = 0.3 + 0.1 * values
            else:
                values = 0.6 + 0.1 * values
            parameter.copy_(values.float())


def batch(step, d):
    """Features and answers of a step; every position of a language row is answered by its next token."""
    size, stream = torch.Size(d["shape"]).numel(), 1000 + step
    labels = scrambled(ROWS, 2000 + step) % d["outputs"]
    if d["categories"]:
        per_feature = torch.tensor(d["categories"] if len(d["categories"]) > 1 else d["categories"] * size)
        ids = scrambled(ROWS * size, stream).view(ROWS, size)
        numbers = noise(ROWS * size, stream).view(ROWS, size)
        x = torch.where(per_feature > 0, (ids % per_feature.clamp(min=1)).double(), numbers).view(ROWS, *d["shape"])
    else:
        x = noise(ROWS * size, stream).view(ROWS, *d["shape"])
    if d["task"] == "language":
        labels = torch.cat([x[:, 1:].long(), labels[:, None]], 1)
    return x, labels


def mean_loss(outputs, labels):
    return functional.cross_entropy(outputs.flatten(0, -2), labels.flatten())


def nudge(network, seed):
    """Changes each weight by up to NUDGE of its size."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1 + NUDGE * (2 * torch.rand(parameter.shape, generator=generator, dtype=torch.double) - 1))


def trained(case, dtype, memory_format=torch.contiguous_format, seed=None):
    """The network, and the losses of all steps and of an evaluation after them. seed: of nudge()."""
    _, d, make = MODELS[case]
    network = make().to(dtype)
    fill(network)
    if seed is not None:
        nudge(network, seed)
    network.to(memory_format=memory_format)

    def loss_of(step):
        x, labels = batch(step, d)
        x = x.to(dtype)
        if x.dim() == 4:
            x = x.contiguous(memory_format=memory_format)
        return mean_loss(network(x), labels)

    optimizer = torch.optim.SGD(network.parameters(), **OPTIMIZER)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    network.eval()
    with torch.no_grad():
        losses.append(loss_of(STEPS).item())
    return network, losses


def rounding(case, exact):
    """How far from the losses in double, relative, PyTorch's kernels for float are until each step, or a training in double
    from weights that are a few roundings away: the largest. Where a unit is so close to zero that a rounding switches it, no
    kernel can be nearer. Another CPU has other kernels, which round otherwise."""
    runs = [trained(case, torch.double, seed=seed)[1] for seed in range(8)]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        for onednn in (True, False):
            with torch.backends.mkldnn.flags(enabled=onednn):
                runs.append(trained(case, torch.float, memory_format)[1])
    worst = [max(abs(loss / true - 1) for loss in losses) for true, *losses in zip(exact, *runs)]
    return [float(f"{until:.1e}") for until in itertools.accumulate(worst, max)]


def run(case):
    model, d, _ = MODELS[case]
    network, losses = trained(case, torch.double)
    *losses, evaluated = exact = losses
    return {
        "case": case,
        "model": model,
        "data": d,
        "losses": losses,
        "evaluated": evaluated,
        "rounding": rounding(case, exact),
        "parameters": [[name, list(p.shape)] for name, p in network.named_parameters()],
        "buffers": [[name, list(b.shape)] for name, b in network.named_buffers()],
    }


def check_against_torchvision():
    try:
        from torchvision import models
    except ImportError:
        print("no torchvision: names and shapes are not checked", file=sys.stderr)
        return
    for name, make in TORCHVISION.items():
        with torch.device("meta"):
            theirs, ours = (
                [(key, value.shape) for key, value in m.state_dict().items()] for m in (getattr(models, name)(), make())
            )
        assert theirs == ours, f"{name} is not torchvision's"


def main():
    torch.set_num_threads(1)
    check_against_torchvision()
    out = pathlib.Path(__file__).with_name("zoo_vectors.json")
    lines = ",\n".join(json.dumps(run(case)) for case in MODELS)
    out.write_text(
        '{"made_by": "torch %s", "rows": %d, "optimizer": %s, "cases": [\n%s\n]}\n'
        % (torch.__version__, ROWS, json.dumps(OPTIMIZER), lines)
    )
    print(f"{out}: {len(MODELS)} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
