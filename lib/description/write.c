/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a description as JSON: what differs from the defaults, a block on a line. */
#include <string.h>

#include "description/block_table.h"
#include "description/json.h"

/* The next member of an object: a comma after the one before, and its key. */
static void write_key(struct ppi_writer *writer, const char *separator, const char *name)
{
    ppi_write_text(writer, separator);
    ppi_write_json_string(writer, name);
    ppi_write_text(writer, ": ");
}

static void write_number(struct ppi_writer *writer, const char *separator, const char *name, uint64_t value)
{
    write_key(writer, separator, name);
    ppi_write_integer(writer, (int64_t)value);
}

static void write_truth(struct ppi_writer *writer, const char *separator, const char *name, bool value)
{
    write_key(writer, separator, name);
    ppi_write_text(writer, value ? "true" : "false");
}

/* --- blocks --- */

static bool is_default(const ppsched_block *block, const struct ppi_block_field *field, uint32_t hidden)
{
    uint32_t value = ppi_block_number_of(block, field);
    const char *name = field->name;
    bool is_mamba_2 = block->kind == PPSCHED_BLOCK_KIND_MAMBA && (block->flags & PPSCHED_BLOCK_FLAG_MAMBA_1) == 0;
    if (strcmp(name, "norms") == 0)
        return value == ((block->flags & (PPSCHED_BLOCK_FLAG_PARALLEL | PPSCHED_BLOCK_FLAG_NO_NORM)) == 0);
    if (strcmp(name, "key_value_heads") == 0)
        return value == block->heads || value == 0;
    if (strcmp(name, "head_size") == 0)
        return block->heads == 0 || (hidden % block->heads == 0 && value == hidden / block->heads);
    if (strcmp(name, "value_size") == 0)
        return value == 0 || (value == block->head_size && block->kind != PPSCHED_BLOCK_KIND_LATENT_ATTENTION);
    if (strcmp(name, "groups") == 0)
        return value <= 1;
    return value == 0 || (is_mamba_2 && strcmp(name, "width") == 0);
}

static void write_block(struct ppi_writer *writer, const ppsched_block *block, uint32_t hidden)
{
    write_key(writer, "{", "kind");
    ppi_write_json_string(writer, ppi_block_kinds[block->kind]);
    for (size_t i = 0; i < PPI_BLOCK_FIELDS; i++)
        if (!is_default(block, &ppi_block_fields[i], hidden))
            write_number(writer, ", ", ppi_block_fields[i].name, ppi_block_number_of(block, &ppi_block_fields[i]));
    for (size_t i = 0; i < PPI_BLOCK_FLAGS; i++)
        if ((block->flags & ppi_block_flags[i].flag) != 0)
            write_truth(writer, ", ", ppi_block_flags[i].name, true);
    if (block->extra_parameters > 0)
        write_number(writer, ", ", "extra_parameters", block->extra_parameters);
    ppi_write_text(writer, "}");
}

/* `indent`: of the lines after the first. */
static void write_blocks(struct ppi_writer *writer, const ppsched_layer_kind *kind, uint32_t hidden, const char *indent)
{
    ppi_write_text(writer, "[");
    for (uint32_t i = 0; i < kind->block_count; i++) {
        ppi_write_text(writer, i > 0 ? "," : "");
        ppi_write_text(writer, i > 0 ? indent : "");
        write_block(writer, kind->blocks[i], hidden);
    }
    ppi_write_text(writer, "]");
}

/* --- parts --- */

static void write_kinds(struct ppi_writer *writer, const ppsched_description_info *info)
{
    write_key(writer, ",\n ", "kinds");
    for (uint32_t i = 0; i < info->kind_count; i++) {
        write_key(writer, i > 0 ? ",\n  " : "{\n  ", info->kinds[i]->name);
        write_blocks(writer, info->kinds[i], info->hidden_size, "\n   ");
    }
    ppi_write_text(writer, "}");
}

static void write_towers(struct ppi_writer *writer, const ppsched_description_info *info)
{
    for (uint32_t i = 0; i < info->tower_count; i++) {
        const ppsched_tower *tower = info->towers[i];
        if (i == 0)
            write_key(writer, ",\n ", "towers");
        write_key(writer, i > 0 ? ",\n  {" : "[\n  {", "name");
        ppi_write_json_string(writer, tower->name);
        write_number(writer, ", ", "hidden_size", tower->hidden_size);
        write_number(writer, ", ", "layers", tower->layers);
        if (tower->tokens > 0)
            write_number(writer, ", ", "tokens", tower->tokens);
        if (tower->patches_per_token > 0)
            write_number(writer, ", ", "patches_per_token", tower->patches_per_token);
        if (tower->deepstack_layers > 0)
            write_number(writer, ", ", "deepstack_layers", tower->deepstack_layers);
        if (tower->is_frozen != 0)
            write_truth(writer, ", ", "frozen", true);
        if (tower->has_norm_bias != 0)
            write_truth(writer, ", ", "norm_bias", true);
        if (tower->extra_parameters > 0)
            write_number(writer, ", ", "extra_parameters", tower->extra_parameters);
        write_key(writer, ",\n   ", "blocks");
        write_blocks(writer, tower->kind, tower->hidden_size, "\n    ");
        ppi_write_text(writer, "}");
    }
    ppi_write_text(writer, info->tower_count > 0 ? "]" : "");
}

static void write_switches(struct ppi_writer *writer, uint32_t flags)
{
    static const struct {
        const char *name;
        uint32_t flag;
        bool value;
    } switches[] = {{"tied", PPSCHED_DESCRIPTION_FLAG_TIED, true},
                    {"norm_bias", PPSCHED_DESCRIPTION_FLAG_NORM_BIAS, true},
                    {"causal", PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL, false},
                    {"dropout", PPSCHED_DESCRIPTION_FLAG_DROPOUT, true},
                    {"final_norm", PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM, false}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if ((flags & switches[i].flag) != 0)
            write_truth(writer, ",\n ", switches[i].name, switches[i].value);
}

static void write_numbers(struct ppi_writer *writer, const ppsched_description_info *info)
{
    const struct {
        const char *name;
        uint64_t value, otherwise;
    } numbers[] = {{"positions", info->positions, 0},     {"sequence_length", info->sequence_length, 0},
                   {"streams", info->streams, 1},         {"stream_interval", info->stream_interval, 0},
                   {"layer_input", info->layer_input, 0}, {"extra_parameters", info->extra_parameters, 0},
                   {"mtp_layers", info->mtp_layers, 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value != numbers[i].otherwise)
            write_number(writer, ",\n ", numbers[i].name, numbers[i].value);
}

void ppi_write_description(struct ppi_writer *writer, const ppsched_description *description)
{
    const ppsched_description_info *info = &description->info;
    write_number(writer, "{", "hidden_size", info->hidden_size);
    write_number(writer, ",\n ", "vocabulary_size", info->vocabulary_size);
    if (info->family != NULL) {
        write_key(writer, ",\n ", "family");
        ppi_write_json_string(writer, info->family);
    }
    write_switches(writer, info->flags);
    write_numbers(writer, info);
    if (info->mtp_layers > 0) {
        write_key(writer, ",\n ", "mtp_kind");
        ppi_write_json_string(writer, info->kinds[info->mtp_kind]->name);
    }
    write_kinds(writer, info);
    write_key(writer, ",\n ", "layers");
    ppi_write_text(writer, "\"");
    ppi_write_pattern(writer, info);
    ppi_write_text(writer, "\"");
    write_towers(writer, info);
    ppi_write_text(writer, "}\n");
}
