"""The two passes of `sketch` as one Triton kernel each, for float32 weights on a CUDA device.

Each weight is a lane: its K rows and deviation sit in registers, where the (K + 1)(K + 2) / 2 products of the Gram
matrix are added up over many weights, and where the new rows are made of the old ones. So memory is read and written
once, (3 + K) words in the first pass and (5 + 2 K) in the second. Products that do not fit the registers of one lane
are shared out to two or four of the same program, which find the weights in the nearest cache.

Between the two a third, small kernel finds what to drop, so that the device need not stand still until the host has
seen the Gram matrix and answered.

Triton comes with torch where there is CUDA; without it the plain form of `sketch` does the same.
"""

from __future__ import annotations

from latens.array.kernels.online_factors import low_rank_update_triton as kernels
from latens.nets.selection import Tensor
from latens.system.optional_imports import require

__all__ = ["are_served", "inner", "mirror", "turn"]

LEAST_SIZE = 1024  # weights below which nothing is gained
MOST_ROWS = 30  # more would not fit the registers
LANES, TURN_WIDTH = 64, 256  # lanes of a program, and weights of one
SQUARINGS = 16  # of the inverse, whose largest direction is then the least one unless two are alike to 1e-4

# Up to so many rows: lanes that share a weight, programs at once, and registers for each lane; as timed on an H200.
SHARES = ((10, 1, 1320, 96), (20, 2, 792, 168), (MOST_ROWS, 4, 528, 224))


def are_served(rows: Tensor) -> bool:
    """Whether the kernels can work on these rows; they are sent to the current device."""
    fits = rows.is_cuda and rows.dtype.itemsize == 4 and 0 < len(rows) <= MOST_ROWS and rows.shape[1] >= LEAST_SIZE
    if not fits or not rows.is_contiguous() or kernels.turn is None:
        return False
    return bool(rows.device.index == require("torch", "torch").cuda.current_device())


def inner(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, g: float, floor: float) -> Tensor:
    """Upper triangle of the Gram matrix (K + 1, K + 1) of the rows and of delta, in units of the noise; float64."""
    torch = require("torch", "torch")
    k, size = rows.shape
    parts, programs, registers = next(share for most, *share in SHARES if k <= most)
    width = LANES // parts
    programs = min(programs, -(-size // width))
    sums = rows.new_empty((programs, (k + 1) * (k + 2) // 2))
    given = (snapshot, mean, variance, rows, sums, size, programs, g, floor, k, width, parts)
    kernels.reduce[(programs,)](*given, num_warps=LANES // 32, maxnreg=registers)
    return sums.sum(0, dtype=torch.float64)


def mirror(measures: Tensor, k: int, n: int) -> Tensor:
    """(2, k + 1), as `sketch` makes it of the Gram matrix, the first of `measures`; NaN if any of it is not finite."""
    torch = require("torch", "torch")
    made = torch.empty((2, k + 1), device=measures.device)
    given = (measures, made, len(measures), n**-0.5, (1 - 1 / n) ** 0.5, k, 16 if k < 16 else 32, SQUARINGS)
    kernels.least[(1,)](*given, num_warps=4)
    return made


def turn(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, g: float, mirror: Tensor) -> None:
    """Mean and variance with the new snapshot, and rows as the mirror tells, in place; nothing if it is NaN."""
    k, size = rows.shape
    kernels.turn[(-(-size // TURN_WIDTH),)](
        snapshot, mean, variance, rows, mirror, size, g, (1 - g) ** 0.5, k, TURN_WIDTH, num_warps=TURN_WIDTH // 128
    )
