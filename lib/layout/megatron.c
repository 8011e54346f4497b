/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's split without a layout string, with its checks: validate_args of megatron/training/arguments.py, __post_init__
 * of TransformerConfig, get_num_layers_to_build and get_mtp_num_layers_to_build. Where Megatron-LM accepts what cannot be
 * (layers below 0, a division by 0, layers that no device gets), this refuses. */
#include "layout/layout.h"

#include <ppsched/config.h>

#include "base/error.h"

/* A split under construction. Counts are of decoders, or of layers that count as one. */
struct split {
    ppsched_megatron_split flags;
    int64_t decoders, devices;
    int64_t accounted;           /* decoders, and the embedding and head if they count as one */
    int64_t chunks;              /* per device */
    int64_t first, middle, last; /* per chunk of the first device, of the middle ones, of the last */
};

#define REFUSE(...) return ppi_fail(error, PPSCHED_ERROR_REFUSED, __VA_ARGS__)

static bool is_uneven(const struct split *split)
{
    return split->flags.first_decoders > 0 || split->flags.last_decoders > 0;
}

/* --- flags --- */

static ppsched_status check_numbers(const struct split *split, ppsched_error *error)
{
    const ppsched_megatron_split *flags = &split->flags;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"the number of decoders", split->decoders}, {"layers_per_chunk", flags->layers_per_chunk},
                   {"the number of chunks", flags->chunks},     {"first_decoders", flags->first_decoders},
                   {"last_decoders", flags->last_decoders},     {"mtps", flags->mtps}};
    ppsched_status status = ppi_layout_check_size("devices", split->devices, error);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == PPSCHED_OK; i++)
        status = ppi_layout_check_layers(numbers[i].name, numbers[i].value, error);
    return status;
}

static ppsched_status check_pairs(const struct split *split, ppsched_error *error)
{
    const ppsched_megatron_split *flags = &split->flags;
    if (flags->layers_per_chunk > 0 && flags->chunks > 0)
        REFUSE("layers_per_chunk and chunks are both given; Megatron-LM accepts only one of them");
    if (flags->layers_per_chunk > 0 && is_uneven(split))
        REFUSE("layers_per_chunk cannot be combined with first_decoders and last_decoders; give chunks instead");
    if (is_uneven(split) && split->accounted != split->decoders)
        REFUSE("first_decoders and last_decoders cannot be combined with ends that count as decoders; give either");
    return PPSCHED_OK;
}

/* --- chunks --- */

static ppsched_status check_multiple(const char *what, int64_t count, const char *parts, int64_t by, ppsched_error *error)
{
    if (count % by == 0)
        return PPSCHED_OK;
    int64_t least = count - count % by;
    if (least == 0)
        REFUSE("%s: %lld decoder%p cannot be divided by %lld %s; %lld can", what, (long long)count, (long long)by, parts,
               (long long)by);
    REFUSE("%s: %lld decoder%p cannot be divided by %lld %s; %lld and %lld can", what, (long long)count, (long long)by, parts,
           (long long)least, (long long)(least + by));
}

/* Checks that decoders, together with ends that count as one each, divide by the devices. */
static ppsched_status check_accounted(const struct split *split, ppsched_error *error)
{
    int64_t ends = split->accounted - split->decoders, least = split->accounted - split->accounted % split->devices - ends;
    if (ends == 0)
        return check_multiple("the model", split->decoders, "devices", split->devices, error);
    if (split->accounted % split->devices == 0)
        return PPSCHED_OK;
    if (least <= 0)
        REFUSE("the model: %lld decoder%p, and %s, cannot be divided by %lld device%p; %lld decoder%p can",
               (long long)split->decoders, ends == 1 ? "an end that counts as one" : "both ends that count as one each",
               (long long)split->devices, (long long)(least + split->devices));
    REFUSE("the model: %lld decoder%p, and %s, cannot be divided by %lld device%p; %lld and %lld decoder%p can",
           (long long)split->decoders, ends == 1 ? "an end that counts as one" : "both ends that count as one each",
           (long long)split->devices, (long long)least, (long long)(least + split->devices));
}

static ppsched_status find_chunks(struct split *split, ppsched_error *error)
{
    const ppsched_megatron_split *flags = &split->flags;
    ppsched_status status = PPSCHED_OK;
    split->chunks = flags->chunks > 0 ? flags->chunks : 1;
    if (!is_uneven(split))
        status = check_accounted(split, error);
    if (status != PPSCHED_OK || flags->layers_per_chunk == 0)
        return status;
    int64_t each = split->accounted / split->devices;
    split->chunks = each / flags->layers_per_chunk;
    if (each == 0)
        REFUSE("layers_per_chunk is %lld, and there are no layers; leave it out", (long long)flags->layers_per_chunk);
    if (each % flags->layers_per_chunk != 0)
        REFUSE("layers_per_chunk %lld does not divide the %lld layer%p of a device; give one that does",
               (long long)flags->layers_per_chunk, (long long)each);
    return PPSCHED_OK;
}

static ppsched_status check_chunks(const struct split *split, ppsched_error *error)
{
    if (split->chunks > 1 && split->devices < 2)
        REFUSE("%lld chunk%p per device need more than 1 device; take more, or 1 chunk", (long long)split->chunks);
    if (split->chunks > 1 && split->devices < 3 && split->flags.no_overlap == 1)
        REFUSE(
            "%lld chunk%p per device need more than 2 devices where communication does not overlap; take more, or 1 chunk, or "
            "let it overlap",
            (long long)split->chunks);
    return ppi_layout_check_size("stages", split->devices * split->chunks, error);
}

/* --- shares --- */

static ppsched_status share_evenly(struct split *split, ppsched_error *error)
{
    int64_t each = split->accounted / split->devices;
    split->first = split->middle = split->last = each / split->chunks;
    return check_multiple("each device", each, "chunks", split->chunks, error);
}

/* Divides what is left among the `count` devices without a given number. */
static ppsched_status share_rest(struct split *split, int64_t rest, int64_t count, ppsched_error *error)
{
    if (rest < 0)
        REFUSE("first_decoders and last_decoders take %lld of %lld decoder%p; they must leave 0 or more",
               (long long)(split->decoders - rest), (long long)split->decoders);
    if (count < 0)
        REFUSE("there is only one device, but first_decoders and last_decoders are both given; give one of them, or neither");
    if (count == 0 && rest > 0)
        REFUSE("first_decoders and last_decoders leave %lld decoder%s, and no device for them; they must take all %lld",
               (long long)rest, rest == 1 ? "" : "s", (long long)split->decoders);
    if (count > 0 && rest == 0)
        REFUSE("first_decoders and last_decoders leave nothing for the other %lld device%s; they must take fewer than %lld",
               (long long)count, count == 1 ? "" : "s", (long long)split->decoders);
    if (count == 0)
        return PPSCHED_OK;
    ppsched_status status = check_multiple("the other devices", rest, "devices", count, error);
    split->middle = rest / count / split->chunks;
    return status == PPSCHED_OK ? check_multiple("each of the other devices", rest / count, "chunks", split->chunks, error)
                                : status;
}

static ppsched_status share_unevenly(struct split *split, ppsched_error *error)
{
    const ppsched_megatron_split *flags = &split->flags;
    bool has_first = flags->first_decoders > 0, has_last = flags->last_decoders > 0;
    ppsched_status status = check_multiple("first_decoders", flags->first_decoders, "chunks", split->chunks, error);
    if (status == PPSCHED_OK)
        status = check_multiple("last_decoders", flags->last_decoders, "chunks", split->chunks, error);
    if (status == PPSCHED_OK)
        status = share_rest(split, split->decoders - flags->first_decoders - flags->last_decoders,
                            split->devices - has_first - has_last, error);
    if (status != PPSCHED_OK)
        return status;
    if (has_first && has_last && split->devices == 2 && split->chunks > 1)
        REFUSE(
            "with 2 devices Megatron-LM supports first_decoders and last_decoders together only for 1 chunk per device; give "
            "one of them");
    split->first = has_first ? flags->first_decoders / split->chunks : split->middle;
    split->last = has_last ? flags->last_decoders / split->chunks : split->middle;
    return PPSCHED_OK;
}

/* --- the layout --- */

static void fill(ppsched_layout *layout, const struct split *split)
{
    uint32_t last = layout->devices - 1;
    for (uint32_t s = 0; s < layout->count; s++) {
        uint32_t device = s % layout->devices;
        bool is_first = device == 0 && (split->flags.first_decoders > 0 || split->flags.last_decoders == 0);
        layout->stages[s].decoders = (uint32_t)(is_first ? split->first : device == last ? split->last : split->middle);
    }
    layout->stages[0].embeddings = 1;
    layout->stages[0].decoders -= split->flags.account_for_embedding;
    layout->stages[layout->count - 1].mtps = (uint32_t)split->flags.mtps;
    layout->stages[layout->count - 1].heads = 1;
    layout->stages[layout->count - 1].decoders -= split->flags.account_for_loss;
}

ppsched_status ppi_layout_from_megatron(ppsched_layout **out, int64_t decoders, int64_t devices,
                                        const ppsched_megatron_split *flags, const struct ppi_host *host, ppsched_error *error)
{
    struct split split = {.flags = *flags, .decoders = decoders, .devices = devices};
    ppsched_status status = check_numbers(&split, error);
    if (status == PPSCHED_OK) {
        split.accounted = decoders + flags->account_for_embedding + flags->account_for_loss;
        status = check_pairs(&split, error);
    }
    if (status == PPSCHED_OK)
        status = find_chunks(&split, error);
    if (status == PPSCHED_OK)
        status = check_chunks(&split, error);
    if (status == PPSCHED_OK)
        status = is_uneven(&split) ? share_unevenly(&split, error) : share_evenly(&split, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_layout *layout = ppi_layout_allocate(host, (uint32_t)devices, (uint32_t)(devices * split.chunks));
    if (layout == NULL)
        return ppi_fail_memory(error, "a layout");
    fill(layout, &split);
    return ppi_layout_finish(out, layout, error);
}
