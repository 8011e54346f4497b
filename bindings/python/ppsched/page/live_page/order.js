// SPDX-License-Identifier: Apache-2.0
// A schedule made by hand, as a word in the link: PLACEMENT-FLUSHES-VERSIONS!QUEUE!QUEUE... A queue is tokens separated by -, with ~
// between the two of an overlapped pair: v-1-1!0F0-0F1-0B0!...

const LONGEST_ORDER = 30_000; // characters; browsers, mail and chats accept addresses of this length

const OP_TOKEN = /^(\d{1,5})([A-Z][A-Z_]*?)(\d{0,10})(?:\.(\d{1,5}))?$/;

/** The word for queues of units; empty if it would be too long. */
function orderOf(queues, { placement, flushes, weightVersions }) {
  const texts = queues.map((units) => units.map((unit) => unit.map((op) => engine.token(op)).join("~")).join("-"));
  const order = [`${placement}-${flushes ? 1 : 0}-${weightVersions}`, ...texts].join("!");
  return order.length > LONGEST_ORDER ? "" : order;
}

function opOfToken(token, flags) {
  const [, stage, letters, microbatch, slice] = OP_TOKEN.exec(token) ?? [], kind = letters;
  if (!kindNames.includes(kind))
    throw new Error(`order has ${JSON.stringify(token.slice(0, 40))}, which is not an op`);
  return { kind, stage: Number(stage), microbatch: microbatch === "" ? null : Number(microbatch), slice: Number(slice ?? 0),
           flags: flags | (slice === undefined ? 0 : SLICED) };
}

function unitOf(text) {
  const tokens = text.split("~");
  return tokens.map((token, i) => opOfToken(token, i + 1 < tokens.length ? OVERLAPPED : 0));
}

/** Parses the word into {queues, placement, flushes, weightVersions}. */
function readOrder(order) {
  const [head, ...texts] = order.split("!"), [, placement, flushes, versions] = /^([a-z]+)-([01])-(\d{1,4})$/.exec(head) ?? [];
  if (placement === undefined || texts.length !== problem.devices)
    throw new Error(`order has ${counted(texts.length, "queue")}; it must be PLACEMENT-FLUSHES-VERSIONS and one for each of ${counted(problem.devices, "device")}`);
  if (placement !== "map" && !PLACEMENTS.includes(placement))
    throw new Error(`order has placement ${JSON.stringify(placement.slice(0, 40))}; it must be map, ${PLACEMENTS.join(", ")}`);
  return { queues: texts.map((text) => text.split("-").filter(Boolean).map(unitOf)), placement, flushes: flushes === "1", weightVersions: Number(versions) };
}
