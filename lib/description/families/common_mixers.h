/* SPDX-License-Identifier: Apache-2.0 */
/* What families with several kinds of layers share: parts of the config with fields of their own, lists of layer types,
 * blocks. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_COMMON_MIXERS_H
#define PPSCHED_DESCRIPTION_FAMILIES_COMMON_MIXERS_H

#include "description/description.h"
#include "description/fields.h"

/* --- fields --- */

/* A part of the config that is an object of its own. If it is missing, so are all its fields. */
void ppi_part_start(struct ppi_fields *part, struct ppi_fields *whole, const char *name);

/* The part's first error, and what is missing in it, become those of the whole if it has none; with ppi_part_end what nobody
 * read in it is checked before. */
void ppi_part_join(struct ppi_fields *whole, const struct ppi_fields *part);
void ppi_part_end(struct ppi_fields *whole, struct ppi_fields *part, struct ppi_draft *draft);

/* A field that is null, which for some fields is not the same as missing. */
bool ppi_is_null(struct ppi_fields *fields, const char *name);

/* Fields that change nothing here: they count as read. */
void ppi_ignore(struct ppi_fields *fields, const char *names);

/* Refuses a switch that is not `expected`: other layers would come of it. */
void ppi_require_switch(struct ppi_fields *fields, const char *name, bool expected);

/* Refuses a text or a number that is there and not `expected`. */
void ppi_require_text(struct ppi_fields *fields, const char *name, const char *expected);
void ppi_require_count(struct ppi_fields *fields, const char *name, uint32_t expected);

/* An integer from 1, or "auto", which is `otherwise`, as is a field that is missing. */
uint32_t ppi_count_or_auto(struct ppi_fields *fields, const char *name, uint32_t otherwise);

/* a * b, which must be a size too. */
uint32_t ppi_size_product(struct ppi_fields *fields, const char *what, uint32_t a, uint32_t b);

/* A number of parameters; exact, as it is below 2^53 in all models. */
uint64_t ppi_parameters(double number);

/* --- lists --- */

/* A list of integers; NULL if there is none. */
const struct ppi_json_value *ppi_integers(struct ppi_fields *fields, const char *name);

/* Whether such a list has this one. */
bool ppi_list_has(const struct ppi_json_value *list, int64_t number);

/* A list with the type of each layer, all of them among `allowed`, which a NULL ends. "mamba" is a name of linear_attention,
 * "attention" of full_attention, "deepseek_sparse_attention" of indexed_attention. NULL if there is none. */
const struct ppi_json_value *ppi_types_of(struct ppi_fields *fields, const char *names, uint32_t layers,
                                          const char *const *allowed);

/* Whether the layer's type is this one; `otherwise` without a list. */
bool ppi_type_is(const struct ppi_json_value *types, uint32_t layer, const char *type, bool otherwise);

/* --- the model --- */

/* Sizes of a class, for a config in another one that does not say them; and whether the output is tied, if the file does not
 * say. */
struct ppi_frame {
    uint32_t vocabulary, hidden, width, layers, heads;
    bool is_tied;
};

/* Hidden size, vocabulary, the longest sequence, and whether the output is tied. */
void ppi_read_frame(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_frame *frame);

/* The number of layers; 0 with an error. */
uint32_t ppi_read_layer_count(struct ppi_fields *fields);
uint32_t ppi_read_layers(struct ppi_fields *fields, const struct ppi_frame *frame);

/* An MLP with a gate, of intermediate_size. */
ppsched_block ppi_read_mlp(struct ppi_fields *fields, const struct ppi_frame *frame);

/* Layers of multi-token prediction, which have these blocks; with ppi_read_mtp as many as the first of the fields says. */
void ppi_add_mtp(struct ppi_draft *draft, uint32_t layers, const ppsched_block *blocks, uint32_t count);
void ppi_read_mtp(struct ppi_fields *fields, struct ppi_draft *draft, const char *names, const ppsched_block *blocks,
                  uint32_t count);

/* --- blocks --- */

/* Attention with the usual names of its sizes. `key_value_heads`: if the file does not say; 0 is as many as heads. Null is too.
 * `head_size`: the same; 0 is the hidden size over the heads. */
ppsched_block ppi_read_attention(struct ppi_fields *fields, const struct ppi_frame *frame, uint32_t key_value_heads,
                                 uint32_t head_size);

/* Latent attention with the names of DeepSeek-V2's sizes, which `otherwise` has where the file does not say. */
ppsched_block ppi_read_latent(struct ppi_fields *fields, const struct ppi_frame *frame, const ppsched_block *otherwise);

/* An MLP with a gate. */
ppsched_block ppi_gated_mlp(uint32_t width);

#endif
