/* SPDX-License-Identifier: Apache-2.0 */
/* A description of a model, and how it is built layer by layer. */
#ifndef PPSCHED_DESCRIPTION_DESCRIPTION_H
#define PPSCHED_DESCRIPTION_DESCRIPTION_H

#include <stdatomic.h>
#include <stdbool.h>

#include <ppsched/description.h>
#include <ppsched/layers.h>

#include "base/arena.h"
#include "base/host.h"

enum { PPI_MOST_LAYERS = PPSCHED_MAX_LAYERS - 64 };         /* the ends and multi-token prediction need rows too */
enum { PPI_MOST_SIZE = 1 << 24, PPI_MOST_COUNT = 1 << 20 }; /* of a width; of heads, devices of a group, and the like */

struct ppsched_description {
    ppsched_description *self; /* not const, for the count of references */
    atomic_uint references;
    struct ppi_host host;
    struct ppi_arena arena;        /* of all lists and texts */
    ppsched_description_info info; /* complete: no field is 0 that has a default */
    const char *const *warnings;
    uint32_t warning_count;
    uint32_t ffn_size; /* of a transformer whose layers all have experts, for Megatron-LM's formula; 0: none was given */
};

/* Checks and completes `info`, and copies all of it. */
ppsched_status ppi_description_create(const ppsched_description **out, const ppsched_description_info *info,
                                      const char *const *warnings, uint32_t warning_count, const struct ppi_host *host,
                                      ppsched_error *error);
void ppi_description_retain(const ppsched_description *description);
void ppi_description_release(const ppsched_description *description);

/* Checks all numbers, names the wrong kind, block and field, and fills in defaults (in place; blocks that are not constant). */
ppsched_status ppi_description_complete(ppsched_description_info *info, ppsched_error *error);

ppsched_status ppi_description_read(const ppsched_description **out, const char *text, size_t length,
                                    const struct ppi_host *host, ppsched_error *error);

/* The same; of a family that is not known a guess. */
ppsched_status ppi_description_guess(const ppsched_description **out, const char *text, size_t length,
                                     const struct ppi_host *host, ppsched_error *error);

/* --- building --- */

enum { PPI_MOST_TOWERS = 16, PPI_MOST_WARNINGS = 32 };

/* A description in the making. Equal layers become one kind. */
struct ppi_draft {
    struct ppi_host host;
    struct ppi_arena arena;
    ppsched_description_info info; /* all but layers and kinds may be set directly; layers and kinds grow */
    uint32_t *layers;
    uint32_t layer_capacity;
    ppsched_layer_kind **kinds; /* PPSCHED_MAX_LAYER_KINDS */
    ppsched_tower **towers;     /* PPI_MOST_TOWERS */
    bool has_too_many_kinds, has_too_many_towers;
    const char **warnings; /* PPI_MOST_WARNINGS; more are left out */
    uint32_t warning_count;
    bool is_start; /* parts that are not known are warnings of one name each */
};

void ppi_draft_start(struct ppi_draft *draft, const struct ppi_host *host);
void ppi_draft_clear(struct ppi_draft *draft);

/* One more layer, of `count` blocks, which need no `size`. Its kind gets a name from its blocks. Returns the kind's index. */
uint32_t ppi_draft_add_layer(struct ppi_draft *draft, const ppsched_block *blocks, uint32_t count);

/* A kind that no layer need have, such as of multi-token prediction. Returns its index; an equal one if there is one. */
uint32_t ppi_draft_add_kind(struct ppi_draft *draft, const ppsched_block *blocks, uint32_t count);

/* A kind with a name of its own, which need not differ from others in its blocks. Returns its index. */
uint32_t ppi_draft_add_named_kind(struct ppi_draft *draft, const char *name, const ppsched_block *blocks, uint32_t count);

/* The kind whose name is most like this one; "" if there are no kinds. */
const char *ppi_draft_nearest_kind(const struct ppi_draft *draft, const char *name);

/* One more layer of a kind. */
void ppi_draft_add_layer_of(struct ppi_draft *draft, uint32_t kind);

/* One more tower, with layers of these blocks. */
void ppi_draft_add_tower(struct ppi_draft *draft, const ppsched_tower *tower, const ppsched_block *blocks, uint32_t count);

/* A line for the caller, formatted as by ppi_format. */
void ppi_draft_warn(struct ppi_draft *draft, const char *format, ...);

/* Makes the description; the draft stays to be cleared. */
ppsched_status ppi_draft_finish(struct ppi_draft *draft, const ppsched_description **out, ppsched_error *error);

#endif
