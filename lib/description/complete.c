/* SPDX-License-Identifier: Apache-2.0 */
/* Checks all numbers of a description by the table of blocks, and fills in defaults. */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "description/block_table.h"
#include "description/description.h"

enum { MOST_NORMS = 16, MOST_STREAMS = 64, MOST_TOWERS = 16, MOST_MTP = 32 };
static const uint64_t most_parameters = (uint64_t)1 << 53;

/* Where a block stands, for messages. */
struct spot {
    const char *name; /* of its kind, or of its tower */
    uint32_t block;
    uint32_t hidden;
};

static bool has_block_flag(const ppsched_block *block, uint32_t flag)
{
    return (block->flags & flag) != 0;
}

/* --- one block --- */

static ppsched_status fail_number(const struct spot *spot, const ppsched_block *block, const char *name, uint32_t value,
                                  uint32_t least, uint32_t most, ppsched_error *error)
{
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q, block %u (%s): %s is %u; it must be %u to %u", spot->name,
                    spot->block, ppi_block_kinds[block->kind], name, value, least, most);
}

/* `rule` is what is wrong, and what would work. */
static ppsched_status fail_block(const struct spot *spot, const ppsched_block *block, const char *rule, ppsched_error *error)
{
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q, block %u (%s): %s", spot->name, spot->block,
                    ppi_block_kinds[block->kind], rule);
}

static ppsched_status check_numbers(const struct spot *spot, const ppsched_block *block, ppsched_error *error)
{
    uint32_t kind = 1u << block->kind;
    for (size_t i = 0; i < PPI_BLOCK_FIELDS; i++) {
        const struct ppi_block_field *field = &ppi_block_fields[i];
        uint32_t value = ppi_block_number_of(block, field), most = i == 0 ? MOST_NORMS : PPI_MOST_COUNT;
        if ((field->kinds & kind) == 0 && value > 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q, block %u (%s): it has no %s, which is %u; leave it out",
                            spot->name, spot->block, ppi_block_kinds[block->kind], field->name, value);
        if (value > most || ((field->needed & kind) != 0 && value == 0))
            return fail_number(spot, block, field->name, value, (field->needed & kind) != 0, most, error);
    }
    return PPSCHED_OK;
}

static ppsched_status check_flags(const struct spot *spot, const ppsched_block *block, ppsched_error *error)
{
    uint32_t kind = 1u << block->kind, known = 0;
    for (size_t i = 0; i < PPI_BLOCK_FLAGS; i++) {
        const struct ppi_block_flag *flag = &ppi_block_flags[i];
        known |= flag->flag;
        if (has_block_flag(block, flag->flag) && (flag->kinds & kind) == 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q, block %u (%s): it has no %s; leave it out", spot->name,
                            spot->block, ppi_block_kinds[block->kind], flag->name);
    }
    if ((block->flags & ~known) != 0)
        return fail_number(spot, block, "flags", block->flags, 0, known, error);
    if (has_block_flag(block, PPSCHED_BLOCK_FLAG_PARALLEL) && spot->block == 0)
        return fail_block(spot, block, "parallel needs a block before it, and the first block has none", error);
    if (has_block_flag(block, PPSCHED_BLOCK_FLAG_FREE_NORMS) && !has_block_flag(block, PPSCHED_BLOCK_FLAG_QK_NORM))
        return fail_block(spot, block, "free_norms needs qk_norm; give both", error);
    if (has_block_flag(block, PPSCHED_BLOCK_FLAG_QK_NORM) && has_block_flag(block, PPSCHED_BLOCK_FLAG_QK_NORM_ALL))
        return fail_block(spot, block, "qk_norm and qk_norm_all exclude each other; give one of them", error);
    return PPSCHED_OK;
}

static void complete_heads(ppsched_block *block, uint32_t hidden)
{
    if (block->heads > 0 && block->head_size == 0)
        block->head_size = hidden / block->heads;
    if (block->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION)
        block->key_value_heads = 0;
    else if (block->kind == PPSCHED_BLOCK_KIND_ATTENTION || block->kind == PPSCHED_BLOCK_KIND_DELTA)
        block->key_value_heads = block->key_value_heads > 0 ? block->key_value_heads : block->heads;
    bool has_values = block->kind == PPSCHED_BLOCK_KIND_ATTENTION || block->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION ||
                      block->kind == PPSCHED_BLOCK_KIND_DELTA;
    if (has_values && block->value_size == 0)
        block->value_size = block->head_size;
}

static ppsched_status check_heads(const struct spot *spot, const ppsched_block *block, ppsched_error *error)
{
    if (block->heads > 0 && block->head_size == 0 && spot->hidden % block->heads != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "kind %q, block %u (%s): %u head%p do not divide hidden_size %u; give head_size", spot->name,
                        spot->block, ppi_block_kinds[block->kind], block->heads, spot->hidden);
    if (block->key_value_heads > 0 && block->heads % block->key_value_heads != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q, block %u (%s): key_value_heads %u does not divide %u head%p",
                        spot->name, spot->block, ppi_block_kinds[block->kind], block->key_value_heads, block->heads);
    return PPSCHED_OK;
}

/* The index is whole or not there. */
static ppsched_status check_index(const struct spot *spot, const ppsched_block *block, ppsched_error *error)
{
    bool some = (block->index_heads | block->index_size | block->index_tokens) != 0;
    if (some && (block->index_heads == 0 || block->index_size == 0 || block->index_tokens == 0))
        return fail_block(spot, block, "index_heads, index_size and index_tokens must all be given, or none", error);
    if (has_block_flag(block, PPSCHED_BLOCK_FLAG_SHARED_INDEX) && !some)
        return fail_block(spot, block, "shared_index needs an index; give index_heads, index_size and index_tokens", error);
    if (some && block->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION && block->query_rank == 0)
        return fail_block(spot, block, "an index needs the rank of queries; give query_rank", error);
    if (some && block->kind == PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION && block->ratio == 0)
        return fail_block(spot, block, "an index needs compressed tokens; give ratio", error);
    return PPSCHED_OK;
}

static ppsched_status complete_mamba(const struct spot *spot, ppsched_block *block, ppsched_error *error)
{
    if (block->kind != PPSCHED_BLOCK_KIND_MAMBA)
        return PPSCHED_OK;
    if (has_block_flag(block, PPSCHED_BLOCK_FLAG_MAMBA_1)) {
        if (block->width == 0 || block->time_step_rank == 0)
            return fail_block(spot, block, "Mamba's first version needs width and time_step_rank", error);
        return (block->heads | block->head_size | block->groups) == 0
                   ? PPSCHED_OK
                   : fail_block(spot, block, "Mamba's first version has no heads, head_size and groups; leave them out", error);
    }
    if (block->heads == 0 || block->time_step_rank > 0)
        return fail_block(spot, block,
                          "Mamba-2 needs heads and has no time_step_rank; the first version of Mamba has the flag mamba_1",
                          error);
    block->groups = block->groups > 0 ? block->groups : 1;
    uint64_t width = (uint64_t)block->heads * block->head_size;
    if (block->width > 0 && block->width != width)
        return fail_block(spot, block, "width must be heads times head_size; leave it out", error);
    if (width > PPI_MOST_COUNT)
        return fail_block(spot, block, "heads times head_size must be up to 1048576", error);
    block->width = (uint32_t)width;
    return block->heads % block->groups == 0 ? PPSCHED_OK : fail_block(spot, block, "groups must divide heads", error);
}

static ppsched_status check_rest(const struct spot *spot, const ppsched_block *block, ppsched_error *error)
{
    if (block->experts_per_token > block->experts + block->idle_experts)
        return fail_number(spot, block, "experts_per_token", block->experts_per_token, 1, block->experts + block->idle_experts,
                           error);
    if (block->output_groups > 0 && ((uint64_t)block->heads * block->head_size) % block->output_groups != 0)
        return fail_block(spot, block, "output_groups must divide heads times head_size", error);
    if (block->reserved != 0)
        return fail_number(spot, block, "reserved", block->reserved, 0, 0, error);
    if (block->extra_parameters >= most_parameters)
        return fail_block(spot, block, "extra_parameters must be less than 2^53", error);
    return PPSCHED_OK;
}

static ppsched_status complete_block(const struct spot *spot, ppsched_block *block, ppsched_error *error)
{
    ppsched_status status = ppi_check_choice("kind of block", block->kind, 0, PPI_BLOCK_KINDS - 1, error);
    if (status == PPSCHED_OK)
        status = check_numbers(spot, block, error);
    if (status == PPSCHED_OK)
        status = check_flags(spot, block, error);
    if (status == PPSCHED_OK)
        status = check_heads(spot, block, error);
    if (status == PPSCHED_OK)
        status = check_index(spot, block, error);
    if (status != PPSCHED_OK)
        return status;
    complete_heads(block, spot->hidden);
    if (block->norms == 0 && !has_block_flag(block, PPSCHED_BLOCK_FLAG_PARALLEL) &&
        !has_block_flag(block, PPSCHED_BLOCK_FLAG_NO_NORM))
        block->norms = 1;
    status = complete_mamba(spot, block, error);
    return status == PPSCHED_OK ? check_rest(spot, block, error) : status;
}

/* --- kinds --- */

static ppsched_status check_name(const char *what, const char *name, ppsched_error *error)
{
    if (name == NULL || name[0] == '\0')
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s has no name", what);
    if (ppi_find_broken_utf8(name, strlen(name)) < strlen(name))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s has a name that is not UTF-8", what);
    if (strpbrk(name, " \t\r\n[],\"") != NULL || (name[0] >= '0' && name[0] <= '9'))
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "%s is called %q; a name must not begin with a digit, and not contain blanks, commas, quotes or brackets", what,
            name);
    return PPSCHED_OK;
}

static ppsched_status complete_kind(ppsched_layer_kind *kind, uint32_t hidden, ppsched_error *error)
{
    ppsched_status status = check_name("a kind of layer", kind->name, error);
    if (status == PPSCHED_OK && kind->block_count > PPSCHED_MAX_BLOCKS)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "kind %q has %u block%p; it must be 0 to %d", kind->name,
                          kind->block_count, PPSCHED_MAX_BLOCKS);
    for (uint32_t i = 0; i < kind->block_count && status == PPSCHED_OK; i++) {
        const struct spot spot = {kind->name, i, hidden};
        status = complete_block(&spot, (ppsched_block *)(uintptr_t)kind->blocks[i], error);
    }
    return status;
}

static ppsched_status complete_kinds(ppsched_description_info *info, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < info->kind_count && status == PPSCHED_OK; i++) {
        status = complete_kind((ppsched_layer_kind *)(uintptr_t)info->kinds[i], info->hidden_size, error);
        for (uint32_t other = 0; other < i && status == PPSCHED_OK; other++)
            if (strcmp(info->kinds[other]->name, info->kinds[i]->name) == 0)
                status = ppi_fail(error, PPSCHED_ERROR_RANGE, "two kinds are called %q; each needs a name of its own",
                                  info->kinds[i]->name);
    }
    return status;
}

/* --- towers --- */

static bool has_expert_blocks(const ppsched_layer_kind *kind)
{
    for (uint32_t i = 0; i < kind->block_count; i++)
        if (kind->blocks[i]->kind == PPSCHED_BLOCK_KIND_EXPERTS)
            return true;
    return false;
}

static ppsched_status complete_tower(const ppsched_tower *tower, ppsched_error *error)
{
    const struct {
        const char *name;
        uint32_t value, least, most;
    } sizes[] = {{"hidden_size", tower->hidden_size, 1, PPI_MOST_COUNT},
                 {"layers", tower->layers, 1, 4096},
                 {"tokens", tower->tokens, 0, PPI_MOST_SIZE},
                 {"deepstack_layers", tower->deepstack_layers, 0, PPI_MOST_LAYERS},
                 {"patches_per_token", tower->patches_per_token, 0, PPI_MOST_COUNT},
                 {"is_frozen", tower->is_frozen, 0, 1},
                 {"has_norm_bias", tower->has_norm_bias, 0, 1}};
    ppsched_status status = check_name("a tower", tower->name, error);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == PPSCHED_OK; i++)
        if (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most)
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "tower %q: %s is %u; it must be %u to %u", tower->name, sizes[i].name,
                              sizes[i].value, sizes[i].least, sizes[i].most);
    if (status == PPSCHED_OK && tower->extra_parameters >= most_parameters)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "tower %q: extra_parameters must be less than 2^53", tower->name);
    ppsched_layer_kind *kind = (ppsched_layer_kind *)(uintptr_t)tower->kind;
    kind->name = tower->name; /* JSON has one name for both */
    if (status == PPSCHED_OK)
        status = complete_kind(kind, tower->hidden_size, error);
    if (status == PPSCHED_OK && has_expert_blocks(tower->kind))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "tower %q has experts; only the layers of the model may have them",
                          tower->name);
    return status;
}

/* A tower has a row of its own, whose name no kind may have. */
static ppsched_status complete_towers(const ppsched_description_info *info, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < info->tower_count && status == PPSCHED_OK; i++) {
        const char *name = info->towers[i]->name;
        status = complete_tower(info->towers[i], error);
        bool is_taken = false;
        for (uint32_t other = 0; other < info->kind_count && status == PPSCHED_OK; other++)
            is_taken |= strcmp(info->kinds[other]->name, name) == 0;
        for (uint32_t other = 0; other < i && status == PPSCHED_OK; other++)
            is_taken |= strcmp(info->towers[other]->name, name) == 0;
        if (is_taken)
            status = ppi_fail(error, PPSCHED_ERROR_RANGE,
                              "tower %q has the name of a kind or of another tower; give it another name", name);
    }
    return status;
}

/* --- all --- */

static ppsched_status check_sizes(const ppsched_description_info *info, ppsched_error *error)
{
    const uint32_t flags = 2 * PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM - 1;
    const struct {
        const char *name;
        uint32_t value, least, most;
    } sizes[] = {{"hidden_size", info->hidden_size, 1, PPI_MOST_COUNT},
                 {"vocabulary_size", info->vocabulary_size, 1, PPI_MOST_SIZE},
                 {"positions", info->positions, 0, PPI_MOST_SIZE},
                 {"the number of layers", info->layer_count, 1, PPI_MOST_LAYERS},
                 {"the number of kinds", info->kind_count, 1, PPSCHED_MAX_LAYER_KINDS},
                 {"the number of towers", info->tower_count, 0, MOST_TOWERS},
                 {"mtp_layers", info->mtp_layers, 0, MOST_MTP},
                 {"mtp_kind", info->mtp_kind, 0, info->kind_count > 0 ? info->kind_count - 1 : 0},
                 {"streams", info->streams, 0, MOST_STREAMS},
                 {"stream_interval", info->stream_interval, 0, PPI_MOST_COUNT},
                 {"layer_input", info->layer_input, 0, PPI_MOST_COUNT},
                 {"flags", info->flags, 0, flags}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be %u to %u", sizes[i].name, sizes[i].value,
                            sizes[i].least, sizes[i].most);
    if (info->extra_parameters >= most_parameters)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "extra_parameters must be less than 2^53");
    for (uint32_t i = 0; i < info->layer_count; i++)
        if (info->layers[i] >= info->kind_count)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "layer %u is of kind %u; the model has %u kind%p", i, info->layers[i],
                            info->kind_count);
    return PPSCHED_OK;
}

/* Whether a layer of kind `maker` has what `reader` shares: keys with the same window, or an index. */
static bool serves(const ppsched_layer_kind *maker, const ppsched_block *reader)
{
    bool is_index = has_block_flag(reader, PPSCHED_BLOCK_FLAG_SHARED_INDEX);
    for (uint32_t i = 0; i < maker->block_count; i++) {
        const ppsched_block *block = maker->blocks[i];
        if (block->kind != reader->kind)
            continue;
        if (is_index ? block->index_heads > 0 && !has_block_flag(block, PPSCHED_BLOCK_FLAG_SHARED_INDEX)
                     : block->window == reader->window && !has_block_flag(block, PPSCHED_BLOCK_FLAG_SHARED_KEYS))
            return true;
    }
    return false;
}

static bool is_served(const ppsched_description_info *info, const bool *is_before, const ppsched_block *reader)
{
    for (uint32_t kind = 0; kind < info->kind_count; kind++)
        if (is_before[kind] && serves(info->kinds[kind], reader))
            return true;
    return false;
}

/* The blocks of a kind that stands after layers of the kinds `is_before`. `where`: the place, with its number. */
static ppsched_status check_shared(const ppsched_description_info *info, const bool *is_before, const ppsched_layer_kind *kind,
                                   const char *where, uint32_t number, ppsched_error *error)
{
    const uint32_t flags = PPSCHED_BLOCK_FLAG_SHARED_KEYS | PPSCHED_BLOCK_FLAG_SHARED_INDEX;
    for (uint32_t i = 0; i < kind->block_count; i++) {
        const ppsched_block *block = kind->blocks[i];
        if (has_block_flag(block, flags) && !is_served(info, is_before, block))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s %u (%q) shares %s, and there is none; give it its own", where,
                            number, kind->name,
                            has_block_flag(block, PPSCHED_BLOCK_FLAG_SHARED_INDEX)
                                ? "the index of an earlier layer"
                                : "keys of an earlier layer with the same window");
    }
    return PPSCHED_OK;
}

/* What a layer shares is made before it. The first layer of each kind has the fewest layers before it. */
static ppsched_status check_all_shared(const ppsched_description_info *info, ppsched_error *error)
{
    bool is_before[PPSCHED_MAX_LAYER_KINDS] = {false};
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < info->tower_count && status == PPSCHED_OK; i++)
        status = check_shared(info, is_before, info->towers[i]->kind, "tower", i, error);
    for (uint32_t i = 0; i < info->layer_count && status == PPSCHED_OK; i++) {
        uint32_t kind = info->layers[i];
        if (!is_before[kind])
            status = check_shared(info, is_before, info->kinds[kind], "layer", i, error);
        is_before[kind] = true;
    }
    if (status == PPSCHED_OK && info->mtp_layers > 0)
        status = check_shared(info, is_before, info->kinds[info->mtp_kind], "MTP layer", 0, error);
    return status;
}

ppsched_status ppi_description_complete(ppsched_description_info *info, ppsched_error *error)
{
    static const char *const taken[] = {"embedding", "head", "mtp"};
    ppsched_status status = check_sizes(info, error);
    if (status == PPSCHED_OK)
        status = complete_kinds(info, error);
    if (status == PPSCHED_OK)
        status = complete_towers(info, error);
    for (uint32_t i = 0; i < info->kind_count && status == PPSCHED_OK; i++)
        for (size_t name = 0; name < sizeof taken / sizeof taken[0] && status == PPSCHED_OK; name++)
            if (strcmp(info->kinds[i]->name, taken[name]) == 0)
                status = ppi_fail(error, PPSCHED_ERROR_RANGE,
                                  "a kind is called %q, which is the name of a part of every model; give it another name",
                                  taken[name]);
    if (status == PPSCHED_OK)
        status = check_all_shared(info, error);
    if (status == PPSCHED_OK && info->family != NULL &&
        ppi_find_broken_utf8(info->family, strlen(info->family)) < strlen(info->family))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "family is not UTF-8");
    if (info->streams == 0)
        info->streams = 1;
    if (info->mtp_layers == 0)
        info->mtp_kind = 0;
    return status;
}
