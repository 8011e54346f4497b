# SPDX-License-Identifier: Apache-2.0
"""Chakra traces read from their bytes, and a plain model of how ASTRA-sim runs them: one compute op and one send of a rank at a
time, the lowest id first of what is ready, the nth send meets the nth receive of the same tag, ends and size."""
import collections
import heapq

COMP, SEND, RECV = 4, 5, 6
NETWORK = 2**30  # bytes a second, ASTRA-sim's unit of bandwidth


class Node:
    """A node of a trace. ends: when it started and ended, in nanoseconds."""

    def __init__(self, fields):
        single = {number: value for number, value in fields if number not in (4, 5, 10)}
        self.id, self.name, self.type = single[1], single[2].decode(), single[3]
        self.micros = single.get(7, 0)
        self.ctrl = [id for number, value in fields if number == 4 for id in integers(value)]
        self.data = [id for number, value in fields if number == 5 for id in integers(value)]
        self.attributes = dict(attribute(value) for number, value in fields if number == 10)
        self.start = self.end = None


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields_of(data):
    """(number, value) of each field; value is an integer or bytes."""
    at, fields = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}[key & 7] if key & 7 != 2 else varint(data, at)
            if at + size > len(data):
                raise ValueError("a field is cut off")
            value, at = data[at:at + size], at + size
        fields.append((key >> 3, value))
    return fields


def integers(value):
    """Of a packed field, or one of a field that is not."""
    if isinstance(value, int):
        return [value]
    at, found = 0, []
    while at < len(value):
        one, at = varint(value, at)
        found.append(one)
    return found


def attribute(data):
    fields = dict(fields_of(data))
    name = fields.pop(1).decode()
    (number, value), = fields.items()
    if number == 30:
        return name, [text.decode() for _, text in fields_of(value)]
    return name, value.decode() if number == 29 else value


def messages(data):
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        if at + size > len(data):
            raise ValueError("a message is cut off")
        yield data[at:at + size]
        at += size


def nodes_of(trace):
    """Those of a trace, behind what it begins with."""
    metadata, *nodes = messages(trace)
    assert dict(fields_of(metadata)).get(1), "a trace begins with its version"
    return [Node(fields_of(node)) for node in nodes]


class Network:
    """Messages between all ranks alike: latency in nanoseconds, bandwidth in units of NETWORK."""

    def __init__(self, latency, bytes_a_nanosecond):
        self.latency, self.bandwidth = latency, bytes_a_nanosecond * 1e9 / NETWORK

    def time(self, size):
        return int(self.latency + size / (self.bandwidth * NETWORK / 1e9))


class Simulator:
    """Runs the traces of all ranks."""

    def __init__(self, traces, network):
        self.network = network
        self.ranks = [{node.id: node for node in nodes_of(trace)} for trace in traces]
        self.count = sum(len(nodes_of(trace)) for trace in traces)
        self.now, self.events, self.order = 0, [], 0
        self.ready = [[] for _ in self.ranks]
        self.busy = [{COMP: None, SEND: None} for _ in self.ranks]
        self.sent, self.posted = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
        self.waiting = [{id: set(node.ctrl) | set(node.data) for id, node in nodes.items()} for nodes in self.ranks]
        self.next = [collections.defaultdict(list) for _ in self.ranks]
        for rank, nodes in enumerate(self.ranks):
            for id, node in nodes.items():
                assert not set(node.ctrl) & set(node.data) and len(node.data) == len(set(node.data))
                for before in (*node.ctrl, *node.data):
                    assert before in nodes, f"rank {rank}: node {id} waits for {before}, which is not there"
                    self.next[rank][before].append(id)
                if not self.waiting[rank][id]:
                    heapq.heappush(self.ready[rank], id)
            assert self.ready[rank], f"rank {rank}: no node waits for nothing"

    def run(self):
        """When the last rank ends, in nanoseconds. All nodes must have run."""
        for rank in range(len(self.ranks)):
            self.issue(rank)
        while self.events:
            self.now, _, rank, id = heapq.heappop(self.events)
            self.finish(rank, id)
        ends = [node.end for nodes in self.ranks for node in nodes.values()]
        assert None not in ends and len(ends) == self.count, "some nodes did not run, or share an id"
        return max(ends)

    def at(self, time, rank, id):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, rank, id))

    def issue(self, rank):
        """Starts what is ready, the lowest id first, as far as the rank has room."""
        kept = []
        while self.ready[rank]:
            id = heapq.heappop(self.ready[rank])
            node = self.ranks[rank][id]
            if node.type != RECV and self.busy[rank][node.type] is not None:
                kept.append(id)
                continue
            node.start = self.now
            if node.type == COMP:
                self.busy[rank][COMP] = id
                self.at(self.now + (1000 * node.micros or 1), rank, id)
            else:
                self.message(rank, node)
        for id in kept:
            heapq.heappush(self.ready[rank], id)

    def message(self, rank, node):
        values = node.attributes
        size, tag = values["comm_size"], values["comm_tag"] % 500000000
        assert size > 0 and values["comm_tag"] < 2**32
        if node.type == SEND:
            other = values["comm_dst"]
            assert other != rank and 0 <= other < len(self.ranks)
            self.busy[rank][SEND] = node.id
            arrival = self.now + self.network.time(size)
            assert arrival > 0, "a message of no time at time 0"
            self.at(arrival, rank, node.id)
            self.match(self.posted, self.sent, (tag, rank, other, size), arrival, other)
        else:
            other = values["comm_src"]
            self.match(self.sent, self.posted, (tag, other, rank, size), node.id, rank)

    def match(self, others, own, key, what, receiver):
        """A send and a receive that meet: the receive ends when the message is there, not before it is posted."""
        if not others[key]:
            own[key].append(what)
            return
        other = others[key].popleft()
        arrival, id = (other, what) if others is self.sent else (what, other)
        self.at(max(arrival, self.now), receiver, id)

    def finish(self, rank, id):
        node = self.ranks[rank][id]
        node.end = self.now
        if node.type != RECV:
            self.busy[rank][node.type] = None
        for later in self.next[rank][id]:
            self.waiting[rank][later].discard(id)
            if not self.waiting[rank][later]:
                heapq.heappush(self.ready[rank], later)
        self.issue(rank)

    def peak(self, rank):
        """Most bytes of tensors at once: each from the start of the node that writes it to the end of the last that reads it."""
        written, read, size = {}, {}, {}
        for node in self.ranks[rank].values():
            for key, times, time in (("outputs", written, node.start), ("inputs", read, node.end)):
                names = node.attributes[key]
                for name, bytes in zip(names[::2], names[1::2]):
                    times[name] = max(times.get(name, 0), time)
                    size[name] = int(bytes)
        changes = sorted([(time, size[name]) for name, time in written.items()] + [(time, -size[name]) for name, time in read.items()])
        level = peak = 0
        for _, change in changes:
            level += change
            peak = max(peak, level)
        return peak
