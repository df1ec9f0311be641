"""The cells of eager against graph in Keras, by the article's ways to call a step, and in PyTorch. Cells whose step is long are run with one step."""
import gc
from peer import Peer, median_seconds, seconds_of, tensorflow_on, torch_on

BATCH = 32
CONVOLUTIONS = {"small": [(128, 40, 4, True)], "medium": [(f, 20, 1, False) for f in (64, 128, 256, 256, 128, 64)],
                "large": [(64, 400, 4, False), (128, 200, 1, False)] + 40 * [(256, 12, 1, True)] + [(512, 20, 2, False), (1028, 10, 2, False), (256, 1, 1, False)]}
LENGTHS = {"small": 140, "medium": 1400, "large": 14000}
ITERATIONS = {"small": 200, "medium": 100, "large": 50}
# name, model, length, channels, GFLOP of a training step
CELLS = [("question's small", "question's small", 400, 16, 15.9), ("question's medium", "question's medium", 400, 16, 911.6),
         *((f"{m} × {d}", m, LENGTHS[d], 30, g) for m, d, g in (
             ("small", "small", 1.03), ("small", "medium", 10.3), ("small", "large", 103), ("medium", "small", 37.1), ("medium", "medium", 760), ("medium", "large", 7987),
             ("large", "medium", 376), ("large", "large", 22248)))]


def effort(peer):
    """Seconds for a way, GFLOP of a step above which there is one step, and above which there is none."""
    return (.4, 20, 20) if peer.quick else (20, 500, float("inf")) if peer.full else (2, 100, 1000)


def measured_cells(peer):
    for name, model, length, channels, gflop in CELLS:
        if gflop <= effort(peer)[2]:
            yield name, model, length, channels, gflop
        else:
            peer.remark(f"{peer.framework}: {name} is left out, a step of {gflop:,.0f} GFLOP; a run {'without --quick' if gflop <= 1000 else 'with --full'} has it.")


def tensorflow(peer):
    import numpy as np
    tf, keras = tensorflow_on(peer.threads)
    K = keras.layers
    way_seconds, one_step, _ = effort(peer)

    def model_of(kind, length, channels, **how):
        if kind == "question's small":
            layers = [K.Conv1D(128, 400, 4, padding="same"), K.Flatten(), K.Dropout(.5), K.Dense(64, "relu")]
        elif kind == "question's medium":
            layers = [K.Bidirectional(K.LSTM(512, "relu", return_sequences=True)), K.LSTM(512, "relu", return_sequences=True), K.Conv1D(128, 400, 4, padding="same"), K.Flatten(),
                      K.Dense(256, "relu"), K.Dropout(.5), K.Dense(128, "relu"), K.Dense(64, "relu")]
        else:
            dense = [K.Dropout(.5), K.Dense(64, "relu")] if kind == "small" else [K.Dense(256, "relu"), K.Dropout(.5), K.Dense(128, "relu"), K.Dense(64, "relu")]
            layers = [K.Conv1D(f, w, s, padding="same" if same else "valid") for f, w, s, same in CONVOLUTIONS[kind]] + [K.GlobalAveragePooling1D(), *dense]
        model = keras.Sequential([K.Input((length, channels)), *layers, K.Dense(1, "sigmoid")])
        model.compile(keras.optimizers.Adam(1e-4), "binary_crossentropy", **how)
        return model

    def ways(name, mode, model, x, y, iterations, gflop, note):
        once = seconds_of(lambda: model.train_on_batch(x, y))  # traces and compiles
        if gflop > one_step:
            steps = 1
        else:
            steps = int(min(max(way_seconds / seconds_of(lambda: model.train_on_batch(x, y)), 1), iterations))
        note = f"{note}; {steps} step{'s'[:steps > 1]} of {iterations}"
        cell = lambda way, seconds: peer.cell(f"{name}, {way}", mode, seconds / steps, "s", note)
        cell("train_on_batch", seconds_of(lambda: [model.train_on_batch(x, y) for _ in range(steps)]))
        if gflop > one_step:
            return
        fit = lambda *data, **more: model.fit(*data, verbose=0, **more)
        fit(x, y, batch_size=BATCH)
        cell("fit for each batch", seconds_of(lambda: [fit(x, y, batch_size=BATCH) for _ in range(steps)]))
        many = [np.concatenate([a] * steps) for a in (x, y)]
        cell("one fit", seconds_of(lambda: fit(*many, batch_size=BATCH)))
        dataset = tf.data.Dataset.from_tensor_slices(tuple(many)).batch(BATCH)
        cell("one fit, generator", seconds_of(lambda: fit(dataset)))
    for name, kind, length, channels, gflop in measured_cells(peer):
        g = np.random.default_rng(1)
        x, y = g.standard_normal((BATCH, length, channels), dtype="float32"), g.integers(0, 2, (BATCH, 1)).astype("float32")
        iterations = ITERATIONS.get(kind, 200 if "small" in kind else 10)
        ways(name, "default", model_of(kind, length, channels), x, y, iterations, gflop, "Keras")
        if "question's medium" != kind:  # hundreds of eager recurrent steps
            ways(name, "eager", model_of(kind, length, channels, run_eagerly=True), x, y, iterations, gflop, "Keras, run_eagerly")
        model, one = model_of(kind, length, channels), tf.constant(x[:1])
        call = tf.function(lambda x: model(x, training=False))
        for mode, predict, note in (("default", lambda: model.predict(x[:1], verbose=0), "predict"), ("eager", lambda: model(one, training=False).numpy(), "model(x)"),
                                    ("best", lambda: call(one).numpy(), "tf.function of model(x)")):
            seconds, count = median_seconds(predict, way_seconds / 4)
            peer.cell(f"{name}, one series, median", mode, seconds * 1e6, "us", f"{note}; {count} calls")
        keras.backend.clear_session()
        gc.collect()


def pytorch(peer):
    torch = torch_on(peer.threads)
    from torch import nn
    way_seconds, one_step, _ = effort(peer)

    class Same(nn.Conv1d):
        """Padding as Keras's same, also with strides."""
        def forward(self, x):
            missing = max((-(-x.shape[2] // self.stride[0]) - 1) * self.stride[0] + self.kernel_size[0] - x.shape[2], 0)
            return super().forward(nn.functional.pad(x, (missing // 2, missing - missing // 2)))

    class Mean(nn.Module):
        def forward(self, x):
            return x.mean(2)

    def model_of(kind, channels):
        if kind == "question's small":
            return nn.Sequential(Same(channels, 128, 400, 4), nn.Flatten(), nn.Dropout(.5), nn.Linear(12800, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
        layers = []
        for f, w, s, same in CONVOLUTIONS[kind]:
            layers.append((Same if same else nn.Conv1d)(channels, f, w, s))
            channels = f
        dense = [nn.Dropout(.5), nn.Linear(128, 64), nn.ReLU()] if kind == "small" else [
            nn.Linear(channels, 256), nn.ReLU(), nn.Dropout(.5), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU()]
        return nn.Sequential(*layers, Mean(), *dense, nn.Linear(64, 1), nn.Sigmoid())
    peer.remark("PyTorch: question's medium is left out, since its LSTM has no other activation than tanh.")
    for name, kind, length, channels, gflop in measured_cells(peer):
        if kind == "question's medium":
            continue
        x, y = torch.randn(BATCH, channels, length), torch.randint(0, 2, (BATCH, 1)).float()
        for mode in ("default", "best") if not peer.quick and gflop < 50 and kind != "large" else ("default",):
            model = model_of(kind, channels)
            optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=mode == "best")
            forward = lambda: nn.functional.binary_cross_entropy(model(x), y)
            if mode == "best":
                forward = torch.compile(forward)

            def step():
                optimizer.zero_grad()
                forward().backward()
                optimizer.step()
            seconds, count = (seconds_of(step), 1) if gflop > one_step else median_seconds(step, way_seconds, 200, 1)
            peer.cell(f"{name}, train_on_batch", mode, seconds, "s", f"{'torch.compile, fused optimizer' if mode == 'best' else 'eager'}; {count} step{'s'[:count > 1]}")
        model.eval()
        with torch.inference_mode():
            seconds, count = median_seconds(lambda: model(x[:1]), way_seconds / 4)
            peer.cell(f"{name}, one series, median", "default", seconds * 1e6, "us", f"model(x), eager; {count} calls")


Peer("eager_graph", {"TensorFlow": ("tensorflow", tensorflow), "PyTorch": ("torch", pytorch)})
