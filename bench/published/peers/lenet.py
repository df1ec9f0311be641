"""The two LeNets in Keras and PyTorch, on generated images: a training step, and single predictions as the article's Keras program makes them."""
from peer import Peer, median_seconds, seconds_of, tensorflow_on, torch_on

IMAGES = 10000
# name, filters, padding, numbers behind the second pool, units, dropout behind the pool and the dense layer, batch
NETS = [("5/12 filters", 5, 12, "valid", 192, 128, .25, .5, 128), ("32/64 filters", 32, 64, "same", 3136, 1024, 0, .4, 50)]


def singles(peer, net, mode, predict, count, note):
    """The article's loop over the test images, of some of them."""
    predict()
    seconds = seconds_of(lambda: [predict() for _ in range(count)])
    peer.cell(f"{net}, 10,000 images one by one", mode, seconds * IMAGES / count, "s", f"{note}; {count} of 10,000 images, scaled")


def step(peer, net, mode, call, note):
    seconds, count = median_seconds(call, .3 if peer.quick else 1, 200)
    peer.cell(f"{net}, training step", mode, seconds, "s", f"{note}; median of {count} steps")


def tensorflow(peer):
    import numpy as np
    tf, keras = tensorflow_on(peer.threads)
    K = keras.layers
    # begin lines: Keras
    def model_of(first, second, padding, hidden, pool_dropout, dropout, optimizer):
        model = keras.Sequential([
            K.Input((28, 28, 1)),
            K.Conv2D(first, 5, padding=padding, activation="relu"),
            K.MaxPooling2D(),
            K.Conv2D(second, 5, padding=padding, activation="relu"),
            K.MaxPooling2D(),
            K.Dropout(pool_dropout),
            K.Flatten(),
            K.Dense(hidden, "relu"),
            K.Dropout(dropout),
            K.Dense(10, "softmax")])
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model
    # end lines
    g, count = np.random.default_rng(1), 20 if peer.quick else 200
    one = g.random((1, 28, 28, 1), dtype="float32")
    for name, first, second, padding, _, hidden, pool_dropout, dropout, batch in NETS:
        model = model_of(first, second, padding, hidden, pool_dropout, dropout, keras.optimizers.Adadelta(1.0) if first == 5 else keras.optimizers.Adam(1e-4))
        x, y = g.random((batch, 28, 28, 1), dtype="float32"), g.integers(0, 10, batch)
        step(peer, name, "default", lambda: model.train_on_batch(x, y), "Keras train_on_batch")
        singles(peer, name, "default", lambda: model.predict(one, verbose=0).argmax(), count, "model.predict on a batch of one")
        call, tensor = tf.function(lambda x: model(x, training=False)), tf.constant(one)
        singles(peer, name, "best", lambda: call(tensor).numpy().argmax(), 50 * count if first == 5 else 5 * count, "tf.function of model(x)")
        singles(peer, name, "eager", lambda: model(tensor, training=False).numpy().argmax(), count, "model(x)")


def pytorch(peer):
    torch = torch_on(peer.threads)
    # begin lines: PyTorch
    from torch import nn

    def model_of(first, second, padding, flat, hidden, pool_dropout, dropout):
        return nn.Sequential(
            nn.Conv2d(1, first, 5, padding=padding), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 5, padding=padding), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(pool_dropout),
            nn.Flatten(),
            nn.Linear(flat, hidden), nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 10))

    def train(model, optimizer, x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    # end lines
    count = 100 if peer.quick else 2000
    for name, first, second, padding, flat, hidden, pool_dropout, dropout, batch in NETS:
        model = model_of(first, second, padding, flat, hidden, pool_dropout, dropout)
        optimizer = torch.optim.Adadelta(model.parameters(), 1.0, .95, 1e-7) if first == 5 else torch.optim.Adam(model.parameters(), 1e-4)
        x, y, one = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,)), torch.rand(1, 1, 28, 28)
        step(peer, name, "default", lambda: train(model, optimizer, x, y), "eager")
        model.eval()
        with torch.inference_mode():
            singles(peer, name, "default", lambda: model(one).argmax().item(), count, "model(x), eager")
        if not peer.quick:
            with torch.inference_mode():
                compiled = torch.compile(model)
                singles(peer, name, "best", lambda: compiled(one).argmax().item(), count, "torch.compile")


Peer("lenet", {"TensorFlow": ("tensorflow", tensorflow), "PyTorch": ("torch", pytorch)})
