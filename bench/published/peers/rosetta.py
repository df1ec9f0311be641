"""The CNN and the GRU of the rosetta series in Keras and PyTorch, on generated data of the shapes of CIFAR-10 and IMDB: seconds a step."""
from peer import Peer, median_seconds, seconds_of, tensorflow_on, torch_on

BATCH, WORDS, VOCABULARY = 64, 150, 30000
CNN_STEPS, GRU_STEPS = 10 * 781, 3 * 390
CNN, GRU = "CNN, ReLU {} the pool, training step", "GRU, training step"


def data(batches):
    import numpy as np
    g = np.random.default_rng(1)
    n = batches * BATCH
    return (g.random((n, 32, 32, 3), dtype="float32"), g.integers(0, 10, n).astype("int32"),
            g.integers(0, VOCABULARY, (n, WORDS)).astype("int32"), g.integers(0, 2, n).astype("int32"))


def report(peer, row, mode, seconds, steps, note):
    """Seconds a step and, of a whole row of the article, of all steps."""
    note += f"; {steps} step{'s'[:steps > 1]} of {BATCH}"
    peer.cell(row, mode, seconds, "s", note)
    for whole, of, count in (("CNN, 10 epochs, seconds", CNN.format("after"), CNN_STEPS), ("GRU, 3 epochs, seconds", GRU, GRU_STEPS)):
        if row == of:
            peer.cell(whole, mode, seconds * count, "s", f"{note} of {count:,}, scaled")


def tensorflow(peer):
    tf, keras = tensorflow_on(peer.threads)
    K = keras.layers
    steps, few = (5, 2) if peer.quick else (30, 5)
    images, classes, words, good = data(steps)

    def cnn(after):
        conv = lambda features, relu: K.Conv2D(features, 3, padding="same", activation="relu" if relu else None)
        pool = lambda: [K.MaxPooling2D()] + ([K.ReLU()] if after else [])
        return keras.Sequential([K.Input((32, 32, 3)), conv(50, True), conv(50, not after), *pool(), K.Dropout(.25), conv(100, True), conv(100, not after), *pool(),
                                 K.Dropout(.25), K.Flatten(), K.Dense(512, "relu"), K.Dropout(.5), K.Dense(10)])
    gru = lambda: keras.Sequential([K.Input((WORDS,), dtype="int32"), K.Embedding(VOCABULARY, 125), K.GRU(100), K.Dense(2)])
    sgd, adam = lambda: keras.optimizers.SGD(.01, .9), lambda: keras.optimizers.Adam(1e-3, epsilon=1e-8)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def fit(row, mode, model, optimizer, x, y, steps, note, **how):
        model.compile(optimizer, loss, metrics=["accuracy"], **how)
        n = steps * BATCH
        model.fit(x[:BATCH * 2], y[:BATCH * 2], batch_size=BATCH, verbose=0)
        report(peer, row, mode, seconds_of(lambda: model.fit(x[:n], y[:n], batch_size=BATCH, verbose=0)) / steps, steps, note)

    def own_step(row, model, optimizer, x, y, jit):
        optimizer.build(model.trainable_variables)

        @tf.function(jit_compile=jit)
        def step(x, y):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
            return value
        x, y = tf.constant(x[:BATCH]), tf.constant(y[:BATCH])
        seconds, count = median_seconds(lambda: step(x, y).numpy(), 3, steps)
        report(peer, row, "best", seconds, count, f"tf.function(jit_compile={jit}) of a GradientTape step")
    for after in (True, False):
        fit(CNN.format("after" if after else "before"), "default", cnn(after), sgd(), images, classes, steps, "Keras fit")
    fit(GRU, "default", gru(), adam(), words, good, steps, "Keras fit")
    own_step(CNN.format("after"), cnn(True), sgd(), images, classes, False)
    own_step(GRU, gru(), adam(), words, good, False)
    fit(CNN.format("after"), "eager", cnn(True), sgd(), images, classes, few, "Keras fit, run_eagerly", run_eagerly=True)
    fit(GRU, "eager", gru(), adam(), words, good, few, "Keras fit, run_eagerly", run_eagerly=True)


def pytorch(peer):
    torch = torch_on(peer.threads)
    from torch import nn
    steps = 5 if peer.quick else 30
    images, classes, words, good = map(torch.from_numpy, data(1))
    images, classes, words, good = images.permute(0, 3, 1, 2).contiguous(), classes.long(), words.long(), good.long()

    def cnn(after):
        conv = lambda i, o: nn.Conv2d(i, o, 3, padding=1)
        pool = lambda: [nn.MaxPool2d(2), nn.ReLU()] if after else [nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(conv(3, 50), nn.ReLU(), conv(50, 50), *pool(), nn.Dropout(.25), conv(50, 100), nn.ReLU(), conv(100, 100), *pool(), nn.Dropout(.25),
                             nn.Flatten(), nn.Linear(6400, 512), nn.ReLU(), nn.Dropout(.5), nn.Linear(512, 10))

    class Gru(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru, self.out = nn.Embedding(VOCABULARY, 125), nn.GRU(125, 100, batch_first=True), nn.Linear(100, 2)
        def forward(self, x):
            return self.out(self.gru(self.embedding(x))[0][:, -1])

    def train(row, mode, model, optimizer, x, y, note, compiled=False):
        forward = lambda: nn.functional.cross_entropy(model(x), y)
        if compiled:
            forward = torch.compile(forward)

        def step():
            optimizer.zero_grad()
            forward().backward()
            optimizer.step()
        report(peer, row, mode, *median_seconds(step, 3, steps), note)
    sgd = lambda m, **more: torch.optim.SGD(m.parameters(), .01, .9, **more)
    for after in (True, False):
        model = cnn(after)
        train(CNN.format("after" if after else "before"), "default", model, sgd(model), images, classes, "eager")
    model = cnn(True).to(memory_format=torch.channels_last)
    train(CNN.format("after"), "best", model, sgd(model, fused=True), images.to(memory_format=torch.channels_last), classes, "eager, channels_last, fused optimizer")
    model = Gru()
    train(GRU, "default", model, torch.optim.Adam(model.parameters(), 1e-3, eps=1e-8), words, good, "eager")
    if not peer.quick:
        model = Gru()
        train(GRU, "best", model, torch.optim.Adam(model.parameters(), 1e-3, eps=1e-8, fused=True), words, good, "torch.compile, fused optimizer", True)


Peer("rosetta", {"TensorFlow": ("tensorflow", tensorflow), "PyTorch": ("torch", pytorch)})
