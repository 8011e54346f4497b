/* SPDX-License-Identifier: Apache-2.0 */
/* Model: the costs of a description, for given training settings and a device; and the data sheets that the library has. */
#ifndef PPSCHED_MODEL_HPP
#define PPSCHED_MODEL_HPP

#include <cstdint>
#include <memory>
#include <utility>

#include <ppsched/layer_table.h>
#include <ppsched/model.h>
#include <ppsched/price.h>

#include <ppsched/description.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/layers.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Training = Sized<ppsched_training>;
using Accelerator = Sized<ppsched_accelerator>;
using Parameters = Sized<ppsched_parameters>;
using ModelRow = Sized<ppsched_model_row>;
using PassCost = Sized<ppsched_pass_cost>;
using LayerMemory = Sized<ppsched_layer_memory>;
using UpdateCost = Sized<ppsched_update_cost>;
using Calibration = Sized<ppsched_calibration>;
using MegatronMemory = Sized<ppsched_megatron_memory>;
using MegatronPipeline = Sized<ppsched_megatron_pipeline>;
using LayerTable = Sized<ppsched_layer_table>;
using RowMeasure = Sized<ppsched_row_measure>;

/* How many data sheets of devices the library has. */
inline uint32_t accelerator_count() noexcept
{
    return ppsched_accelerator_count();
}

/* The device with a number; nullptr past the last. The pointer is valid as long as the library is loaded. */
inline const ppsched_accelerator *accelerator_at(uint32_t index) noexcept
{
    return ppsched_accelerator_at(index);
}

/* The costs of a model's layers. Can be moved, not copied. */
class Model {
public:
    /* Without an accelerator there are no times. Pointers in the arguments are read only during the call. */
    explicit Model(const Description &description, const Training &training = {},
                   const ppsched_accelerator *accelerator = nullptr, const ppsched_environment *environment = nullptr)
        : Model(detail::make<ppsched_model>(ppsched_model_create, description.get(), &training, accelerator, environment))
    {
    }

    /* With measured costs; see layer_table.h. */
    Model(const Description &description, const Training &training, const ppsched_accelerator *accelerator,
          const LayerTable &table, const ppsched_environment *environment = nullptr)
        : Model(detail::make<ppsched_model>(ppsched_model_create_measured, description.get(), &training, accelerator, &table,
                                            environment))
    {
    }

    /* Takes ownership of a model of the C API. */
    explicit Model(ppsched_model *handle) noexcept : handle_(handle) {}

    const ppsched_model *get() const noexcept { return handle_.get(); }

    Parameters parameters() const { return detail::record_of<Parameters>(ppsched_model_get_parameters, get()); }

    /* Where the figures of a row (a kind of layer) come from. */
    RowMeasure measure(uint32_t row) const { return detail::record_of<RowMeasure>(ppsched_model_get_row_measure, get(), row); }

    /* Latency and bandwidth of the link between neighbours of a pipeline, in a job of `devices` devices. */
    std::pair<double, double> link(int64_t devices) const
    {
        std::pair<double, double> out;
        detail::call(ppsched_model_get_link, &out.first, &out.second, get(), devices);
        return out;
    }

    /* Latency and bandwidth of the link between two devices of a pipeline; see ppsched_model_get_pipeline_link. */
    std::pair<double, double> pipeline_link(const ppsched_pipeline &pipeline, uint32_t from, uint32_t to) const
    {
        std::pair<double, double> out;
        detail::call(ppsched_model_get_pipeline_link, &out.first, &out.second, get(), &pipeline, from, to);
        return out;
    }

    /* The cost of the update, for a pipeline whose order of ranks may put replicas farther apart; see
     * ppsched_model_get_pipeline_update_cost. */
    UpdateCost update_cost(const ppsched_pipeline &pipeline, double parameters, double expert_parameters = 0) const
    {
        return detail::record_of<UpdateCost>(ppsched_model_get_pipeline_update_cost, get(), &pipeline, parameters,
                                             expert_parameters);
    }

    /* The time in which devices of a job sum the gradients of the embedding and its copies; see
     * ppsched_model_get_copies_time. */
    double copies_time(uint32_t copies, int64_t devices) const
    {
        double out = 0;
        detail::call(ppsched_model_get_copies_time, &out, get(), copies, devices);
        return out;
    }

    /* The share of causal attention in the time of a pass, for plans with slices; see ppsched_model_get_attention_share. */
    double attention_share(uint32_t row, ppsched_model_pass pass) const
    {
        double out = 0;
        detail::call(ppsched_model_get_attention_share, &out, get(), row, int32_t{pass});
        return out;
    }

    uint32_t row_count() const noexcept { return ppsched_model_row_count(get()); }

    /* A row: a kind of layer. Its name is borrowed from the model. */
    ModelRow row(uint32_t row) const & { return detail::record_of<ModelRow>(ppsched_model_get_row, get(), row); }
    ModelRow row(uint32_t row) const && = delete;

    PassCost pass_cost(uint32_t row, ppsched_model_pass pass) const
    {
        return detail::record_of<PassCost>(ppsched_model_get_pass_cost, get(), row, int32_t{pass});
    }

    LayerMemory memory(uint32_t row) const { return detail::record_of<LayerMemory>(ppsched_model_get_memory, get(), row); }

    /* The cost of the update of this number of parameters on a device. Of these, `expert_parameters` belong to experts. */
    UpdateCost update_cost(double parameters, double expert_parameters = 0) const
    {
        return detail::record_of<UpdateCost>(ppsched_model_get_update_cost, get(), parameters, expert_parameters);
    }

    /* The layers in order, for plans. */
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
