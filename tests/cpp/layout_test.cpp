/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: read, made and written. */
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cases.hpp"

using ppsched::Layout;

namespace {

static_assert(std::is_nothrow_move_constructible_v<Layout> && !std::is_copy_constructible_v<Layout>);

CASE(test_layout_strings)
{
    ppsched::LayoutRules rules;
    rules.chunks = 2;
    rules.decoders = 61;
    const Layout layout("Et*4|(tttt|)*14tmL", 8, rules);
    CHECK(layout.devices() == 8 && layout.chunks() == 2 && layout.stages().size() == 16);
    CHECK(layout.stages()[0].embeddings == 1 && layout.stages()[15].mtps == 1 && layout.offsets()[15] == 60);
    CHECK(layout.text() == "E(t*4|)*15tmL");

    const std::vector<ppsched_layout_stage> stages(layout.stages().begin(), layout.stages().end());
    Layout again(stages, 8);
    CHECK(again.text() == layout.text());
    const Layout moved(std::move(again));
    CHECK(moved.chunks() == 2 && again.devices() == 0 && again.stages().empty());
}

CASE(test_layout_errors)
{
    const auto error = thrown<ppsched::Error>([] { Layout("Et|Tt|L", 3); });
    CHECK(error && error->status() == PPSCHED_ERROR_SYNTAX && error->position() == 3u);
    const auto refused = thrown<ppsched::Refused>([] { Layout("Et|t", 2); });
    CHECK(refused && refused->stage() == 1u);
    CHECK(status_of([] { Layout(std::vector<ppsched_layout_stage>{}, 1); }) == PPSCHED_ERROR_LENGTH);
}

CASE(test_layout_splits)
{
    ppsched::MegatronSplit split;
    split.last_decoders = 4;
    CHECK(Layout::megatron(60, 5, split).text() == "E(t*14|)*4t*4L");
    const ppsched::TorchtitanModel model{32, 8};
    CHECK(Layout::torchtitan_stages(model, true) == 16 && Layout::torchtitan_stages({32, 2}, true, 9) == 4);
    const Layout parts = Layout::torchtitan(model, 8);
    CHECK(parts.modules(0) == "tok_embeddings layers.0 layers.1 layers.2 layers.3");
    CHECK(parts.modules(7, true) == "layers.29 layers.30 layers.31 norm lm_head rotary_emb");
}

} // namespace
