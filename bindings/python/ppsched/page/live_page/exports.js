// SPDX-License-Identifier: Apache-2.0
// Files of the drawn schedule, its launch line, and its link.

function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  document.documentElement.dataset.saved = name;
  announce(`${name} is saved`);
}

function titleOf(schedule = current.schedule, drawnProblem = current.problem, { metrics } = current.picture) {
  const { devices, stages, microbatches } = drawnProblem;
  return `${schedule.name}, ${counted(devices, "device")}, ${counted(stages, "stage")}, ${counted(microbatches, "microbatch", "microbatches")}: makespan ${figure(metrics.makespan)}, bubble ${percent(metrics.bubble_of_total)} of total`;
}

/** The same picture in pixels, at twice its size. */
async function savePng(name) {
  const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(svgOf(current.picture, titleOf()))}` });
  await image.decode();
  const canvas = make("canvas", { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(name, blob));
}

function startExports() {
  const { schedule: exported } = { schedule: (format) => current.schedule.export(format, current.timeline) };
  const actions = {
    csv: () => save(`${current.problem.strategy}.csv`, exported("csv"), "text/csv"),
    json: () => save(`${current.problem.strategy}.json`, exported("json"), "application/json"),
    trace: () => save(`${current.problem.strategy}.trace.json`, exported("chrome_trace"), "application/json"),
    svg: () => save(`${current.problem.strategy}.svg`, svgOf(current.picture, titleOf()), "image/svg+xml"),
    png: () => savePng(`${current.problem.strategy}.png`),
  };
  for (const [kind, action] of Object.entries(actions))
    byId(`save-${kind}`).addEventListener("click", async () => {
      try {
        await action();
      } catch (error) {
        showProblem(error.message);
      }
    });
  byId("copy-link").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The link is copied");
      byId("copied").textContent = "copied";
    } catch {
      byId("copied").textContent = "the address of this page is the link";
    }
  });
  byId("runtime").append(...Object.keys(library.Runtime).map((name) => make("option", { value: name }, name.toLowerCase())));
  byId("runtime").addEventListener("input", showLaunch);
}

function showLaunch() {
  try {
    byId("launch-line").textContent = current.schedule.launchArguments(byId("runtime").value);
  } catch (error) {
    byId("launch-line").textContent = error.message;
  }
}
