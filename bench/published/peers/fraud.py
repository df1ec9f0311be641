"""The fraud autoencoder in Keras and PyTorch, on generated numbers: a training step, and the score of one transaction."""
from peer import Peer, median_seconds, seconds_of, tensorflow_on, torch_on

FEATURES = 30
STEP, SCORE = "batch {}, training step", "scoring one transaction, median"


def score(peer, mode, call, note):
    seconds, count = median_seconds(call, .3 if peer.quick else 1, 100000)
    peer.cell(SCORE, mode, seconds * 1e6, "us", f"{note}; {count} calls")


def tensorflow(peer):
    import numpy as np
    tf, keras = tensorflow_on(peer.threads)
    K = keras.layers
    steps = 100 if peer.quick else 2000
    x = np.random.default_rng(1).standard_normal((steps * 32, FEATURES), dtype="float32")

    def model_of(**how):
        model = keras.Sequential([K.Input((FEATURES,)), K.Dense(14, "tanh", activity_regularizer=keras.regularizers.L1(1e-7)), K.Dense(7, "relu"), K.Dense(7, "tanh"),
                                  K.Dense(FEATURES, "relu")])
        model.compile("adam", "mean_squared_error", **how)
        return model
    for mode, how, share in (("default", {}, 1), ("best", {"jit_compile": True}, 1), ("eager", {"run_eagerly": True}, 20)):
        for batch in (32, 128):
            model = model_of(**how)
            rows = x[:len(x) // share]
            model.fit(x[:batch], x[:batch], batch_size=batch, verbose=0)
            count = -(-len(rows) // batch)
            seconds = seconds_of(lambda: model.fit(rows, rows, batch_size=batch, verbose=0))
            peer.cell(STEP.format(batch), mode, seconds / count, "s", f"Keras fit{''.join(f', {k}' for k in how)}; {count} steps")
    model, one = model_of(), x[:1]
    score(peer, "default", lambda: ((model.predict(one, verbose=0) - one) ** 2).mean(), "model.predict")
    call, tensor = tf.function(lambda x: tf.reduce_mean(tf.square(model(x, training=False) - x))), tf.constant(one)
    score(peer, "best", lambda: call(tensor).numpy(), "tf.function")


def pytorch(peer):
    torch = torch_on(peer.threads)
    from torch import nn
    model = nn.Sequential(nn.Linear(FEATURES, 14), nn.Tanh(), nn.Linear(14, 7), nn.ReLU(), nn.Linear(7, 7), nn.Tanh(), nn.Linear(7, FEATURES), nn.ReLU())
    for mode, more, note in (("default", {}, "eager"), ("best", {"fused": True}, "eager, fused optimizer")):
        optimizer = torch.optim.Adam(model.parameters(), **more)
        for batch in (32, 128):
            x = torch.randn(batch, FEATURES)

            def step():
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), x).backward()
                optimizer.step()
            seconds, count = median_seconds(step, .3 if peer.quick else 1, 2000)
            peer.cell(STEP.format(batch), mode, seconds, "s", f"{note}; median of {count} steps")
    one = torch.randn(1, FEATURES)
    with torch.inference_mode():
        score(peer, "default", lambda: (model(one) - one).square().mean().item(), "eager")
        traced = torch.jit.freeze(torch.jit.trace(model.eval(), one))
        score(peer, "best", lambda: (traced(one) - one).square().mean().item(), "torch.jit.trace and freeze")


Peer("fraud", {"TensorFlow": ("tensorflow", tensorflow), "PyTorch": ("torch", pytorch)})
