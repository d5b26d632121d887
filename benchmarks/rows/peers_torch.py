#!/usr/bin/env python3
"""PyTorch's time on the cases of kiln-bench-rows, eager and compiled, as a peer for report.py.

    build/bin/kiln-bench-rows --benchmark_list_tests | python3 benchmarks/rows/peers_torch.py --out peers.json
    python3 benchmarks/report.py rows.json peers.json

The cases come by name, so that both programs time the same. As there, operands rotate through more than the L2, data
are random, everything is replayed from CUDA graphs, contenders take turns, and a figure is the median of its rounds.
A ratio to Kiln is fair if both ran on one machine, one after the other; `torch_copy_us`, the copy of equal bytes, shows
whether the clocks agreed. Needs PyTorch with CUDA.
"""
import argparse
import json
import re
import statistics
import sys
import time

import torch
import torch._dynamo
import torch.nn.functional as F

BEYOND_L2, MOST_SETS, EPSILON = 192 << 20, 64, 1e-5
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def uniform(*shape, dtype, amplitude=1.0):
    return torch.empty(*shape, device="cuda").uniform_(-amplitude, amplitude).to(dtype)


def add_rms_norm(x, residual, weight):
    total = x + residual
    return total, F.rms_norm(total, (x.shape[-1],), weight, EPSILON)


def quantise(x, largest, to):
    scale = x.abs().amax(-1, keepdim=True).float() / largest
    scaled = x.float() / scale
    return (scaled.round().clamp(-128, 127) if to == torch.int8 else scaled.clamp(-largest, largest)).to(to), scale


def rms_norm_quantise(x, weight, largest, to):
    return quantise(F.rms_norm(x, (x.shape[-1],), weight, EPSILON), largest, to)


def turned(x, cosines, sines):
    """Neighbours of the first 64 channels turn."""
    a, b = x[..., :64].float().unflatten(-1, (32, 2)).unbind(-1)
    rotated = torch.stack((a * cosines - b * sines, b * cosines + a * sines), -1).flatten(-2).to(x.dtype)
    return torch.cat((rotated, x[..., 64:]), -1)


def rotary_append(k, v, keys, values, places, cosines, sines, *queries):
    """Angles from a table; keys and values go to the rows `places` of a cache. With queries, those turn, too."""
    c, s = cosines[places][:, None], sines[places][:, None]
    keys[places] = turned(k, c, s)
    values[places] = v
    return [turned(q, c, s) for q in queries]


def rotary_operands(tokens, columns, dtype):
    heads, channels, capacity = 2, 128, 4096
    angles = torch.arange(capacity, device="cuda")[:, None] * 10000.0 ** (-torch.arange(32, device="cuda") / 32)
    places = 1000 + 61 * torch.arange(tokens, device="cuda")
    return [uniform(tokens, heads, channels, dtype=dtype) for _ in range(2)] + [
        uniform(capacity, heads, channels, dtype=dtype) for _ in range(2)] + [places, angles.cos(), angles.sin()] + [
        uniform(tokens, 32, channels, dtype=dtype) for _ in range(columns > heads * channels)]


def rows_of(*shapes):
    """Operands of these shapes, in terms of m rows and n columns."""
    return lambda m, n, t: [uniform(*[{"m": m, "n": n}[c] for c in shape], dtype=t) for shape in shapes]


# What each operation computes, and its operands for m rows of n columns of a type.
OPERATIONS = {
    "softmax": (lambda x: F.softmax(x, -1), rows_of("mn")),
    "log_softmax": (lambda x: F.log_softmax(x, -1), rows_of("mn")),
    "rms_norm": (lambda x, w: F.rms_norm(x, (x.shape[-1],), w, EPSILON), rows_of("mn", "n")),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, EPSILON), rows_of("mn", "n", "n")),
    "add_rms_norm": (add_rms_norm, rows_of("mn", "mn", "n")),
    "rms_norm_quantise_int8": (lambda x, w: rms_norm_quantise(x, w, 127, torch.int8), rows_of("mn", "n")),
    "rms_norm_quantise_e4m3": (lambda x, w: rms_norm_quantise(x, w, 448, torch.float8_e4m3fn), rows_of("mn", "n")),
    "quantise_rows_int8": (lambda x: quantise(x, 127, torch.int8), rows_of("mn")),
    "quantise_rows_e4m3": (lambda x: quantise(x, 448, torch.float8_e4m3fn), rows_of("mn")),
    "argmax": (lambda x: x.argmax(-1), rows_of("mn")),
    "cross_entropy": (lambda x, t: F.cross_entropy(x.float(), t, reduction="none"),
                      lambda m, n, t: [uniform(m, n, dtype=t, amplitude=4), torch.arange(m, device="cuda") * 7919 % n]),
    "row_sum": (lambda x: x.sum(-1, dtype=torch.float32), rows_of("mn")),
    "column_sum": (lambda x: x.sum(0, dtype=torch.float32), rows_of("mn")),
    "transform_axpy": (lambda x, y: 1.75 * x + y, rows_of("mn", "mn")),
    "transposition": (lambda x: x.t().contiguous(), rows_of("mn")),
    "rotary_append": (rotary_append, rotary_operands),
}


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def flat(result):
    return [] if result is None else [result] if torch.is_tensor(result) else list(result)


def graph_of(call, sets, launches):
    """A graph of `launches` calls. The results of as many copies stay alive, so outputs rotate, too."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for i in range(3):
            call(i % sets)
    side.synchronize()
    graph, kept = torch.cuda.CUDAGraph(), [None] * sets
    with torch.cuda.graph(graph):
        for i in range(launches):
            kept[i % sets] = call(i % sets)
    graph.replay()
    torch.cuda.synchronize()
    return graph, kept


def time_all(graphs, launches, rounds, round_ms):
    """Median microseconds of one launch, for each graph; they take turns."""
    mark = lambda: torch.cuda.Event(enable_timing=True)
    def once(graph, replays):
        begin, end = mark(), mark()
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        return begin, end
    replays = []
    for graph in graphs:
        begin, end = once(graph, 2)
        end.synchronize()
        replays.append(max(1, round(round_ms / max(1e-6, begin.elapsed_time(end) / 2))))
    times = [[once(graph, n) for graph, n in zip(graphs, replays)] for _ in range(rounds)]
    torch.cuda.synchronize()
    return [statistics.median(1e3 * turn[g][0].elapsed_time(turn[g][1]) / replays[g] / launches for turn in times)
            for g in range(len(graphs))]


def measure(name, operation, dtype, m, n, options):
    function, operands_of = OPERATIONS[operation]
    decode = name.startswith("decode/")
    first = operands_of(m, n, TYPES[dtype])
    moved = bytes_of(first) + bytes_of(flat(function(*first)))
    if operation == "rotary_append":
        moved = 4 * bytes_of(first[:1])
    sets = int(min(MOST_SETS, max(2, -(-BEYOND_L2 // moved))))
    operands = [first] + [operands_of(m, n, TYPES[dtype]) for _ in range(sets - 1)]
    launches = 512 if decode else sets * max(1, 4 // sets)
    calls = {"torch": lambda i: function(*operands[i])}
    if re.search(options.compile, name):
        torch._dynamo.reset()  # each case is compiled for its own shape
        compiled = torch.compile(function, dynamic=False)
        compiled(*first)
        calls["torch_compile"] = lambda i: compiled(*operands[i])
    if not decode:
        source = [uniform(moved // 4, dtype=torch.bfloat16) for _ in range(sets)]
        to = [torch.empty_like(s) for s in source]
        calls["torch_copy"] = lambda i: to[i].copy_(source[i])
    graphs = [graph_of(call, sets, launches) for call in calls.values()]
    times = time_all([g for g, _ in graphs], launches, options.rounds, options.round_ms)
    return {f"{who}_us": t for who, t in zip(calls, times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--filter", default="", help="only the cases whose name has this regular expression")
    parser.add_argument("--compile", default="", help="torch.compile for these cases alone; it takes seconds for each")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop beginning cases after this time")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round_ms", type=float, default=5)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    result = {"context": {"program": "peers_torch", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                          "cuda_runtime": torch.version.cuda, "rounds": str(options.rounds),
                          "round_ms": str(options.round_ms), "date": time.strftime("%Y-%m-%dT%H:%M:%S%z")},
              "benchmarks": []}
    started = time.monotonic()
    for line in sys.stdin:
        name = re.sub(r"/iterations:\d+|/manual_time", "", line.strip())
        parts = re.fullmatch(r"(?:decode/)?(\w+)/(\w+)/(\d+)x(\d+)", name)
        if not parts or parts[1] not in OPERATIONS or not re.search(options.filter, name):
            continue
        if time.monotonic() - started > options.seconds:
            print("out of time before " + name, file=sys.stderr)
            break
        row = {"name": name, "run_type": "peer"}
        try:
            row.update(measure(name, parts[1], parts[2], int(parts[3]), int(parts[4]), options))
        except Exception as e:  # a peer that cannot do a case does not end the others
            row.update(error_occurred=True, error_message=repr(e)[:300])
        torch.cuda.empty_cache()
        print(json.dumps(row), file=sys.stderr, flush=True)
        result["benchmarks"].append(row)
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
