"""The perceptron's programs: those in Keras also in PyTorch and JAX, and the one in NumPy, measure by measure as its author took them."""
from peer import Peer, images, least_seconds, seconds_of

A, B = (784, 70, 30, 10), (784, 200, 100, 50, 30, 10)
REFERENCES = {"A, L2, batch 500": (A, 500, 35, 0.01), "A, L2, batch 10000": (A, 10000, 35, 0.01),
              "A, no regularizer, batch 500": (A, 500, 35, 0.0), "B, batch 1500": (B, 1500, 45, 0.0)}
FIRST = dict([next(iter(REFERENCES.items()))])
RATE, RHO, EPSILON, CLIP = 1e-3, 0.9, 1e-7, 1e-7


def of_all(seconds, epochs, note):
    """(seconds, note) of all epochs: the first, which compiles, and as many others as the rest of the times say."""
    rest = seconds[1:]
    scaled = f"; {len(seconds)} of {epochs} epochs, scaled" if len(seconds) < epochs else ""
    return seconds[0] + sum(rest) / len(rest) * (epochs - 1), note + scaled


def report_epochs(peer, row, default, others):
    """The default's (seconds, note) and the least of it and the others."""
    for mode, (seconds, note) in (("default", default), ("best", min(default, *others))):
        peer.cell(f"{row}, seconds", mode, seconds, "s", note)


def keras(peer):
    import numpy as np, tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(peer.threads)
    tf.config.threading.set_inter_op_parallelism_threads(peer.threads)
    import keras, time
    from keras import layers as K
    x, y, xt, yt = images(peer)
    x, xt, hot = x.astype(np.float32) / 255, xt.astype(np.float32) / 255, np.eye(10, dtype=np.float32)[y]
    crossentropy = keras.losses.CategoricalCrossentropy()
    # Keras 3 would take the logits of a last sigmoid layer for those of a softmax; identity keeps the loss of the article's Keras.
    loss = lambda t, p: crossentropy(t, tf.identity(p))

    class Clock(keras.callbacks.Callback):
        def on_train_begin(self, logs=None): self.seconds, self.losses = [], []
        def on_epoch_begin(self, epoch, logs=None): self.start = time.perf_counter()
        def on_epoch_end(self, epoch, logs=None):
            self.seconds.append(time.perf_counter() - self.start)
            self.losses.append(logs["loss"])

    for row, (sizes, batch, epochs, factor) in (FIRST if peer.quick else REFERENCES).items():
        times = []
        for mode, jit, note in (("default", "auto", "fit"), ("best", True, "fit, compile(jit_compile=True)")):
            keras.utils.set_random_seed(1)
            l2 = lambda i: keras.regularizers.L2(factor) if factor and i < 2 else None
            model = keras.Sequential([K.Input((784,))] + [K.Dense(n, "sigmoid", kernel_regularizer=l2(i)) for i, n in enumerate(sizes[1:])])
            model.compile(keras.optimizers.RMSprop(), loss, metrics=["accuracy"], jit_compile=jit)
            count = 2 if peer.quick else epochs if mode == "default" and sizes == A and batch == 500 else 6
            clock = Clock()
            model.fit(x, hot, batch_size=batch, epochs=count, verbose=0, callbacks=[clock])
            times.append(of_all(clock.seconds, epochs, note))
            if count == epochs:
                peer.cell(f"{row}, test accuracy", mode, float((model.predict(xt, batch_size=10000, verbose=0).argmax(1) == yt).mean()), "")
                peer.cell(f"{row}, loss, epoch 1", mode, clock.losses[0], "")
                peer.cell(f"{row}, loss, last epoch", mode, clock.losses[-1], "")
                if factor:
                    for e, value in enumerate(clock.losses, 1):
                        peer.point("A: loss by epoch", f"Keras {keras.__version__}", e, value)
        report_epochs(peer, row, times[0], times[1:])


def pytorch(peer):
    import numpy as np, torch
    from torch import nn
    torch.set_num_threads(peer.threads)
    torch.manual_seed(1)
    x, y, _, _ = images(peer)
    x, hot = torch.from_numpy(x.astype(np.float32) / 255), torch.eye(10)[torch.from_numpy(y.astype(np.int64))]
    for row, (sizes, batch, epochs, factor) in (FIRST if peer.quick else REFERENCES).items():
        times = []
        for note in ("DataLoader, eager", "eager, batches by index", "torch.compile, batches by index"):
            model = nn.Sequential(*[m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.Sigmoid())])
            optimizer = torch.optim.RMSprop(model.parameters(), lr=RATE, alpha=RHO, eps=EPSILON)

            def loss_of(x, t):
                s = model(x)
                p = (s / s.sum(1, keepdim=True)).clamp(CLIP, 1 - CLIP)
                loss = -(t * p.log()).sum(1).mean()
                return loss + factor * (model[0].weight.square().sum() + model[2].weight.square().sum()) if factor else loss

            def by_index():
                order = torch.randperm(len(x))
                for i in range(0, len(x), batch):
                    yield x[order[i:i + batch]], hot[order[i:i + batch]]

            loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, hot), batch_size=batch, shuffle=True)
            forward = torch.compile(loss_of) if note.startswith("torch.compile") else loss_of

            def epoch():
                for xs, ts in loader if note.startswith("DataLoader") else by_index():
                    optimizer.zero_grad()
                    forward(xs, ts).backward()
                    optimizer.step()
            times.append(of_all([seconds_of(epoch) for _ in range(2 if peer.quick else 6)], epochs, note))
        report_epochs(peer, row, times[0], times[1:])


def jax(peer):
    import numpy as np, jax, jax.numpy as jnp
    x, y, _, _ = images(peer)
    x, hot = jnp.asarray(x, jnp.float32) / 255, jnp.eye(10)[y]
    for row, (sizes, batch, epochs, factor) in (FIRST if peer.quick else REFERENCES).items():
        random = np.random.default_rng(1)
        glorot = lambda i, o: jnp.asarray(random.uniform(-1, 1, (i, o)) * (6 / (i + o)) ** 0.5, jnp.float32)
        start = [(glorot(i, o), jnp.zeros(o)) for i, o in zip(sizes, sizes[1:])]

        def loss_of(parameters, xs, ts):
            for w, b in parameters:
                xs = jax.nn.sigmoid(xs @ w + b)
            p = jnp.clip(xs / xs.sum(1, keepdims=True), CLIP, 1 - CLIP)
            return -(ts * jnp.log(p)).sum(1).mean() + factor * sum((w * w).sum() for w, _ in parameters[:2])

        def step(state, rows):
            parameters, squares = state
            gradients = jax.grad(loss_of)(parameters, x[rows], hot[rows])
            squares = jax.tree.map(lambda v, g: RHO * v + (1 - RHO) * g * g, squares, gradients)
            return jax.tree.map(lambda p, v, g: p - RATE * g / (jnp.sqrt(v) + EPSILON), parameters, squares, gradients), squares
        jitted = jax.jit(step)

        def epoch(step, state, batches):
            order = jnp.asarray(random.permutation(len(x)))
            for i in range(0, min(len(x), batches * batch), batch):
                state = step(state, order[i:i + batch])
            return jax.block_until_ready(state)
        zeros = jax.tree.map(jnp.zeros_like, start)
        seconds = [seconds_of(lambda: epoch(jitted, (start, zeros), 10 ** 9)) for _ in range(2 if peer.quick else 6)]
        jitted_time = of_all(seconds, epochs, "jit of the step, batches by index")
        some, all_ = 3, -(-len(x) // batch)
        epoch(step, (start, zeros), 1)
        least = least_seconds(1, lambda: epoch(step, (start, zeros), some))
        report_epochs(peer, row, (least / min(some, all_) * all_ * epochs, f"jax.grad without jit; {some} batches, scaled"), [jitted_time])


class Program:
    """The NumPy program: one sample a column, bias neurons as rows of ones, weights [units, nodes + 1] whose column 0 multiplies them."""
    def __init__(self, np, x, y, batch=500, dtype="float32", input_gradient=False, all_terms=False, bias_once=True):
        self.np, self.batch, self.input_gradient, self.all_terms, self.bias_once = np, batch, input_gradient, all_terms, bias_once
        try:
            from scipy.special import expit
        except ImportError:
            expit = lambda z: 1 / (1 + np.exp(-z))
        self.sigmoid = expit
        self.random = np.random.default_rng(0)
        x = x.astype(dtype)
        self.x = np.hstack([np.ones((len(x), 1), dtype), x]) if bias_once else x
        self.t = np.eye(10, dtype=dtype)[y]
        self.w = [(self.random.uniform(-1, 1, (o, i + 1)) * 2 / i ** 0.5).astype(dtype) for i, o in zip(A, A[1:])]
        self.previous = [np.zeros_like(w) for w in self.w]
        self.rate, self.epochs = 0.001, 0

    def with_ones(self, a):
        result = self.np.ones((a.shape[0] + 1, a.shape[1]), a.dtype)
        result[1:] = a
        return result

    def forward(self, columns):
        a = [columns if self.bias_once else self.with_ones(columns)]
        for w in self.w[:-1]:
            a.append(self.with_ones(self.sigmoid(w @ a[-1])))
        return a + [self.sigmoid(self.w[-1] @ a[-1])]

    def step(self, rows):
        a, t = self.forward(self.x[rows].T), self.t[rows].T
        delta, self.error = a[-1] - t, self.np.abs(a[-1] - t).mean()
        gradients = []
        for i in (2, 1, 0):
            gradients.append(delta @ a[i].T)
            if i or self.input_gradient:
                delta = ((self.w[i].T @ delta) * (a[i] * (1 - a[i])))[1:]
        for w, g, previous in zip(self.w, reversed(gradients), self.previous):
            g[:, 1:] += 0.01 * w[:, 1:]
            if self.all_terms:
                g[:, 1:] += 0.0 * self.np.sign(w[:, 1:])
            d = self.rate * g
            w -= d + 0.00005 * previous
            previous[:] = d

    def epoch(self):
        self.rate /= 1 + 1e-6 * self.epochs
        self.epochs += 1
        order, errors = self.random.permutation(len(self.x)), []
        for i in range(0, len(order) - self.batch + 1, self.batch):
            self.step(order[i:i + self.batch])
            errors.append(self.error)
        return 1 - float(self.np.mean(errors))

    def accuracy(self, x, y):
        return float((self.forward(x.T)[-1].argmax(0) == y).mean())


def numpy(peer):
    import numpy as np
    x, y, xt, yt = images(peer)
    x, y = np.vstack([x, xt]).astype(np.float64), np.concatenate([y, yt])
    deviation = x.std(0)
    x = (x - x.mean(0)) / np.where(deviation == 0, 1, deviation)
    order, split = np.random.default_rng(1).permutation(len(x)), len(x) - len(x) // 7
    x, y = x[order], y[order]
    data = x[:split], y[:split]
    single = x[:split].astype(np.float32), x[split:].astype(np.float32)
    epochs = 1 if peer.quick else 3
    scaled = f"{epochs} of 35 epochs, scaled"

    def seconds(**options):
        program = Program(np, *data, **options)
        return least_seconds(epochs, program.epoch) * 35
    plain = dict(input_gradient=True, all_terms=True, bias_once=False)
    double = seconds(dtype="float64", **plain)
    peer.cell("unoptimized, float64", "", double, "s", scaled)
    peer.cell("unoptimized, float32", "", seconds(**plain), "s", scaled)
    peer.cell("and no gradient of the input", "", seconds(bias_once=False), "s", scaled)
    peer.cell("and biases within the products", "", seconds(), "s", f"a column of ones added once; {scaled}")
    peer.cell("35 epochs, batch 500", "default", double, "s", f"unoptimized, float64; {scaled}")

    program, count = Program(np, *data), 3 if peer.quick else 35
    averages = []
    whole = sum(seconds_of(lambda: averages.append(program.epoch())) for _ in range(count))
    peer.cell("35 epochs, batch 500", "best", whole * 35 / count, "s", "all measures of the article" + ("" if count == 35 else f"; {count} of 35 epochs, scaled"))
    ones = lambda a: np.hstack([np.ones((len(a), 1), a.dtype), a])
    train, test = program.x, ones(single[1])
    after = "" if count == 35 else f"after {count} epochs"
    peer.cell("accuracy, batch averaged", "best", averages[-1], "", after)
    peer.cell("accuracy, training set", "best", program.accuracy(train, data[1]), "", after)
    peer.cell("accuracy, test set", "best", program.accuracy(test, y[split:]), "", after)
    if count == 35:
        peer.cell("learning rate after the last epoch", "best", program.rate, "")
    predicted = {name: least_seconds(2, lambda: program.accuracy(a, b)) for name, a, b in (("training", train, data[1]), ("test", test, y[split:]))}
    for name, extra in predicted.items():
        peer.cell(f"35 epochs, {name} set predicted after each", "best", whole * 35 / count + 35 * extra, "s", after)
    for batch in (500, 5000, 10000, 20000, 30000):
        if batch <= split:
            peer.cell(f"batch {batch}", "", seconds(batch=batch), "s", scaled)

    for row, a in (("forward of 10,000 samples in one sweep", test), ("forward of 60,000 samples in one sweep", train)):
        peer.cell(row, "best", least_seconds(3, lambda: program.forward(a.T)), "s", "bias column in the data" if len(a) % 10000 == 0 else f"{len(a):,} samples")
        program.bias_once = False
        peer.cell(row, "default", least_seconds(3, lambda: program.forward(a[:, 1:].T)), "s",
                  "bias row added at each layer" + ("" if len(a) % 10000 == 0 else f"; {len(a):,} samples"))
        program.bias_once = True
    columns = 2000 if peer.quick else 20000
    note = "2,000 of 20,000 columns, scaled" if peer.quick else ""
    random = np.random.default_rng(2)
    w, v = random.random((101, 800), np.float32), random.random((800, columns), np.float32)
    for name, left, right in (("C, C", w, v), ("C, F", w, np.asfortranarray(v)), ("F, C", np.asfortranarray(w), v), ("F, F", np.asfortranarray(w), np.asfortranarray(v))):
        peer.cell(f"product 101 × 800 by 800 × 20,000, {name}", "", least_seconds(5, lambda: left @ right) * 20000 / columns, "s", note)
    rows, c = np.random.default_rng(3).permutation(split), single[0]
    samples = "" if split == 60000 else f"{split:,} samples"
    peer.cell("training set copied in shuffled order", "", least_seconds(2, lambda: c[rows]), "s", samples)
    copy = c.copy()
    peer.cell("training set shuffled in place", "", seconds_of(lambda: np.random.shuffle(copy)), "s", samples)
    f = np.asfortranarray(c)
    peer.cell("rows of an F array in shuffled order", "", least_seconds(1, lambda: f[rows]), "s", samples)
    n = min(split, 10000)

    def add_row(a):
        result = np.ones((785, n), np.float32)
        result[1:] = a
    note = "" if n == 10000 else f"{n:,} columns"
    for name, columns in (("C", np.ascontiguousarray(c[:n].T)), ("F", c[:n].T)):
        peer.cell(f"bias row added to 784 × 10,000, {name} into C", "", least_seconds(10, lambda: add_row(columns)), "s", note)


Peer("perceptron", {"Keras": ("keras", keras), "PyTorch": ("torch", pytorch), "JAX": ("jax", jax), "NumPy": ("numpy", numpy)})
