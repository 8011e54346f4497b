/* SPDX-License-Identifier: Apache-2.0 */
/* Counts layers as they come and records only the places that an error message may need; the rules are checked at the end. */
#include "layout/tally.h"

#include <stdbool.h>

#include <ppsched/config.h>

#include "base/error.h"
#include "base/format.h"

#define NO_PLACE ((struct ppi_layer_place){PPSCHED_NONE, PPSCHED_NONE})

void ppi_tally_start(struct ppi_tally *tally, ppsched_layout_stage *stages)
{
    *tally = (struct ppi_tally){.stages = stages,
                                .first_place = NO_PLACE,
                                .last_place = NO_PLACE,
                                .second_embedding = NO_PLACE,
                                .second_head = NO_PLACE,
                                .late_decoder = NO_PLACE,
                                .mtp = NO_PLACE,
                                .other_mtp = NO_PLACE};
}

/* --- counting --- */

static void keep_first(struct ppi_layer_place *kept, bool is_one, struct ppi_layer_place place)
{
    if (is_one && kept->stage == PPSCHED_NONE)
        *kept = place;
}

static void put_embeddings(struct ppi_tally *tally, uint32_t count, struct ppi_layer_place place)
{
    keep_first(&tally->second_embedding, tally->embeddings + count > 1, place);
    tally->embeddings += count;
    if (tally->stages != NULL)
        tally->stages[place.stage].embeddings += count;
}

static void put_decoders(struct ppi_tally *tally, uint32_t count, struct ppi_layer_place place)
{
    keep_first(&tally->late_decoder, tally->mtps > 0, place);
    tally->decoders += count;
    if (tally->stages != NULL)
        tally->stages[place.stage].decoders += count;
}

static void put_mtps(struct ppi_tally *tally, uint32_t count, struct ppi_layer_place place)
{
    keep_first(&tally->other_mtp, tally->mtps > 0 && place.stage != tally->mtp.stage, place);
    keep_first(&tally->mtp, true, place);
    tally->mtps += count;
    if (tally->stages != NULL)
        tally->stages[place.stage].mtps += count;
}

static void put_heads(struct ppi_tally *tally, uint32_t count, struct ppi_layer_place place)
{
    keep_first(&tally->second_head, tally->heads + count > 1, place);
    tally->heads += count;
    if (tally->stages != NULL)
        tally->stages[place.stage].heads += count;
}

static ppsched_status put_bars(struct ppi_tally *tally, size_t count, uint32_t position, ppsched_error *error)
{
    if (count > PPSCHED_MAX_STAGES - 1 - tally->stage)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, position},
                           "the layout has more than %u stage%p, by the bars at position %u; write fewer", PPSCHED_MAX_STAGES,
                           position);
    tally->stage += (uint32_t)count;
    return PPSCHED_OK;
}

ppsched_status ppi_tally_put(struct ppi_tally *tally, char kind, size_t count, uint32_t position, ppsched_error *error)
{
    const struct ppi_layer_place place = {tally->stage, position};
    if (count == 0)
        return PPSCHED_OK;
    if (kind == '|')
        return put_bars(tally, count, position, error);
    if (count > PPSCHED_MAX_LAYOUT_LAYERS - tally->layers)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, place.stage, PPSCHED_NONE, position},
                           "the layout has more than %u layer%p up to stage %u; write fewer", PPSCHED_MAX_LAYOUT_LAYERS,
                           place.stage);
    if (tally->layers == 0) {
        tally->first = kind;
        tally->first_place = place;
    }
    tally->last = kind;
    tally->last_place = place;
    tally->layers += (uint32_t)count;
    (kind == 'E'   ? put_embeddings
     : kind == 't' ? put_decoders
     : kind == 'm' ? put_mtps
                   : put_heads)(tally, (uint32_t)count, place);
    return PPSCHED_OK;
}

/* --- rules --- */

/* REFUSED at a place; the message says `what` before it and `advice` after it. */
static ppsched_status refuse(struct ppi_layer_place place, const char *what, const char *advice, ppsched_error *error)
{
    char position[40] = "";
    if (place.position != PPSCHED_NONE)
        ppi_print(position, sizeof position, " (position %u of the text)", place.position);
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED,
                       (struct ppi_place){PPSCHED_NONE, place.stage, PPSCHED_NONE, place.position}, "%s in stage %u%s; %s",
                       what, place.stage, position, advice);
}

static const char *name_of(char kind)
{
    return kind == 'E' ? "an embedding (E)" : kind == 't' ? "a decoder (t)" : kind == 'm' ? "an MTP layer (m)" : "a head (L)";
}

static ppsched_status check_stages_of_ranks(uint32_t stages, uint32_t devices, const ppsched_layout_rules *rules,
                                            ppsched_error *error)
{
    uint32_t chunks = stages / devices, least = rules->no_overlap == 1 ? 2 : 1;
    if (stages % devices != 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "the layout has %u stage%s for %u device%p; it must be a multiple, such as %u stage%p", stages,
                        stages == 1 ? "" : "s", devices, (chunks + 1) * devices);
    if (rules->chunks != 0 && rules->chunks != chunks)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "the layout has %u stage%p, %u per device, not %lld; ask for %u, or for any number", stages, chunks,
                        (long long)rules->chunks, chunks);
    if (rules->launcher == 1 && chunks > 1 && devices <= least)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stage%p per device need more than %s; use more devices, or one stage per device", chunks,
                        least == 1 ? "1 device" : "2 devices where communication does not overlap");
    return PPSCHED_OK;
}

static ppsched_status check_ends(const struct ppi_tally *tally, ppsched_error *error)
{
    char what[64];
    if (tally->layers == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the layout has no layer; the shortest is EL, an embedding and a head");
    ppi_print(what, sizeof what, "the first layer is %s,", name_of(tally->first));
    if (tally->first != 'E')
        return refuse(tally->first_place, what, "put the embedding (E) first", error);
    ppi_print(what, sizeof what, "the last layer is %s,", name_of(tally->last));
    if (tally->last != 'L')
        return refuse(tally->last_place, what, "put the head (L) last", error);
    if (tally->embeddings > 1)
        return refuse(tally->second_embedding, "there is another embedding (E)", "leave one, the first layer", error);
    if (tally->heads > 1)
        return refuse(tally->second_head, "there is a head (L) too many", "leave one, the last layer", error);
    return PPSCHED_OK;
}

static ppsched_status check_count(const char *what, uint32_t found, int64_t asked, bool none, ppsched_error *error)
{
    if ((asked == 0 && !none) || asked == found)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the number of %s in the layout is %u, that of the model %lld; %s %lld", what,
                    found, (long long)asked, asked > found ? "add" : "take out",
                    (long long)(asked > found ? asked - found : found - asked));
}

static ppsched_status check_mtps(const struct ppi_tally *tally, uint32_t devices, ppsched_error *error)
{
    char what[64], advice[96];
    uint32_t last = tally->stage + 1 - devices;
    if (tally->mtps == 0)
        return PPSCHED_OK;
    if (tally->late_decoder.stage != PPSCHED_NONE)
        return refuse(tally->late_decoder, "there is a decoder (t) after an MTP layer (m),", "put all decoders before it",
                      error);
    ppi_print(advice, sizeof advice, "put all in one stage, %u or a later one", last);
    if (tally->other_mtp.stage != PPSCHED_NONE) {
        ppi_print(what, sizeof what, "there is an MTP layer (m) in stage %u and another", tally->mtp.stage);
        return refuse(tally->other_mtp, what, advice, error);
    }
    ppi_print(advice, sizeof advice, "put it in the last chunk of its device, which is stage %u or a later one", last);
    return tally->mtp.stage < last ? refuse(tally->mtp, "there is an MTP layer (m)", advice, error) : PPSCHED_OK;
}

ppsched_status ppi_tally_check(const struct ppi_tally *tally, uint32_t devices, const ppsched_layout_rules *rules,
                               ppsched_error *error)
{
    ppsched_status status = check_stages_of_ranks(tally->stage + 1, devices, rules, error);
    if (status == PPSCHED_OK)
        status = check_ends(tally, error);
    if (status == PPSCHED_OK)
        status = check_count("decoders (t)", tally->decoders, rules->decoders, rules->no_decoders == 1, error);
    if (status == PPSCHED_OK)
        status = check_count("MTP layers (m)", tally->mtps, rules->mtps, rules->no_mtps == 1, error);
    return status == PPSCHED_OK ? check_mtps(tally, devices, error) : status;
}
