# SPDX-License-Identifier: Apache-2.0
"""By hand: what axe-core finds on pages of ours, with everything unfolded, in light and dark, on a phone and on a screen of 4K.

usage: npm install axe-core; axe_check.py node_modules/axe-core/axe.min.js PAGE.html...      exit 1 where it finds something"""
import json
import pathlib
import sys

from browser import Browser

WINDOWS = ({"width": 1440, "height": 900}, {"width": 1440, "height": 900, "dark": True}, {"width": 360, "height": 740, "touch": True},
           {"width": 3840, "height": 2160})
RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))"


def findings(browser, axe, page, window):
    """Each rule that is broken, with its elements; and whether the page is wider than its window."""
    browser.window(**window)
    browser.open(page)
    browser.value("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    browser.value("new Promise(done => setTimeout(done, 1000))")  # workers answer
    left, top = browser.value("(({ left, top }) => [left, top])((box => { box.scrollIntoView({ block: 'center' }); return box.getBoundingClientRect(); })"
                              "(document.querySelector('#timeline-panels .surface')))")
    browser.mouse("mouseMoved", left + 100, top + 10)  # shows the tip of an op
    browser.frames()
    browser.value("(() => { const lesson = document.getElementById('place-lesson'); if (!lesson) return; lesson.value = 6; "
                  "lesson.dispatchEvent(new Event('change')); for (let i = 0; i < 17; i++) document.getElementById('place-hint').click(); })()")
    browser.call("Runtime.evaluate", expression=axe)
    for rule in json.loads(browser.value(RUN)):
        yield f"{rule['id']} ({rule['impact']}): {rule['help']}: {', '.join(' '.join(node['target']) for node in rule['nodes'][:5])}"
    if browser.value("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        yield "the page is wider than the window"


def main(axe, *pages):
    text, count = pathlib.Path(axe).read_text(encoding="utf-8"), 0
    with Browser() as browser:
        for page in pages:
            for window in WINDOWS:
                for finding in findings(browser, text, page, window):
                    count += 1
                    print(f"{page}, {window}: {finding}")
    print(f"{count} findings")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
