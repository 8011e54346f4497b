// SPDX-License-Identifier: Apache-2.0
// Unpacks the page's program, which is packed as text takes three times as much, and starts it. The policy of the page names its digest.

const letters = document.getElementById("program").textContent.trim(), packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
const unpacked = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
const program = Object.assign(document.createElement("script"), { type: "module", textContent: await unpacked.text() });
document.body.append(program);
