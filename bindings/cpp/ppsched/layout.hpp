/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: which layers are in which stage, in the notations of runtimes. */
#ifndef PPSCHED_LAYOUT_HPP
#define PPSCHED_LAYOUT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ppsched/layout.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using LayoutRules = Sized<ppsched_layout_rules>;
using MegatronSplit = Sized<ppsched_megatron_split>;

/* A model for torchtitan: its numbers of decoders and devices. The embedding counts as `first_less` decoders; norm and head
 * together count as `last_less` decoders. */
struct TorchtitanModel {
    int64_t decoders, devices, first_less = 1, last_less = 1;
};

/* Which layers are in which stage. Can be moved, not copied. */
class Layout {
public:
    /* From records, one per stage. */
    Layout(const std::vector<ppsched_layout_stage> &stages, int64_t devices)
        : Layout(detail::make<ppsched_layout>(ppsched_layout_create, devices, stages.data(), stages.size(), no_environment()))
    {
    }

    /* From Megatron-LM's string. */
    Layout(std::string_view text, int64_t devices, LayoutRules rules = {})
        : Layout(detail::make<ppsched_layout>(ppsched_layout_create_from_text, text.data(), text.size(), devices, &rules,
                                              no_environment()))
    {
    }

    /* The split that Megatron-LM makes if no layout string is given. */
    static Layout megatron(int64_t decoders, int64_t devices, MegatronSplit split = {})
    {
        return Layout(
            detail::make<ppsched_layout>(ppsched_layout_create_from_megatron, decoders, devices, &split, no_environment()));
    }

    /* The split that torchtitan makes for a number of stages. */
    static Layout torchtitan(const TorchtitanModel &model, int64_t stages)
    {
        return Layout(detail::make<ppsched_layout>(ppsched_layout_create_from_torchtitan, model.decoders, model.devices, stages,
                                                   model.first_less, model.last_less, no_environment()));
    }

    /* The number of stages that torchtitan makes. `several`: the schedule has several stages per device. A `layers_per_stage`
     * of 0 means that torchtitan does not get this option. See ppsched_layout_find_torchtitan_stages. */
    static uint32_t torchtitan_stages(const TorchtitanModel &model, bool several, int64_t layers_per_stage = 0)
    {
        return detail::record_of<uint32_t>(ppsched_layout_find_torchtitan_stages, model.decoders, model.devices,
                                           layers_per_stage, model.first_less, model.last_less, uint32_t{several});
    }

    /* Takes ownership of a layout of the C API. */
    explicit Layout(ppsched_layout *handle) noexcept : handle_(handle) {}

    const ppsched_layout *get() const noexcept { return handle_.get(); }
    uint32_t devices() const noexcept { return ppsched_layout_devices(get()); }
    uint32_t chunks() const noexcept { return ppsched_layout_chunks(get()); }

    View<ppsched_layout_stage> stages() const &
    {
        size_t count = 0;
        const ppsched_layout_stage *stages = ppsched_layout_stages(get(), &count);
        return {stages, count};
    }

    /* The number of decoders before each stage. */
    View<uint32_t> offsets() const &
    {
        size_t count = 0;
        const uint32_t *offsets = ppsched_layout_offsets(get(), &count);
        return {offsets, count};
    }

    View<ppsched_layout_stage> stages() const && = delete;
    View<uint32_t> offsets() const && = delete;

    /* Megatron-LM's string. */
    std::string text() const { return detail::text_of(ppsched_layout_write_text, get()); }

    /* torchtitan's names of a stage's modules, separated by blanks. With `rotary`, rotary_emb is one of them. */
    std::string modules(uint32_t stage, bool rotary = false) const
    {
        return detail::text_of(ppsched_layout_write_modules, get(), stage, uint32_t{rotary});
    }

private:
    static const ppsched_environment *no_environment() noexcept { return nullptr; }

    std::unique_ptr<ppsched_layout, detail::Destroy<ppsched_layout_destroy>> handle_;
};

} // namespace ppsched

#endif
