/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of blocks, their fields and their flags by name: what each kind has, and what it needs. */
#ifndef PPSCHED_DESCRIPTION_BLOCK_TABLE_H
#define PPSCHED_DESCRIPTION_BLOCK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/description.h>

enum { PPI_BLOCK_KINDS = 9, PPI_BLOCK_FIELDS = 28, PPI_BLOCK_FLAGS = 21 };

/* A number of a block. */
struct ppi_block_field {
    const char *name;
    size_t offset;   /* in ppsched_block; a uint32_t */
    uint32_t kinds;  /* a bit for each kind that has it */
    uint32_t needed; /* a bit for each kind in which it must be above 0 */
};

struct ppi_block_flag {
    const char *name;
    uint32_t flag;
    uint32_t kinds; /* a bit for each kind that has it */
};

extern const char *const ppi_block_kinds[PPI_BLOCK_KINDS];
extern const struct ppi_block_field ppi_block_fields[PPI_BLOCK_FIELDS];
extern const struct ppi_block_flag ppi_block_flags[PPI_BLOCK_FLAGS];

static inline uint32_t *ppi_block_number(ppsched_block *block, const struct ppi_block_field *field)
{
    return (uint32_t *)(void *)((char *)block + field->offset);
}

static inline uint32_t ppi_block_number_of(const ppsched_block *block, const struct ppi_block_field *field)
{
    return *(const uint32_t *)(const void *)((const char *)block + field->offset);
}

#endif
