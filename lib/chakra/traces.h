/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a schedule: see <ppsched/chakra.h>. */
#ifndef PPSCHED_CHAKRA_TRACES_H
#define PPSCHED_CHAKRA_TRACES_H

#include <ppsched/chakra.h>

#include "channel/channels.h"
#include "base/writer.h"

/* Fields of the messages, by number, and kinds of nodes. */
enum {
    PPI_CHAKRA_VERSION = 1, /* of GlobalMetadata */
    PPI_CHAKRA_METADATA_ATTRIBUTE = 2,
    PPI_CHAKRA_ID = 1, /* of Node */
    PPI_CHAKRA_NAME = 2,
    PPI_CHAKRA_TYPE = 3,
    PPI_CHAKRA_CTRL_DEPS = 4,
    PPI_CHAKRA_DATA_DEPS = 5,
    PPI_CHAKRA_DURATION = 7,
    PPI_CHAKRA_ATTRIBUTE = 10,
    PPI_CHAKRA_ATTRIBUTE_NAME = 1, /* of AttributeProto */
    PPI_CHAKRA_DOUBLE = 3,
    PPI_CHAKRA_UINT64 = 13,
    PPI_CHAKRA_STRING = 29,
    PPI_CHAKRA_STRING_LIST = 30,
    PPI_CHAKRA_COMP = 4, /* types of Node */
    PPI_CHAKRA_SEND = 5,
    PPI_CHAKRA_RECV = 6
};

/* Prefixes of the names of nodes that are not ops. */
#define PPI_CHAKRA_FLUSH "FLUSH_"
#define PPI_CHAKRA_LINK "LINK_"

struct ppsched_chakra {
    struct ppi_host host;
    const ppsched_schedule *schedule; /* owned reference */
    ppsched_chakra_options options;   /* defaults filled in */
    struct ppi_channels channels;     /* one per link */
    uint64_t *micros;                 /* by op: of the unit that starts there; 0: it has no node */
    uint64_t *bytes;                  /* of transfers, by number */
    uint64_t *tensors;                /* of a stage pass, by stage; NULL: none */
    uint32_t rounds;                  /* of messages between two iterations; 0: none */
};

ppsched_status ppi_chakra_make(ppsched_chakra **out, const ppsched_schedule *schedule, const ppsched_config *config,
                               const ppsched_chakra_options *options, ppsched_error *error);
void ppi_chakra_destroy(ppsched_chakra *chakra);
uint32_t ppi_chakra_ranks(const ppsched_chakra *chakra);

/* Fills micros, bytes and tensors. */
ppsched_status ppi_chakra_price(ppsched_chakra *chakra, const ppsched_config *config, ppsched_error *error);

/* REFUSED where simulators could not run a device's trace. */
ppsched_status ppi_chakra_check(const ppsched_chakra *chakra, uint32_t device, ppsched_error *error);

/* Writes a device's trace, or that of a link. */
void ppi_chakra_write_device(const ppsched_chakra *chakra, uint32_t device, struct ppi_writer *writer);
void ppi_chakra_write_link(const ppsched_chakra *chakra, uint32_t link, struct ppi_writer *writer);

/* Whether the sizes of messages are times. */
static inline bool ppi_chakra_has_times(const ppsched_chakra *chakra)
{
    return chakra->options.sizes == PPSCHED_CHAKRA_SIZES_TIMES || chakra->options.links == PPSCHED_CHAKRA_LINKS_RANKS;
}

#endif
