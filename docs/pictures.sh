#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws the pictures of strategies.md with our own command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# picture STRATEGY STAGES MICROBATCHES [ARGUMENTS]: four devices, F = I = W = 1, B = 2
picture() {
  local strategy=$1 stages=$2 microbatches=$3
  shift 3
  ../bindings/python/run.sh schedule --strategy "$strategy" --devices 4 --stages "$stages" \
    --microbatches "$microbatches" "$@" -o "pictures/$strategy.png"
}

for strategy in gpipe 1f1b eager_1f1b zb_h1 zb_h2 1f1b_overlap dualpipe; do
  picture "$strategy" 4 8
done
for strategy in vocab_1f1b interlaced; do
  picture "$strategy" 4 8 --forward-times 1 1 1 2 --backward-times 2 2 2 4 --head forward_time=1 backward_time=2
done
for strategy in 1f1b_no_flush eager_1f1b_no_flush; do
  picture "$strategy" 4 6 --iterations 2
done
picture seq_1f1b 4 4 --slices 3
picture pipeoffload 8 8 --offload-times 1
picture slimpipe 8 4 --slices 4
picture zb_auto 4 8 --mem-limit 6
picture v_search 8 8 --mem-limit 6
picture zbv_auto 8 8 --mem-limit 6
picture auto 8 8 --mem-limit 5 --forward-times 1 2 1 2 1 2 1 2 --backward-times 2 4 2 4 2 4 2 4 --set placement=v --set objective=span
for strategy in looped_bfs interleaved_1f1b interleaved_1f1b_overlap interleaved_1f1b_less_memory interleaved_zb \
  group_interleaved_1f1b zbv dualpipe_v v_1f1b v_half v_min; do
  picture "$strategy" 8 8
done

# That of graphs.md.
PYTHONPATH=../bindings/python /usr/bin/python3 examples/vision_tower.py pictures/vision_tower.png

# That of keeping.md: copies above and below each device's row.
../bindings/python/run.sh schedule --strategy group_interleaved_1f1b --devices 4 -s 8 -b 8 --offload all --offload-times 1 \
  --host-links pairs -o pictures/offload.png

# The sweep of keeping.md.
PYTHONPATH=../bindings/python /usr/bin/python3 examples/offload_sweep.py pictures/offload_sweep.png

# The page of report.md, with Chromium; fewer colours make it small.
if command -v chromium >/dev/null; then
  page=$(mktemp -d)
  ../bindings/python/run.sh compare --devices 4 -s 4 -b 8 --p2p-time 0.1 --mem-limit 5 \
    --strategies 1f1b interleaved_1f1b zb_h1 zbv dualpipe -o "$page/report.html"
  PYTHONPATH=../tests/python /usr/bin/python3 -c 'import io, sys; from browser import Browser; from PIL import Image
with Browser() as browser:
    browser.window(1100, 1500)
    browser.open(sys.argv[1])
    browser.frames()
    picture = Image.open(io.BytesIO(browser.screenshot())).convert("RGB")
picture.quantize(64, dither=Image.Dither.NONE).save(sys.argv[2], optimize=True)' "$page/report.html" pictures/report.png
  rm -r "$page"
  if [ -e ../bindings/wasm/ppsched.wasm ]; then # the pages of live.md
    page=$(mktemp -d)
    ../bindings/python/run.sh live -o "$page/live.html"
    PYTHONPATH=../tests/python /usr/bin/python3 live_pictures.py "$page/live.html" pictures
    rm -r "$page"
  fi
fi
