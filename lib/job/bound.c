/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of a layout, without a schedule: its time is at least that of the device that has most to do, with what has to run
 * before and after it; its memory at least the states, and what is kept of the microbatches that are under way. */
#include "job/job.h"

#include "base/error.h"

/* Sums over a stage. */
struct stage {
    double forward, input, weight;
    double kept; /* bytes of a microbatch with full recomputation */
    double largest;
};

static double max(double a, double b)
{
    return a > b ? a : b;
}

static double least_kept(const ppsched_layer *layer)
{
    double least = layer->mem_forward;
    for (uint32_t i = 0; i < layer->recompute_count; i++)
        least = layer->recomputes[i].mem_forward < least ? layer->recomputes[i].mem_forward : least;
    return least;
}

/* Times are those on the devices of the stages. */
static void sum_stages(struct stage *stages, const struct ppi_pricing *pricing, bool is_v)
{
    const ppsched_layers *layers = pricing->layers;
    uint32_t layer = 0;
    for (uint32_t s = 0; s < pricing->stage_count; s++) {
        uint32_t type = ppi_pricing_layer_type(pricing->types, ppi_job_device_of(s, pricing->pipeline.devices, is_v));
        stages[s] = (struct stage){0};
        for (uint32_t end = layer + pricing->split.layers[s]; layer < end; layer++) {
            const ppsched_layer *own = &ppi_layer_at(layers, layer)->given;
            uint32_t entry = layers->entry_of[layer];
            stages[s].forward += own->forward_time * ppi_type_scale(layers, entry, type, PPSCHED_KIND_F);
            stages[s].input += own->backward_input_time * ppi_type_scale(layers, entry, type, PPSCHED_KIND_I);
            stages[s].weight += own->backward_weight_time * ppi_type_scale(layers, entry, type, PPSCHED_KIND_W);
            stages[s].kept += least_kept(own);
            stages[s].largest = max(stages[s].largest, own->mem_forward - least_kept(own));
        }
    }
}

/* Stages of a device: on a loop d, d + p and so on; on a V d and 2p - 1 - d. */
static uint32_t stage_of(const ppsched_pipeline *pipeline, uint32_t device, uint32_t chunk, bool is_v)
{
    return is_v && chunk == 1 ? 2 * pipeline->devices - 1 - device : chunk * pipeline->devices + device;
}

/* What devices do once, and `exposed` of data parallelism; of the present device what its sharded weights take beyond its work,
 * which is less where recomputation adds to that. */
struct once {
    double optimizer, exposed, beyond;
};

static void add_once(struct once *once, const struct ppi_pricing *pricing, uint32_t device, bool is_v, double busy)
{
    const ppsched_model *model = pricing->model;
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    struct ppi_priced_stage sizes = {0};
    double gradients = 0, gathers = 0;
    ppsched_update_cost cost;
    for (uint32_t chunk = 0; chunk < pipeline->chunks; chunk++) {
        const struct ppi_priced_stage *stage = &pricing->stages[stage_of(pipeline, device, chunk, is_v)];
        sizes.parameters += stage->parameters;
        sizes.expert_parameters += stage->expert_parameters;
        sizes.trained += stage->trained;
        sizes.expert_trained += stage->expert_trained;
        ppi_pricing_update(&cost, pricing, device, stage);
        gradients += cost.gradient_time;
        gathers += cost.parameter_time;
    }
    ppi_pricing_update(&cost, pricing, device, &sizes);
    once->optimizer = max(once->optimizer, cost.optimizer_time);
    bool hides_sums = (model->training.flags & PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS) != 0,
         hides_gathers = (model->training.flags & PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS) != 0;
    if (model->training.sharding == 3) {
        double times = pipeline->microbatches, beside = times * ((hides_sums ? gradients : 0) + (hides_gathers ? gathers : 0));
        once->beyond = times * (gradients + gathers) - (beside < busy ? beside : busy);
        return;
    }
    once->exposed = max(once->exposed, (hides_sums ? 0 : gradients) + (hides_gathers ? 0 : gathers));
}

static double time_bound(const struct ppi_pricing *pricing, const struct stage *stages, bool splits_backward, bool is_v)
{
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    double before = 0, after = 0, longest = 0, times = pipeline->microbatches, scale = ppi_pricing_scale(pricing);
    struct once once = {0, 0, 0};
    for (uint32_t d = 0; d < pipeline->devices; d++) {
        double forward = 0, input = 0, weight = 0;
        for (uint32_t chunk = 0; chunk < pipeline->chunks; chunk++) {
            const struct stage *own = &stages[stage_of(pipeline, d, chunk, is_v)];
            forward += own->forward;
            input += own->input;
            weight += own->weight;
        }
        double busy = times * (forward + input + weight);
        double time = splits_backward ? max(before + busy, before + times * (forward + input) + after) : before + busy + after;
        add_once(&once, pricing, d, is_v, busy);
        longest = max(longest, time * scale + once.beyond);
        before += stages[d].forward;
        after += stages[d].input + (splits_backward ? 0 : stages[d].weight);
    }
    return longest + once.optimizer + once.exposed;
}

/* What a device of memory `out->limit` needs at least, if it lacks more of it than others. */
static void keep_fullest(struct ppi_job_bound *out, const struct ppi_pricing *pricing, uint32_t device, double bytes,
                         double limit)
{
    double own = pricing->types != NULL ? pricing->types->limits[ppi_pricing_type(pricing->types, device)] : limit;
    if (device > 0 && bytes - out->memory <= own - out->limit) /* exact where all limits are equal */
        return;
    out->memory = bytes;
    out->limit = own;
}

/* With one stage each and a rule a device holds as many microbatches as there are devices from it to the last; else at least
 * one when its first backward runs. The fullest device decides. */
static struct ppi_job_bound memory_bound(const struct ppi_pricing *pricing, const struct stage *stages, double limit,
                                         bool searches, bool is_v)
{
    const ppsched_pipeline *pipeline = &pricing->pipeline;
    struct ppi_job_bound most = {0, 0, limit};
    for (uint32_t d = 0; d < pipeline->devices; d++) {
        double bytes = 0, largest = 0, whole = 0;
        uint32_t held = pipeline->devices - d;
        held = pipeline->chunks > 1 || searches ? 1 : held < pipeline->microbatches ? held : pipeline->microbatches;
        for (uint32_t chunk = 0; chunk < pipeline->chunks; chunk++) {
            uint32_t s = stage_of(pipeline, d, chunk, is_v);
            const struct ppi_priced_stage *stage = &pricing->stages[s];
            bytes += stage->weights + stage->gradients + stage->optimizer + stage->logit_gradients + held * stages[s].kept;
            largest = stages[s].largest; /* of the last, whose backward comes first: then all others are held */
            whole = max(whole, stage->largest);
        }
        keep_fullest(&most, pricing, d, bytes + largest + (pricing->model->training.sharding == 3 ? 2 * whole : 0), limit);
    }
    return most;
}

double ppi_job_buffers(const struct ppi_priced_model *made, uint32_t devices)
{
    double most = 0;
    for (uint32_t e = 0; e < made->layers->entry_count; e++)
        most = max(most, made->layers->entries[e].given.output_bytes);
    return devices > 1 ? 4 * most : 0;
}

ppsched_status ppi_job_bound(struct ppi_job_bound *out, const struct ppi_priced_model *made,
                             const struct ppi_pipeline_types *types, double limit, const ppsched_pipeline *pipeline,
                             struct ppi_job_traits traits, ppsched_error *error)
{
    struct ppi_pricing pricing = {.arena = {.host = &made->model->host},
                                  .made = made,
                                  .types = types,
                                  .model = made->model,
                                  .layers = made->layers,
                                  .pipeline = *pipeline};
    pricing.stage_count = pipeline->devices * pipeline->chunks;
    ppsched_status status = ppi_pricing_lay_out(&pricing, error);
    struct stage *stages = ppi_arena_take_zeroed(&pricing.arena, pricing.stage_count, sizeof *stages);
    if (status == PPSCHED_OK)
        status = ppi_arena_check(&pricing.arena, "the bound", error);
    if (status == PPSCHED_OK) {
        sum_stages(stages, &pricing, false);
        *out = memory_bound(&pricing, stages, limit, traits.searches, false);
        out->time = time_bound(&pricing, stages, traits.splits_backward, false);
        if (pipeline->chunks == 2) {
            if (types != NULL)
                sum_stages(stages, &pricing, true);
            struct ppi_job_bound other = memory_bound(&pricing, stages, limit, traits.searches, true);
            double time = time_bound(&pricing, stages, traits.splits_backward, true),
                   least = time < out->time ? time : out->time;
            if (other.memory - out->memory < other.limit - out->limit)
                *out = other;
            out->time = least;
        }
        out->time *= 1 - 0x1p-40; /* the schedule's sums round otherwise */
        out->memory = out->memory * (1 - 0x1p-40) + ppi_job_buffers(made, pipeline->devices);
    }
    ppi_arena_clear(&pricing.arena);
    return status;
}
