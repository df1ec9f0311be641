"""The linear regression in pure Python, NumPy, TensorFlow, PyTorch and JAX: 10,000 steps of gradient descent, gradients by the framework where it has them."""
import math, random
from peer import Peer, least_seconds, seconds_of

N, STEPS, RATE = 10000, 10000, 0.001
FLOAT64, FLOAT32 = "10,000 steps, float64", "10,000 steps, float32"


def legacy_normal(count, seed=444):
    """NumPy's RandomState(seed).standard_normal(count), from Python's MT19937 with NumPy's way of seeding it."""
    key = [seed]
    for i in range(1, 624):
        key.append((1812433253 * (key[-1] ^ key[-1] >> 30) + i) & 0xFFFFFFFF)
    bits = random.Random()
    bits.setstate((3, (*key, 624), None))
    uniform = lambda: ((bits.getrandbits(32) >> 5) * 67108864.0 + (bits.getrandbits(32) >> 6)) / 9007199254740992.0
    numbers = []
    while len(numbers) < count:
        x1, x2 = 2 * uniform() - 1, 2 * uniform() - 1
        r = x1 * x1 + x2 * x2
        if 0 < r < 1:
            factor = math.sqrt(-2 * math.log(r) / r)
            numbers += [factor * x2, factor * x1]
    return numbers[:count]


def points():
    x = [i * (2 / (N - 1)) for i in range(N - 1)] + [2.0]
    return x, [(3 + 2 * a) + 0.1 * z for a, z in zip(x, legacy_normal(N))]


def report(peer, what, mode, seconds, w, steps, note):
    """A run's time, scaled to 10,000 steps, and where it ended if it made them all."""
    peer.cell(f"{what}, seconds", mode, seconds * STEPS / steps, "s", note + (f"; {steps:,} of {STEPS:,} steps, scaled" if steps < STEPS else ""))
    if steps == STEPS:
        for i in (0, 1):
            peer.cell(f"{what}, w{i}", mode, float(w[i]), "")


def pure_python(peer):
    x, d = points()
    steps = 100 if peer.quick else STEPS
    w = [0.0, 0.0]

    def run():
        w[:] = 0.0, 0.0
        for _ in range(steps):
            error = [w[0] + w[1] * a - b for a, b in zip(x, d)]
            g0, g1 = 2 / N * sum(error), 2 / N * sum(e * a for e, a in zip(error, x))
            w[0] -= RATE * g0
            w[1] -= RATE * g1
    report(peer, FLOAT64, "", seconds_of(run), w, steps, "lists")


def numpy(peer):
    import numpy as np
    x, d = map(np.array, points())
    X = np.column_stack([np.ones(N), x])
    w = np.zeros(2)

    def plain():
        nonlocal w
        w = np.zeros(2)
        for _ in range(STEPS):
            error = X @ w - d
            w = w - RATE * (2 / N * (X.T @ error))

    def in_place():
        nonlocal w
        w = np.zeros(2)
        error, rows = np.empty(N), np.ascontiguousarray(X.T)
        for _ in range(STEPS):
            np.multiply(x, w[1], out=error)
            np.subtract(error, d, out=error)
            np.add(error, w[0], out=error)
            w -= RATE * 2 / N * (rows @ error)
    repeats = 1 if peer.quick else 3
    for mode, run, note in (("default", plain, "X @ w with a column of ones"), ("best", in_place, "in place, no temporary arrays")):
        seconds = least_seconds(repeats, run)
        report(peer, FLOAT64, mode, seconds, w, STEPS, note)
    pinv = least_seconds(repeats, lambda: np.linalg.pinv(X) @ d)
    peer.cell("closed form, seconds", "default", pinv, "s", "numpy.linalg.pinv in float64")
    for i in (0, 1):
        peer.cell(f"closed form, w{i}", "default", float((np.linalg.pinv(X) @ d)[i]), "", "numpy.linalg.pinv in float64")
    best = least_seconds(repeats, lambda: np.linalg.lstsq(X, d, rcond=None))
    peer.cell("closed form, seconds", "best", best, "s", "numpy.linalg.lstsq in float64")


def tensorflow(peer):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(peer.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    x, d = (tf.constant(a, tf.float32) for a in points())
    w = tf.Variable([0.0, 0.0])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w[0] + w[1] * x - d))
        w.assign_sub(RATE * tape.gradient(loss, w))

    def eager(steps):
        w.assign([0.0, 0.0])
        for _ in range(steps):
            step()

    @tf.function(jit_compile=True)
    def loop():
        w.assign([0.0, 0.0])
        for _ in tf.range(STEPS):
            step()
    eager(3)
    steps = 50 if peer.quick else 500
    report(peer, FLOAT32, "default", seconds_of(lambda: eager(steps)), w.numpy(), steps, "GradientTape, eager")
    seconds = least_seconds(2, loop)
    report(peer, FLOAT32, "best", seconds, w.numpy(), STEPS, "the whole loop in a tf.function(jit_compile=True)")


def pytorch(peer):
    import torch
    torch.set_num_threads(peer.threads)
    x, d = (torch.tensor(a) for a in points())
    w = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=RATE)
    loss_of = lambda w, x, d: torch.nn.functional.mse_loss(w[0] + w[1] * x, d)

    def run(steps, loss_of):
        with torch.no_grad():
            w.zero_()
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(w, x, d).backward()
            optimizer.step()
    run(3, loss_of)
    steps = 200 if peer.quick else STEPS
    report(peer, FLOAT32, "default", seconds_of(lambda: run(steps, loss_of)), w.detach(), steps, "autograd and optim.SGD, eager")
    by_hand = torch.compile(lambda w, x, d: w - RATE * torch.func.grad(loss_of)(w, x, d))

    def compiled(steps):
        v = torch.zeros(2)
        with torch.no_grad():
            for _ in range(steps):
                v = by_hand(v, x, d)
        return v
    compiled(3)
    seconds = min(seconds_of(lambda: compiled(steps)) for _ in range(2))
    report(peer, FLOAT32, "best", seconds, compiled(steps), steps, "torch.compile of the step, with torch.func.grad")


def jax(peer):
    import jax, jax.numpy as jnp
    x, d = (jnp.asarray(a, jnp.float32) for a in points())
    step = lambda w: w - RATE * jax.grad(lambda w: jnp.mean((w[0] + w[1] * x - d) ** 2))(w)

    def plain(steps):
        w = jnp.zeros(2)
        for _ in range(steps):
            w = step(w)
        return w.block_until_ready()
    loop = jax.jit(lambda w: jax.lax.fori_loop(0, STEPS, lambda _, w: step(w), w))
    plain(3)
    steps = 50 if peer.quick else 500
    report(peer, FLOAT32, "default", seconds_of(lambda: plain(steps)), [0, 0], steps, "jax.grad without jit")
    seconds = least_seconds(2, lambda: loop(jnp.zeros(2)).block_until_ready())
    report(peer, FLOAT32, "best", seconds, loop(jnp.zeros(2)), STEPS, "jit of the whole loop (lax.fori_loop)")


Peer("regression", {"Python": ("", pure_python), "NumPy": ("numpy", numpy), "TensorFlow": ("tensorflow", tensorflow), "PyTorch": ("torch", pytorch),
                    "JAX": ("jax", jax)})
