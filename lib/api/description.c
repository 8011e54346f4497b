/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: descriptions of models. */
#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/writer.h"
#include "description/description.h"
#include "description/huggingface.h"
#include "description/json.h"
#include "description/transformer.h"

/* --- the caller's structs --- */

static ppsched_status fail_null(const char *what, uint32_t index, ppsched_error *error)
{
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_description_info: %s, entry %u, is NULL", what, index);
}

/* Copies of the blocks of a kind, in this library's version of the struct. */
static ppsched_status take_kind(ppsched_layer_kind *kind, struct ppi_arena *arena, const ppsched_layer_kind *given,
                                ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(kind, sizeof *kind, sizeof *kind, given, "ppsched_layer_kind", error);
    if (status != PPSCHED_OK)
        return status;
    if (kind->block_count > PPSCHED_MAX_BLOCKS || (kind->block_count > 0 && kind->blocks == NULL))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "ppsched_layer_kind: block_count is %u; it must be 0 to %d, with that many blocks", kind->block_count,
                        PPSCHED_MAX_BLOCKS);
    ppsched_block *blocks = ppi_arena_take(arena, kind->block_count, sizeof *blocks);
    const ppsched_block **list = ppi_arena_take(arena, kind->block_count, sizeof *list);
    for (uint32_t i = 0; i < kind->block_count && blocks != NULL && list != NULL && status == PPSCHED_OK; i++) {
        list[i] = &blocks[i];
        status = kind->blocks[i] == NULL
                     ? fail_null("blocks", i, error)
                     : ppi_take_sized(&blocks[i], sizeof blocks[i], sizeof blocks[i], kind->blocks[i], "ppsched_block", error);
    }
    kind->blocks = list;
    return status;
}

static ppsched_status take_kinds(ppsched_description_info *info, struct ppi_arena *arena, ppsched_error *error)
{
    ppsched_layer_kind *kinds = ppi_arena_take(arena, info->kind_count, sizeof *kinds);
    const ppsched_layer_kind **list = ppi_arena_take(arena, info->kind_count, sizeof *list);
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < info->kind_count && kinds != NULL && list != NULL && status == PPSCHED_OK; i++) {
        list[i] = &kinds[i];
        status = info->kinds[i] == NULL ? fail_null("kinds", i, error) : take_kind(&kinds[i], arena, info->kinds[i], error);
    }
    info->kinds = list;
    return status;
}

static ppsched_status take_towers(ppsched_description_info *info, struct ppi_arena *arena, ppsched_error *error)
{
    ppsched_tower *towers = ppi_arena_take(arena, info->tower_count, sizeof *towers);
    ppsched_layer_kind *kinds = ppi_arena_take(arena, info->tower_count, sizeof *kinds);
    const ppsched_tower **list = ppi_arena_take(arena, info->tower_count, sizeof *list);
    ppsched_status status = ppi_arena_check(arena, "the description", error);
    for (uint32_t i = 0; i < info->tower_count && status == PPSCHED_OK; i++) {
        list[i] = &towers[i];
        status = info->towers[i] == NULL
                     ? fail_null("towers", i, error)
                     : ppi_take_sized(&towers[i], sizeof towers[i], PPI_SIZE_UP_TO(ppsched_tower, extra_parameters),
                                      info->towers[i], "ppsched_tower", error);
        if (status == PPSCHED_OK)
            status = towers[i].kind == NULL ? fail_null("the kind of towers", i, error)
                                            : take_kind(&kinds[i], arena, towers[i].kind, error);
        towers[i].kind = &kinds[i];
    }
    info->towers = list;
    return status == PPSCHED_OK ? ppi_arena_check(arena, "the description", error) : status;
}

/* Lists whose counts are above what any model has are refused before they are read. */
static ppsched_status check_lists(const ppsched_description_info *info, ppsched_error *error)
{
    if (info->layers == NULL || info->kinds == NULL || (info->tower_count > 0 && info->towers == NULL))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_description_info: layers, kinds or towers is NULL");
    if (info->kind_count > PPSCHED_MAX_LAYER_KINDS || info->tower_count > PPI_MOST_TOWERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "ppsched_description_info: kind_count is %u, tower_count %u; they must be up to %d and %d",
                        info->kind_count, info->tower_count, PPSCHED_MAX_LAYER_KINDS, PPI_MOST_TOWERS);
    if (info->layer_count > PPI_MOST_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of layers is %u; it must be 1 to %d", info->layer_count,
                        PPI_MOST_LAYERS);
    return PPSCHED_OK;
}

/* --- making one --- */

ppsched_status ppsched_description_create(const ppsched_description **out, const ppsched_description_info *info,
                                          const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_description_info own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(info);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, info, "ppsched_description_info", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    if (status == PPSCHED_OK)
        status = check_lists(&own, error);
    if (status != PPSCHED_OK)
        return status;
    struct ppi_arena arena = {.host = &host};
    status = take_kinds(&own, &arena, error);
    if (status == PPSCHED_OK)
        status = take_towers(&own, &arena, error);
    if (status == PPSCHED_OK)
        status = ppi_description_create(out, &own, NULL, 0, &host, error);
    ppi_arena_clear(&arena);
    return status;
}

ppsched_status ppsched_description_read(const ppsched_description **out, const char *text, size_t length,
                                        const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    PPI_REQUIRE(out);
    PPI_REQUIRE(text);
    ppsched_status status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_description_read(out, text, length, &host, error) : status;
}

ppsched_status ppsched_description_guess(const ppsched_description **out, const char *text, size_t length,
                                         const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    PPI_REQUIRE(out);
    PPI_REQUIRE(text);
    ppsched_status status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_description_guess(out, text, length, &host, error) : status;
}

ppsched_status ppsched_description_from_transformer(const ppsched_description **out, const ppsched_transformer *transformer,
                                                    const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_transformer shape;
    PPI_REQUIRE(out);
    PPI_REQUIRE(transformer);
    ppsched_status status = ppi_take_sized(&shape, sizeof shape, sizeof shape, transformer, "ppsched_transformer", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_description_from_transformer(out, &shape, &host, error) : status;
}

const ppsched_description *ppsched_description_retain(const ppsched_description *description)
{
    if (description != NULL)
        ppi_description_retain(description);
    return description;
}

void ppsched_description_release(const ppsched_description *description)
{
    ppi_description_release(description);
}

/* --- reading one --- */

ppsched_status ppsched_description_get_info(ppsched_description_info *out, const ppsched_description *description,
                                            ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(description);
    return ppi_give_sized(out, &description->info, sizeof description->info, sizeof description->info,
                          "ppsched_description_info", error);
}

uint32_t ppsched_description_warning_count(const ppsched_description *description)
{
    return description != NULL ? description->warning_count : 0;
}

const char *ppsched_description_warning_at(const ppsched_description *description, uint32_t index)
{
    return description != NULL && index < description->warning_count ? description->warnings[index] : NULL;
}

ppsched_status ppsched_description_write(const ppsched_description *description, ppsched_write_function write, void *user,
                                         ppsched_error *error)
{
    struct ppi_writer writer;
    PPI_REQUIRE(description);
    PPI_REQUIRE(write);
    ppi_writer_start(&writer, write, user);
    ppi_write_description(&writer, description);
    return ppi_writer_finish(&writer, error);
}

uint32_t ppsched_model_family_count(void)
{
    return ppi_family_count();
}

const char *ppsched_model_family_at(uint32_t index)
{
    return ppi_family_at(index);
}
