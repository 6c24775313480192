# SPDX-License-Identifier: GPL-2.0-only
"""Programs for tinygrad, which speaks to KFD by itself, without AMD's runtime.

usage: tensors.py DIRECTORY PROGRAM...
       tensors.py --compile

They take part in what tests/clients/main.cpp says of programs, files and lines. Each prints the digest of
all bits that it left, and ends the process where they are not near what Python calculates.
With --compile all run once, and nothing is looked at, for a device that only compiles.
"""

import array
import hashlib
import math
import os
import sys
import time

from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn


class Numbers:
    """Numbers that are the same in each run."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def whole(self, rows, columns, limit):
        """A table of whole numbers on both sides of zero, as floating point."""
        half = limit // 2
        return [[float(self.below(limit) - half) for _ in range(columns)] for _ in range(rows)]


def require(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def tensor(table):
    return Tensor(table, dtype=dtypes.float32).realize()


def digest(*tensors, losses=()):
    """Of all bits of some tensors, and of some numbers."""
    bits = hashlib.sha256(array.array("d", losses))
    for each in tensors:
        bits.update(each.data())
    return bits.hexdigest()[:16]


def times(left, right):
    columns = list(zip(*right))
    return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in left]


def matmul():
    """A product of whole numbers, which is exact in any order."""
    numbers = Numbers(1)
    left, right = (numbers.whole(SIDE, SIDE, 64) for _ in range(2))
    product = TinyJit(lambda a, b: (a @ b).realize())
    factors = tensor(left), tensor(right)
    expected = times(left, right)
    def run(check):
        result = product(*factors)
        require(not check or result.tolist() == expected, "a product")
        return digest(result)
    return run


def sort():
    """Keys with places, by a network of comparisons in many kernels."""
    numbers = Numbers(2)
    keys = [numbers.below(1000) for _ in range(KEYS)]
    order = TinyJit(lambda keys: tuple(part.realize() for part in keys.sort()))
    given = Tensor(keys, dtype=dtypes.int32).realize()
    def run(check):
        ordered, places = order(given)
        if check:
            require(ordered.tolist() == sorted(keys), "an order")
            require([keys[at] for at in places.tolist()] == sorted(keys), "places")
        return digest(ordered, places)
    return run


def mlp():
    """Five steps in which a network of two layers learns, each round from the beginning."""
    numbers = Numbers(3)
    data = [[each / 8 for each in row] for row in numbers.whole(BATCH, INPUTS, 16)]
    wanted = [[math.sin(sum(row))] for row in data]
    begin = [[[each / 32 for each in row] for row in numbers.whole(*shape, 16)]
             for shape in ((INPUTS, HIDDEN), (HIDDEN, 1))]
    given, goal = tensor(data), tensor(wanted)
    fresh = [tensor(table) for table in begin]
    weights = [tensor(table) for table in begin]
    optimizer = nn.optim.SGD(weights, lr=RATE)

    def step():
        optimizer.zero_grad()
        loss = ((given @ weights[0]).relu() @ weights[1] - goal).square().mean()
        loss.backward()
        return loss.realize(*optimizer.schedule_step())

    train = TinyJit(step)
    reset = TinyJit(lambda: Tensor.realize(*(a.assign(b) for a, b in zip(weights, fresh))))

    def run(check):
        reset()
        with Context(TRAINING=1):
            losses = [train().item() for _ in range(STEPS)]
        if check:
            expected, tables = learn(data, wanted, begin)
            require(near(losses, expected), f"losses: {losses}, not {expected}")
            for each, table in zip(weights, tables):
                require(near(sum(each.tolist(), []), sum(table, [])), "weights")
        return digest(*weights, losses=losses)
    return run


def learn(data, wanted, weights):
    """The same in Python, by the derivatives as they are written in books."""
    first, second = weights
    losses = []
    for _ in range(STEPS):
        before = times(data, first)
        hidden = [[max(each, 0.0) for each in row] for row in before]
        errors = [[a - b for a, b in zip(*rows)] for rows in zip(times(hidden, second), wanted)]
        losses.append(sum(error * error for [error] in errors) / BATCH)
        slopes = [[2 * error / BATCH] for [error] in errors]
        back = [[slope * weight if each > 0 else 0.0 for each, [weight] in zip(row, second)]
                for row, [slope] in zip(before, slopes)]
        descents = times(zip(*data), back), times(zip(*hidden), slopes)
        first, second = ([[a - RATE * b for a, b in zip(*rows)] for rows in zip(*pair)]
                         for pair in zip((first, second), descents))
    return losses, (first, second)


def near(some, others):
    return all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5) for a, b in zip(some, others))


SIDE = 64
KEYS = 64
BATCH, INPUTS, HIDDEN, RATE, STEPS = 32, 16, 32, 0.05, 5

PROGRAMS = {"matmul": matmul, "sort": sort, "mlp": mlp}


def main():
    if sys.argv[1:] == ["--compile"]:
        for program in PROGRAMS.values():
            run = program()
            for _ in range(3):
                run(check=False)
        return
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    place, names = sys.argv[1], sys.argv[2:]
    runs = {name: PROGRAMS[name]() for name in names}

    def run(name, check=False):
        print(name, runs[name](check), flush=True)

    def exists(name):
        return os.path.exists(os.path.join(place, name))

    for name in names:
        run(name, check=True)
        # What comes next is captured, and then there is a graph.
        for _ in range(2):
            run(name)
    while not exists("go"):
        time.sleep(0.02)
    for name in names:
        print("begin", name, flush=True)
        run(name)
        while not exists(name):
            run(name)
    Device[Device.DEFAULT].synchronize()


if __name__ == "__main__":
    main()
