/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: a model as a list of layers. Split: which layers are in which stage. */
#ifndef PPSCHED_LAYERS_HPP
#define PPSCHED_LAYERS_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ppsched/layers.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Layer = Sized<ppsched_layer>;
using Recompute = ppsched_recompute;

/* A model's layers in order. Immutable. Copies share them. */
class Layers {
public:
    /* Pointers in entries are read only during the call. The environment must outlive the layers and all objects made from
     * them. */
    explicit Layers(const std::vector<Layer> &entries, const ppsched_environment *environment = nullptr)
        : handle_(list(entries, environment))
    {
    }

    /* Takes ownership of one reference to layers of the C API. */
    explicit Layers(const ppsched_layers *taken) noexcept : handle_(taken) {}

    Layers(const Layers &other) noexcept : handle_(ppsched_layers_retain(other.handle_)) {}
    Layers(Layers &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ~Layers() { ppsched_layers_release(handle_); }

    Layers &operator=(Layers other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    const ppsched_layers *get() const noexcept { return handle_; }

    /* The number of layers, and the number of entries. An entry of several equal layers counts as several layers. */
    uint32_t size() const noexcept { return ppsched_layers_count(handle_); }
    uint32_t entries() const noexcept { return ppsched_layers_entries(handle_); }

    /* One of the entries that were given, with all its times filled in. Its pointers are borrowed from the layers. */
    Layer entry(uint32_t entry) const & { return detail::record_of<Layer>(ppsched_layers_get_entry, get(), entry); }
    Layer entry(uint32_t entry) const && = delete;

private:
    static const ppsched_layers *list(const std::vector<Layer> &entries, const ppsched_environment *environment)
    {
        std::vector<const ppsched_layer *> pointers;
        for (const Layer &entry : entries)
            pointers.push_back(&entry);
        const ppsched_layers *made = nullptr;
        const ppsched_layer *none = nullptr;
        detail::call(ppsched_layers_create, &made, pointers.empty() ? &none : pointers.data(), pointers.size(), environment);
        return made;
    }

    const ppsched_layers *handle_;
};

/* `layers`: the number of layers of each stage. `recomputes`: for each layer 0 (no recomputation), or the number of its kind of
 * recomputation, counted from 1. An empty `recomputes` means 0 for all layers. */
struct Split {
    std::vector<uint32_t> layers;
    std::vector<uint8_t> recomputes;

    /* The split as a struct of the C API. Its pointers are borrowed from this object. Throws an Error (RANGE) if `recomputes`
     * has numbers, but not one for each layer. */
    Sized<ppsched_split> get(const Layers &model) const &
    {
        if (!recomputes.empty() && recomputes.size() != model.size())
            throw Error(PPSCHED_ERROR_RANGE, "the split has " + std::to_string(recomputes.size()) +
                                                 " kinds of recomputation, the model " + std::to_string(model.size()) +
                                                 " layers");
        Sized<ppsched_split> split;
        split.stages = static_cast<uint32_t>(layers.size());
        split.layers = layers.data();
        split.recomputes = recomputes.empty() ? nullptr : recomputes.data();
        return split;
    }

    Sized<ppsched_split> get(const Layers &model) const && = delete;
};

/* A config like this one, with the stages of a split of the layers. It has the same progress callback. */
inline Config Config::from_layers(const Layers &layers, const Split &split) const
{
    const Sized<ppsched_split> own = split.get(layers);
    const ppsched_split *given = &own;
    return {detail::make<ppsched_config>(ppsched_config_from_layers, get(), layers.get(), given), progress_};
}

} // namespace ppsched

#endif
