/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: which layers are in which stage. */
#ifndef PPSCHED_LAYOUT_LAYOUT_H
#define PPSCHED_LAYOUT_LAYOUT_H

#include <stdbool.h>

#include <ppsched/layout.h>

#include "base/host.h"

/* Complete once ppi_layout_finish has returned it: then `offsets` and `text` agree with `stages`. */
struct ppsched_layout {
    struct ppi_host host;
    uint32_t devices, count;      /* `count` of stages is a multiple of `devices` */
    ppsched_layout_stage *stages; /* [count] */
    uint32_t *offsets;            /* [count]: decoders before each stage */
    char *text;                   /* Megatron-LM's string, with a NUL */
    size_t length;                /* of `text` */
};

/* Checks that `count` is 1 to PPSCHED_MAX_STAGES, else RANGE; `what` says of what. */
ppsched_status ppi_layout_check_size(const char *what, int64_t count, ppsched_error *error);

/* Checks that `count` is 0 to PPSCHED_MAX_LAYOUT_LAYERS, else RANGE; `what` says of what. */
ppsched_status ppi_layout_check_layers(const char *what, int64_t count, ppsched_error *error);

/* A layout with empty stages; NULL if memory is short. */
ppsched_layout *ppi_layout_allocate(const struct ppi_host *host, uint32_t devices, uint32_t count);

/* Completes a layout whose stages are filled and valid, and returns it in `out`; frees it if memory is short. */
ppsched_status ppi_layout_finish(ppsched_layout **out, ppsched_layout *layout, ppsched_error *error);

void ppi_layout_destroy(ppsched_layout *layout);

/* Sets `text` and `length`; NO_MEMORY. */
ppsched_status ppi_layout_set_text(ppsched_layout *layout, ppsched_error *error);

/* As in <ppsched/layout.h>, with arguments that are not NULL. */
ppsched_status ppi_layout_from_stages(ppsched_layout **out, int64_t devices, const ppsched_layout_stage *stages, size_t count,
                                      const struct ppi_host *host, ppsched_error *error);
ppsched_status ppi_layout_from_text(ppsched_layout **out, const char *text, size_t size, int64_t devices,
                                    const ppsched_layout_rules *rules, const struct ppi_host *host, ppsched_error *error);
ppsched_status ppi_layout_from_megatron(ppsched_layout **out, int64_t decoders, int64_t devices,
                                        const ppsched_megatron_split *split, const struct ppi_host *host, ppsched_error *error);

/* The input of torchtitan's split; `first_less`, `last_less`: layers that the first and the last stage have less. */
struct ppi_titan {
    int64_t decoders, devices, first_less, last_less;
};

ppsched_status ppi_titan_check(const struct ppi_titan *titan, ppsched_error *error);
ppsched_status ppi_titan_find_stages(uint32_t *out, const struct ppi_titan *titan, int64_t layers_per_stage, bool several,
                                     ppsched_error *error);
ppsched_status ppi_layout_from_titan(ppsched_layout **out, const struct ppi_titan *titan, int64_t stages,
                                     const struct ppi_host *host, ppsched_error *error);

/* Length of torchtitan's names of a stage's modules, without a NUL; writes them and a NUL if `out` is not NULL. */
size_t ppi_layout_put_modules(char *out, const ppsched_layout *layout, uint32_t stage, bool rotary);

#endif
