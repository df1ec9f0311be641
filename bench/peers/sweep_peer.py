"""PyTorch as the peer of sinter_sweep: answers requests for times of one layer, a JSON line each, until standard input ends.
bench/sweep sends them; bench/shapes/subject.cpp says what each kind computes. Where there are several ways to write it, and
for images several memory formats, all are timed and the least time counts ("mode" says whose it is).

    sweep_peer.py [--threads 2] [--compile]     --compile also times torch.compile of each, which takes seconds a shape"""
import argparse, copy, json, math, statistics, sys, time
import common

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--compile", action="store_true")
A = p.parse_args()
common.pin(A.threads)
import numpy as np
import torch
torch.set_num_threads(A.threads)
torch.set_num_interop_threads(1)
import torch.nn.functional as F

INPUT, SECOND, LOSS, WEIGHTS, FIGURES = 1, 2, 3, 10, 1000    # streams of random numbers, as in bench/shapes
BIAS = 0.125


def hashed(stream, count):
    """The same integers as hashed() of bench/shapes/numbers.cpp."""
    x = np.arange(count, dtype=np.uint32)
    x += np.uint32(stream * 0x9E3779B9 & 0xFFFFFFFF)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    return x


def numbers(shape, stream, scale=1.0, offset=0.0):
    """A tensor in Sinter's layout: channels last."""
    x = (hashed(stream, math.prod(shape)) >> np.uint32(8)).astype(np.float32)
    x *= np.float32(2.0 ** -23)
    x -= np.float32(1)
    x *= np.float32(scale)
    x += np.float32(offset)
    return torch.from_numpy(x.reshape(shape))


def figures(tensor):
    x = tensor.detach().numpy().astype(np.float64).ravel()
    return [float(np.dot(x, numbers((x.size,), FIGURES).numpy().astype(np.float64))), float(np.linalg.norm(x)), x.size]


def scale_of(fan):
    return math.sqrt(3 / fan)


class Way:
    """One way to compute a request. Axes of inputs and parameters are permuted from Sinter's layout to PyTorch's, and with
    channels_last their memory stays as it is."""
    def __init__(self, name, inputs, function, parameters=(), loss_weights=None, axes=None, weight_axes=None, channels_last=False,
                 input_gradient=True, checked=True):
        self.name, self.function, self.checked = name, function, checked
        self.axes, self.channels_last, self.input_gradient = axes, channels_last, input_gradient
        self.inputs = [self.laid_out(x, axes).detach() for x in inputs]
        self.loss_weights = None if loss_weights is None else self.laid_out(loss_weights, axes)
        self.names = [name for name, _ in parameters]
        self.weight_axes = {"weight": weight_axes} if isinstance(weight_axes, tuple) else weight_axes or {}
        self.parameters = [self.laid_out(w, self.weight_axes.get(name)) for name, w in parameters]

    def laid_out(self, x, axes):
        x = x if axes is None else x.permute(axes)
        return x.clone(memory_format=torch.preserve_format) if self.channels_last and x.dim() == 4 else x.clone(memory_format=torch.contiguous_format)

    def back(self, x, axes):
        return x.contiguous() if axes is None or x.dim() != len(axes) else x.permute(tuple(np.argsort(axes))).contiguous()

    def weight_back(self, name, x):
        return self.back(x, self.weight_axes.get(name))

    def require_gradients(self):
        for x in self.parameters + (self.inputs if self.input_gradient else []):
            x.requires_grad_(True)

    def call(self):
        return self.function(self.inputs, self.parameters)

    def step(self, rate=1e-8):
        """Forward, loss, gradients of weights and inputs, and an update of the weights."""
        y = self.function(self.inputs, self.parameters)
        loss = y.square().mean() if self.loss_weights is None else (y * self.loss_weights).sum()
        wanted = self.parameters + (self.inputs if self.input_gradient else [])
        gradients = torch.autograd.grad(loss, wanted)
        with torch.no_grad():
            for w, g in zip(self.parameters, gradients):
                w.add_(g, alpha=-rate)
        return loss, gradients[len(self.parameters):]


ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}


def dense(r):
    activation = ACTIVATIONS[r["activation"]]
    weights = [("weight", numbers((r["inputs"], r["units"]), WEIGHTS, scale_of(r["inputs"]))), ("bias", numbers((r["units"],), WEIGHTS + 1, BIAS))]
    yield Way("eager", [numbers((r["batch"], r["inputs"]), INPUT)], lambda x, w: activation(F.linear(x[0], w[0], w[1])), weights, weight_axes=(1, 0))


def image(r):
    return numbers((r["batch"], r["height"], r["width"], r["channels"]), INPUT)


NCHW = (0, 3, 1, 2)                                          # from NHWC
FORMATS = (("eager", False), ("eager channels_last", True))


def convolution(r, groups):
    activation, fan = ACTIVATIONS[r["activation"]], r["channels"] // groups * r["kernel_height"] * r["kernel_width"]
    weights = [("weight", numbers((r["kernel_height"], r["kernel_width"], r["channels"] // groups, r["features"]), WEIGHTS, scale_of(fan))),
               ("bias", numbers((r["features"],), WEIGHTS + 1, BIAS))]
    for name, channels_last in FORMATS:
        yield Way(name, [image(r)], lambda x, w: activation(F.conv2d(x[0], w[0], w[1], r["stride"], r["padding"], 1, groups)), weights, axes=NCHW,
                  weight_axes=(3, 2, 0, 1), channels_last=channels_last)


def conv1d(r):
    """Also as a convolution of images of one row, which can have their channels last; but PyTorch 2.15 crashes in the gradient of
    one with kernels of one element and strides."""
    activation = ACTIVATIONS[r["activation"]]
    x = numbers((r["batch"], r["length"], r["channels"]), INPUT)
    weights = [("weight", numbers((r["kernel"], r["channels"], r["features"]), WEIGHTS, scale_of(r["channels"] * r["kernel"]))),
               ("bias", numbers((r["features"],), WEIGHTS + 1, BIAS))]
    yield Way("eager", [x], lambda x, w: activation(F.conv1d(x[0], w[0], w[1], r["stride"], r["padding"])), weights, axes=(0, 2, 1),
              weight_axes=(2, 1, 0))
    if r["kernel"] == 1 and r["stride"] > 1 and r["form"] == "step":
        return
    row = [("weight", weights[0][1].unsqueeze(0)), weights[1]]
    yield Way("eager channels_last", [x.unsqueeze(1)], lambda x, w: activation(F.conv2d(x[0], w[0], w[1], (1, r["stride"]), (0, r["padding"]))), row,
              axes=NCHW, weight_axes=(3, 2, 0, 1), channels_last=True)


def pool(r):
    window = None if r["op"].startswith("global") else ((r["kernel_height"], r["kernel_width"]), r["stride"], r["padding"])
    function = {"max": lambda x, w: F.max_pool2d(x[0], *window),
                "average": lambda x, w: F.avg_pool2d(x[0], *window, count_include_pad=False),
                "global_max": lambda x, w: x[0].amax((2, 3)),
                "global_average": lambda x, w: x[0].mean((2, 3))}[r["op"]]
    for name, channels_last in FORMATS:
        yield Way(name, [image(r)], function, axes=NCHW, channels_last=channels_last)
    if r["op"] == "global_max":                              # of equal elements its gradient takes the first, that of amax and Sinter all
        yield Way("eager adaptive", [image(r)], lambda x, w: F.adaptive_max_pool2d(x[0], 1).flatten(1), axes=NCHW, checked=False)
    elif r["op"] == "global_average":
        yield Way("eager adaptive", [image(r)], lambda x, w: F.adaptive_avg_pool2d(x[0], 1).flatten(1), axes=NCHW)


def normalization(r):
    n = r["features"]
    extents = (r["height"], r["width"]) if r["width"] > 1 else (r["height"],) if r["height"] > 1 else ()
    shape = (r["batch"], *extents, n)
    x, loss_weights = numbers(shape, INPUT), numbers(shape, LOSS)
    weights = [("gamma", numbers((n,), WEIGHTS, 0.5, 1)), ("beta", numbers((n,), WEIGHTS + 1, 0.5))]
    if r["op"] == "layer_norm":
        yield Way("eager", [x], lambda x, w: F.layer_norm(x[0], (n,), w[0], w[1], 1e-5), weights, loss_weights)
        return
    mean, variance = numbers((n,), WEIGHTS + 2, 0.25), numbers((n,), WEIGHTS + 3, 0.25, 0.5)
    function = lambda x, w: F.batch_norm(x[0], mean, variance, w[0], w[1], r["form"] == "step", 0.1, 1e-5)
    axes = {2: None, 3: (0, 2, 1), 4: NCHW}[len(shape)]
    yield Way("eager", [x], function, weights, loss_weights, axes=axes)
    if len(shape) == 4:
        yield Way("eager channels_last", [x], function, weights, loss_weights, axes=axes, channels_last=True)
    elif len(shape) == 3:                                    # as images of one column
        yield Way("eager channels_last", [x.unsqueeze(2)], function, weights, loss_weights.unsqueeze(2), axes=NCHW, channels_last=True)


def rows(r):
    return (r["batch"], r["features"]) if r["length"] == 1 else (r["batch"], r["length"], r["features"])


def softmax(r):
    function = F.softmax if r["op"] == "softmax" else F.log_softmax
    yield Way("eager", [numbers(rows(r), INPUT, 4)], lambda x, w: function(x[0], -1), loss_weights=numbers(rows(r), LOSS))


def embedding(r):
    """As an embedding and its mean and as an EmbeddingBag, with dense and with sparse gradients of the table."""
    x = torch.from_numpy((hashed(INPUT, r["batch"] * r["length"]) % np.uint32(r["entries"])).astype(np.int64).reshape(r["batch"], r["length"]))
    weights = [("weight", numbers((r["entries"], r["features"]), WEIGHTS))]
    for sparse in (False, True) if r["form"] == "step" else (False,):
        suffix = " sparse" if sparse else ""
        yield Way("eager" + suffix, [x], lambda x, w, s=sparse: F.embedding(x[0], w[0], sparse=s).mean(1), weights, input_gradient=False)
        yield Way("eager bag" + suffix, [x], lambda x, w, s=sparse: F.embedding_bag(x[0], w[0], mode="mean", sparse=s), weights, input_gradient=False)


UNARY = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "gelu": F.gelu, "silu": F.silu, "square": torch.square,
         "abs": torch.abs, "half": lambda x: x * 0.5, "shift": lambda x: x + 0.25}


def elementwise(r):
    inputs, weights, links = [numbers(rows(r), INPUT)], [], []
    for op in r["ops"]:
        if op in UNARY:
            links.append(lambda y, x, w, f=UNARY[op]: f(y))
        elif op in ("gain", "bias"):
            i = len(weights)
            weights.append((f"{op}{i}", numbers((r["features"],), WEIGHTS + i, 0.5, op == "gain")))
            links.append((lambda y, x, w, i=i: y * w[i]) if op == "gain" else (lambda y, x, w, i=i: y + w[i]))
        else:
            if len(inputs) == 1:
                inputs.append(numbers(rows(r), SECOND))
            links.append((lambda y, x, w: y * x[1]) if op == "mul" else (lambda y, x, w: y + x[1]))

    def function(x, w):
        y = x[0]
        for link in links:
            y = link(y, x, w)
        return y
    yield Way("eager", inputs, function, weights, numbers(rows(r), LOSS))


def recurrent(r):
    """The weights are those of a module. Its second bias, which Sinter's LSTM and SimpleRNN do not have, is 0 and not trained."""
    n, m = r["units"], r["inputs"]
    gates, kind = {"gru": (3, torch.nn.GRU), "lstm": (4, torch.nn.LSTM), "simple_rnn": (1, torch.nn.RNN)}[r["cell"]]
    made = [("weight", numbers((m, gates * n), WEIGHTS, scale_of(m))), ("recurrent_weight", numbers((n, gates * n), WEIGHTS + 1, scale_of(n))),
            ("bias", numbers((gates * n,), WEIGHTS + 2, BIAS))]
    if r["cell"] == "gru":
        made.append(("recurrent_bias", numbers((gates * n,), WEIGHTS + 3, BIAS)))
    layer = kind(m, n, batch_first=True)

    def turned(w):                                           # Sinter's GRU has its gates in the order z, r, h, PyTorch's r, z, n
        if r["cell"] != "gru":
            return w
        z, reset, h = w.split(n, -1)
        return torch.cat((reset, z, h), -1)

    class Recurrent(Way):
        def weight_back(self, name, x):
            return turned(x if x.dim() == 1 else x.T)

    parameters = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0]
    with torch.no_grad():
        parameters[3].zero_()
        for parameter, (_, w) in zip(parameters, made):
            parameter.copy_(turned(w) if w.dim() == 1 else turned(w).T)
    for parameter in parameters:
        parameter.requires_grad_(False)

    def function(x, w):
        state = layer(x[0])[1]
        return (state[0] if r["cell"] == "lstm" else state)[0]
    way = Recurrent("eager", [numbers((r["batch"], r["length"], m), INPUT)], function)
    way.names, way.parameters = [name for name, _ in made], parameters[:len(made)]
    yield way


KINDS = {"dense": dense, "conv": lambda r: convolution(r, 1), "grouped": lambda r: convolution(r, r["groups"]),
         "depthwise": lambda r: convolution(r, r["channels"]), "conv1d": conv1d, "pool": pool, "normalization": normalization, "softmax": softmax, "embedding": embedding, "elementwise": elementwise, "recurrent": recurrent}


def measure(call, seconds):
    """As in bench/shapes/measure.cpp."""
    now = time.perf_counter
    last = []
    for _ in range(3):
        start = now()
        call()
        last.append(now() - start)
    inner = max(1, min(1000000, int(seconds / 5 / max(min(last[1:]), 1e-9))))
    times, begin = [], now()
    while len(times) < 3 or (now() - begin < seconds and len(times) < 1000):
        start = now()
        for _ in range(inner):
            call()
        times.append((now() - start) / inner)
    return min(times), statistics.median(times), len(times)


def calls_of(way, is_step):
    """What to time: as written, and compiled."""
    if is_step:
        way.require_gradients()
    ways = [way]
    if A.compile:
        ways.append(copy.copy(way))
        ways[1].name, ways[1].function = way.name.replace("eager", "compile"), torch.compile(way.function)
    return [(w.name, w.step if is_step else w.call) for w in ways]


def each(ways, found_of):
    """What is found of each way that works, and why others do not. Raises if none works."""
    found, failed = {}, {}
    for name, run in ways:
        try:
            found[name] = found_of(run)
        except Exception as e:
            failed[name] = f"{type(e).__name__}: {e}"
    if not found:
        raise RuntimeError("; ".join(f"{name}: {error}" for name, error in failed.items()))
    return found, failed


class Made:
    """All ways to compute a request. Those of the last one are kept for the next if that is the same."""
    def __init__(self, request):
        self.request, self.is_step = request, request["form"] == "step"
        torch.compiler.reset()
        self.calls = [pair for way in KINDS[request["kind"]](request) for pair in calls_of(way, self.is_step)]

    def times(self):
        with torch.inference_mode(not self.is_step):
            found, failed = each(self.calls, lambda call: measure(call, self.request.get("seconds", 0.05)))
        best = min(found, key=found.get)
        return dict(zip(("min", "median", "n"), found[best])) | {"mode": best} | ({"failed": failed} if failed else {})


def figures_of(way, is_step):
    if not is_step:
        with torch.inference_mode():
            return {"output": figures(way.back(way.call(), way.axes))}
    way.require_gradients()
    before = [w.detach().clone() for w in way.parameters]
    loss, gradients = way.step(way.inputs[0].numel() if way.loss_weights is None else 1)
    found = {"loss": figures(loss)}
    for i, g in enumerate(gradients):
        found[f"gradient of input {i + 1}"] = figures(way.back(g, way.axes))
    for name, old, w in zip(way.names, before, way.parameters):
        found["change of " + name] = figures(way.weight_back(name, old - w.detach()))
    return found


def check(request):
    """The figures of each eager way to compute it."""
    ways = [(way.name, way) for way in KINDS[request["kind"]](request) if way.checked]
    found, failed = each(ways, lambda way: figures_of(way, request["form"] == "step"))
    return {"figures": found} | ({"failed": failed} if failed else {})


def main():
    line, made = None, None
    for text in sys.stdin:
        try:
            request = json.loads(text)
            if request.get("check"):
                answer = check(request)
            else:
                if text != line:
                    made = None                              # its memory first
                    line, made = text, Made(request)
                answer = made.times()
        except Exception as e:
            line = made = None
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


main()
