/* SPDX-License-Identifier: Apache-2.0 */
/* Model, a transformer with how it is trained and on what, and the accelerators that the library knows. */
#ifndef PPSCHED_MODEL_HPP
#define PPSCHED_MODEL_HPP

#include <cstdint>
#include <memory>

#include <ppsched/model.h>

#include <ppsched/detail.hpp>
#include <ppsched/layers.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Transformer = Sized<ppsched_transformer>;
using Training = Sized<ppsched_training>;
using Accelerator = Sized<ppsched_accelerator>;
using Parameters = Sized<ppsched_parameters>;
using PassCost = Sized<ppsched_pass_cost>;
using LayerMemory = Sized<ppsched_layer_memory>;
using UpdateCost = Sized<ppsched_update_cost>;
using Calibration = Sized<ppsched_calibration>;
using MegatronMemory = Sized<ppsched_megatron_memory>;
using MegatronPipeline = Sized<ppsched_megatron_pipeline>;

/* The devices that the library knows; what they point to lives as long as the library. */
inline uint32_t accelerator_count() noexcept
{
    return ppsched_accelerator_count();
}

/* nullptr past the last. */
inline const ppsched_accelerator *accelerator_at(uint32_t index) noexcept
{
    return ppsched_accelerator_at(index);
}

/* What a transformer's layers cost. Moved, not copied. */
class Model {
public:
    /* Without an accelerator there are no times. What it points to is read during the call only. */
    explicit Model(const Transformer &transformer, const Training &training = {},
                   const ppsched_accelerator *accelerator = nullptr, const ppsched_environment *environment = nullptr)
        : Model(detail::make<ppsched_model>(ppsched_model_create, &transformer, &training, accelerator, environment))
    {
    }

    /* Takes the C object over. */
    explicit Model(ppsched_model *handle) noexcept : handle_(handle) {}

    const ppsched_model *get() const noexcept { return handle_.get(); }

    Parameters parameters() const { return detail::record_of<Parameters>(ppsched_model_get_parameters, get()); }

    PassCost pass_cost(ppsched_model_layer layer, ppsched_model_pass pass) const
    {
        return detail::record_of<PassCost>(ppsched_model_get_pass_cost, get(), int32_t{layer}, int32_t{pass});
    }

    LayerMemory memory(ppsched_model_layer layer) const
    {
        return detail::record_of<LayerMemory>(ppsched_model_get_memory, get(), int32_t{layer});
    }

    /* Of so many parameters on a device, those of experts among them. */
    UpdateCost update_cost(double parameters, double expert_parameters = 0) const
    {
        return detail::record_of<UpdateCost>(ppsched_model_get_update_cost, get(), parameters, expert_parameters);
    }

    /* In order, for plans. */
    Layers layers(const Calibration &calibration = {}) const
    {
        const ppsched_layers *made = nullptr;
        const ppsched_calibration *given = &calibration;
        detail::call(ppsched_layers_from_model, &made, get(), given);
        return Layers(made);
    }

    MegatronMemory megatron_memory(const MegatronPipeline &pipeline) const
    {
        const ppsched_megatron_pipeline *given = &pipeline;
        return detail::record_of<MegatronMemory>(ppsched_model_get_megatron_memory, get(), given);
    }

private:
    std::unique_ptr<ppsched_model, detail::Destroy<ppsched_model_destroy>> handle_;
};

} // namespace ppsched

#endif
