// SPDX-License-Identifier: Apache-2.0
// Finds an op by its token, such as 3F12, in the timelines that are drawn.

function findToken(token) {
  for (const rank of chosenRanks()) {
    const panel = timelinePanels.find((one) => one.rank === rank);
    for (const [device, lane] of panel.timeline.lanes.entries()) {
      const entry = lane.find((one) => opsOf(one).some((op) => op.token === token));
      if (entry)
        return { panel, device, entry };
    }
  }
  return null;
}

/** Holds the op, and zooms in until it can be seen. */
function goToToken(text) {
  const token = text.trim().toUpperCase(), found = findToken(token);
  byId("found").textContent = found || !token ? "" : `there is no ${token} in the drawn timelines`;
  if (!found)
    return;
  const { panel, device, entry } = found, middle = (entry.start + entry.end) / 2;
  const most = 40 * Math.max(entry.end - entry.start, CLOSEST * view.whole);
  if (view.to - view.from > most)
    setView(middle - most / 2, middle + most / 2);
  hold(panel, device, entry);
}

function startFinding() {
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    goToToken(byId("token").value);
  });
}
