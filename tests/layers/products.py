# SPDX-License-Identifier: Apache-2.0
"""Operations of each kind of block, by going through the products of matrices that published code makes: head by head, chunk by chunk,
query by query. It shares nothing with the library. A product of m x k with k x n is 2 m k n operations."""
from typing import Any, Dict, NamedTuple


class Counts(NamedTuple):
    forward: float
    input: float
    weight: float


class Matrix(NamedTuple):
    rows: int
    columns: int

    @property
    def t(self):
        return Matrix(self.columns, self.rows)


class Counter:
    """Counts products by pass. `seen`: keys that queries see, as a sum over positions."""

    def __init__(self, hidden, tokens, samples):
        self.hidden, self.tokens, self.samples = hidden, tokens, samples
        self.sums: Dict[str, float] = {"forward": 0, "input": 0, "weight": 0}

    def product(self, a, b, kind="forward"):
        assert a.columns == b.rows, (a, b)
        self.sums[kind] += 2 * a.rows * a.columns * b.columns
        return Matrix(a.rows, b.columns)

    def linear(self, width_in, width_out, rows=None):
        """y = x w; dx = dy w'; dw = x' dy."""
        x, w = Matrix(self.tokens * self.samples if rows is None else rows, width_in), Matrix(width_in, width_out)
        y = self.product(x, w)
        self.product(y, w.t, "input")
        self.product(x.t, y, "weight")

    def scores(self, heads, key, value, positions):
        """FlashAttention: the backward makes the scores again. positions: of each query how many keys it sees."""
        for seen in positions:
            for _ in range(heads * self.samples):
                q, k, v = Matrix(1, key), Matrix(seen, key), Matrix(seen, value)
                p = self.product(q, k.t)
                out = self.product(p, v)
                self.product(q, k.t, "input")
                dp = self.product(out, v.t, "input")
                self.product(p.t, out, "input")
                self.product(dp, k, "input")
                self.product(dp.t, q, "input")

    def index(self, heads, size, positions):
        """Scores of an index, and the gradients of its queries and keys."""
        for seen in positions:
            for _ in range(heads * self.samples):
                q, k = Matrix(1, size), Matrix(seen, size)
                p = self.product(q, k.t)
                self.product(p, k, "input")
                self.product(p.t, q, "input")

    @property
    def counts(self):
        return Counts(**self.sums)


def positions(tokens, window=0, chunk=0):
    """Of each query how many keys it sees, itself among them."""
    for i in range(tokens):
        seen = (i % chunk if chunk else i) + 1
        yield min(seen, window) if window else seen


def chunks(tokens, size):
    for begin in range(0, tokens, size):
        yield min(size, tokens - begin)


# --- mixers ---

def _gate(c, b, width):
    if b.get("output_gate"):
        c.linear(c.hidden, width)
    elif b.get("head_gate"):
        c.linear(c.hidden, b["heads"])


def attention(c, b):
    heads, kv, key = b["heads"], b["key_value_heads"], b["head_size"]
    value = b.get("value_size", key)
    c.linear(c.hidden, heads * key)
    if not b.get("shared_keys"):
        c.linear(c.hidden, kv * key)
        if not b.get("value_is_key"):
            c.linear(c.hidden, kv * value)
    _gate(c, b, heads * value)
    window = b.get("window", 0)
    if b.get("index_heads"):
        c.linear(c.hidden, b["index_heads"] * b["index_size"])
        c.linear(c.hidden, b["index_size"])
        c.index(b["index_heads"], b["index_size"], positions(c.tokens))
        window = min(b["index_tokens"], window or b["index_tokens"])
    c.scores(heads, key, value, positions(c.tokens, window, b.get("chunk", 0)))
    c.linear(heads * value, c.hidden)


def latent_attention(c, b):
    heads, key, value, rope = b["heads"], b["head_size"], b["value_size"], b["rope_size"]
    if b.get("query_rank"):
        c.linear(c.hidden, b["query_rank"])
        c.linear(b["query_rank"], heads * (key + rope))
    else:
        c.linear(c.hidden, heads * (key + rope))
    c.linear(c.hidden, b["key_value_rank"] + rope)
    c.linear(b["key_value_rank"], heads * (key + value))
    window = b.get("window", 0)
    if b.get("index_heads"):
        if not b.get("shared_index"):
            c.linear(b["query_rank"], b["index_heads"] * b["index_size"])
            c.linear(c.hidden, b["index_size"])
            c.linear(c.hidden, b["index_heads"])
            c.index(b["index_heads"], b["index_size"], positions(c.tokens))
        window = min(b["index_tokens"], window or b["index_tokens"])
    _gate(c, b, heads * value)
    c.scores(heads, key + rope, value, positions(c.tokens, window))
    c.linear(heads * value, c.hidden)


def compressed_attention(c, b):
    heads, size, ratio = b["heads"], b["head_size"], b.get("ratio", 0)
    c.linear(c.hidden, b["query_rank"])
    c.linear(b["query_rank"], heads * size)
    c.linear(c.hidden, size)
    seen = list(positions(c.tokens, b["window"]))
    if ratio:
        wide = 2 if b.get("index_heads") else 1
        for width in (size, *([b["index_size"]] if b.get("index_heads") else [])):
            c.linear(c.hidden, wide * width)
            c.linear(c.hidden, wide * width)
        before = [(i + 1) // ratio for i in range(c.tokens)]
        if b.get("index_heads"):
            c.linear(b["query_rank"], b["index_heads"] * b["index_size"])
            c.linear(c.hidden, b["index_heads"])
            c.index(b["index_heads"], b["index_size"], before)
            before = [min(each, b["index_tokens"]) for each in before]
        seen = [near + far for near, far in zip(seen, before)]
    c.scores(heads, size, size, seen)
    groups, rank = b["output_groups"], b["output_rank"]
    for _ in range(groups):
        c.linear(heads * size // groups, rank)
    c.linear(groups * rank, c.hidden)


def _inverse(c, n):
    """Of a triangle of n, row by row."""
    for row in range(n):
        c.product(Matrix(1, row), Matrix(row, row))


def _rule_forward(c, n, k, v, kind):
    """Of one chunk of n tokens and one head, all but the inverse."""
    queries, keys, values, inverse, state = Matrix(n, k), Matrix(n, k), Matrix(n, v), Matrix(n, n), Matrix(k, v)
    if kind == "forward":
        c.product(keys, keys.t)
        _inverse(c, n)
        c.product(queries, state)
        c.product(queries, keys.t)
        c.product(inverse, values)
    c.product(inverse, keys, kind)
    c.product(inverse, values, kind)
    c.product(keys, state, kind)
    c.product(keys.t, values, kind)


def _rule_backward(c, n, k, v, is_by_channel):
    queries, keys, values, inverse, state = Matrix(n, k), Matrix(n, k), Matrix(n, v), Matrix(n, n), Matrix(k, v)
    scores = Matrix(n, n)
    back = "input"
    _rule_forward(c, n, k, v, back)
    if not is_by_channel:
        c.product(queries, keys.t, back)
    c.product(scores.t, values, back)       # of values, inside the chunk
    c.product(keys, state, back)            # and from the state
    c.product(queries.t, values, back)      # of the state
    c.product(keys.t, values, back)
    c.product(values, values.t, back)       # of the scores
    for _ in range(3):
        c.product(values, state.t, back)    # of queries, keys, and keys by the inverse
    c.product(scores, keys, back)
    c.product(scores.t, queries, back)
    c.product(keys, keys.t, back)           # of the inverse
    c.product(values, values.t, back)
    c.product(inverse.t, keys, back)
    c.product(inverse.t, values, back)
    c.product(inverse, inverse, back)       # through the inverse
    c.product(inverse, inverse, back)
    if not is_by_channel:
        c.product(keys, keys.t, back)
    c.product(scores, keys, back)
    c.product(scores.t, keys, back)


def delta(c, b):
    heads, keys, size, value = b["heads"], b["key_value_heads"], b["head_size"], b["value_size"]
    c.linear(c.hidden, 2 * keys * size + heads * value)
    for rank, width in ((b.get("gate_rank"), heads * value), (0, heads), (b.get("decay_rank"), keys * size if b.get("decay_rank") else heads)):
        if rank:
            c.linear(c.hidden, rank)
            c.linear(rank, width)
        else:
            c.linear(c.hidden, width)
    for n in chunks(c.tokens, 64):
        for _ in range(heads * c.samples):
            _rule_forward(c, n, size, value, "forward")
            _rule_backward(c, n, size, value, bool(b.get("decay_rank")))
    c.linear(heads * value, c.hidden)


def _mamba_2(c, n, heads, head, groups, state):
    """Of one chunk: inputs with outputs of a group, these with the heads' channels, states and what comes of them."""
    for kind, scores, mixed, states in (("forward", 1, 1, 2), ("input", 3, 3, 5)):
        for _ in range(groups * scores):  # made again, and the gradients of both
            c.product(Matrix(n, state), Matrix(state, n), kind)
        for _ in range(heads):
            for _ in range(mixed):  # gradients of channels, of scores, of decays
                c.product(Matrix(n, n), Matrix(n, head), kind)
            for _ in range(states):  # made again; gradients of states, channels, inputs, outputs
                c.product(Matrix(state, n), Matrix(n, head), kind)


def mamba(c, b):
    if b.get("mamba_1"):
        c.linear(c.hidden, 2 * b["width"])
        c.linear(b["width"], b["time_step_rank"] + 2 * b["state_size"])
        c.linear(b["time_step_rank"], b["width"])
        c.linear(b["width"], c.hidden)
        return
    heads, head, groups, state = b["heads"], b["head_size"], b.get("groups", 1), b["state_size"]
    c.linear(c.hidden, 2 * heads * head + 2 * groups * state + heads)
    for n in chunks(c.tokens, 256):
        for _ in range(c.samples):
            _mamba_2(c, n, heads, head, groups, state)
    c.linear(heads * head, c.hidden)


def convolution(c, b):
    c.linear(c.hidden, 3 * c.hidden)
    c.linear(c.hidden, c.hidden)


# --- feed-forwards ---

def mlp(c, b, width_in=None, rows=None):
    width_in = width_in or c.hidden
    for _ in range(2 if b.get("gated") else 1):
        c.linear(width_in, b["width"], rows)
    c.linear(b["width"], width_in, rows)


def linear(c, b):
    c.linear(c.hidden, c.hidden)


def experts(c, b):
    """Each row has so many of all experts in turn; those that do nothing get rows, too, and multiply nothing."""
    tokens, outer = c.tokens * c.samples, b.get("latent_size") or c.hidden
    everyone = b["experts"] + b.get("idle_experts", 0)
    c.linear(c.hidden, everyone)
    if b.get("latent_size"):
        c.linear(c.hidden, outer)
        c.linear(outer, c.hidden)
    for number in range(b["experts"]):  # as evenly as whole rows allow
        mlp(c, b, outer, (tokens * b["experts_per_token"] + number) // everyone)
    if b.get("shared_width"):
        mlp(c, {**b, "width": b["shared_width"]})
    if b.get("shared_gate"):
        c.linear(c.hidden, 1)


KINDS: Dict[str, Any] = {each.__name__: each for each in (attention, latent_attention, compressed_attention, delta, mamba, convolution, mlp, experts, linear)}


def operations(block, hidden, tokens, samples):
    """Of a block in each pass."""
    counter = Counter(hidden, tokens, samples)
    KINDS[block["kind"]](counter, block)
    return counter.counts


def of_slices(block, hidden, tokens, parts):
    """Of the forward of each slice of one sequence: what its own tokens multiply, with all the keys that they see. Scans and convolutions begin anew at a
    slice only what they hand on, so that all slices take the same."""
    found = []
    for number in range(parts):
        begin, end = (tokens * each // parts for each in (number, number + 1))
        before, after = (operations(block, hidden, each, 1).forward if each else 0 for each in (begin, end))
        found.append(after - before)
    return found
