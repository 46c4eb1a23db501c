"""Makes the learning curves that figure.py plays rules on. Needs a Python with numpy and onnxruntime.

  curves.py MODEL_FOLDER OUT.npz

MODEL_FOLDER is the folder `lcbench` of https://github.com/slds-lmu/yahpo_data (Apache-2.0): of its files, model.onnx,
encoding.json and config_space.json are read. The network is YAHPO Gym's surrogate (Pfisterer et al., 2022) of LCBench
(Zimmer, Lindauer and Hutter, 2021): it takes a task, an epoch and seven values, and says seconds, validation accuracy in per
cent, and four more numbers. It has no noise.

OUT.npz has `tasks` (names), `X` [configuration, value], and `acc` and `time` [task, configuration, epoch] as float32.

SPDX-License-Identifier: Apache-2.0
"""

import json
import math
import os
import pathlib
import sys

import numpy
import onnxruntime

CONFIGURATIONS, EPOCHS, SEED = 500, 52, 1862
TASK = "OpenML_task_id"
LEFT_OUT = ("167083",)  # some versions of config_space.json have it, but the benchmark's 34 tasks are the others
SECONDS, ACCURACY = 0, 1  # columns of what the network says


def draw(rng, count):
    """Random configurations, a row each. The network expects this order of the columns, and they are drawn in it."""

    def log_uniform(low, high):
        return numpy.exp(rng.uniform(math.log(low), math.log(high), count))

    columns = {
        "batch_size": numpy.round(log_uniform(16, 512)),
        "learning_rate": log_uniform(1e-4, 0.1),
        "momentum": rng.uniform(0.1, 0.99, count),
        "weight_decay": rng.uniform(1e-5, 0.1, count),
        "num_layers": rng.integers(1, 6, count),
        "max_units": numpy.round(log_uniform(64, 1024)),
        "max_dropout": rng.uniform(0, 1, count),
    }
    return numpy.stack(list(columns.values()), 1)


def task_names(folder):
    keys = json.loads((folder / "config_space.json").read_text())["hyperparameters"]
    choices = next(key["choices"] for key in keys if key["name"] == TASK)
    return [name for name in map(str, choices) if name not in LEFT_OUT]


def load(folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # so that sums have one order on all machines
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def curves(network, code, configurations):
    """Accuracy and seconds [configuration, epoch] on the task with this code."""
    count = len(configurations)
    epochs = numpy.tile(numpy.arange(1, EPOCHS + 1, dtype=numpy.float32), count)[:, None]
    values = numpy.repeat(configurations, EPOCHS, 0).astype(numpy.float32)
    task = numpy.full((count * EPOCHS, 1), code, numpy.int32)
    said = network.run(None, {"x_cat": task, "x_cont": numpy.hstack([epochs, values])})[0]
    if len(said) != count * EPOCHS or not numpy.isfinite(said).all():
        raise ValueError("the network does not say a number for each epoch")
    return (said[:, column].reshape(count, EPOCHS).astype(numpy.float32) for column in (ACCURACY, SECONDS))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    codes = json.loads((folder / "encoding.json").read_text())[TASK]
    tasks, network = task_names(folder), load(folder)
    configurations = draw(numpy.random.default_rng(SEED), CONFIGURATIONS)
    accuracies, seconds = [], []
    for name in tasks:
        accuracy, time = curves(network, codes[name], configurations)
        accuracies.append(accuracy)
        seconds.append(time)
        print(f"task {name}: best accuracy {accuracy.max():.2f} %", flush=True)
    fresh = out.with_name(f"{out.name}.tmp.npz")  # an interrupted start leaves no half file under the name
    numpy.savez_compressed(
        fresh, tasks=numpy.array(tasks), X=configurations, acc=numpy.stack(accuracies), time=numpy.stack(seconds)
    )
    os.replace(fresh, out)


if __name__ == "__main__":
    main()
