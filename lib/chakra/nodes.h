/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a trace, as they are written. */
#ifndef PPSCHED_CHAKRA_NODES_H
#define PPSCHED_CHAKRA_NODES_H

#include "chakra/protobuf.h"
#include "chakra/traces.h"

/* Dependencies, borrowed. */
struct ppi_chakra_deps {
    const uint64_t *ids;
    size_t count;
};

/* A tensor that a node writes or reads last. */
struct ppi_chakra_tensor {
    char name[32]; /* empty: there is none */
    uint64_t bytes;
};

struct ppi_chakra_node {
    uint64_t id;
    const char *name;
    uint32_t type;
    struct ppi_chakra_deps ctrl, data;
    uint64_t micros;           /* COMP */
    uint64_t peer, tag, bytes; /* SEND, RECV */
    bool has_tensors;          /* whether it tells what it reads and writes */
    struct ppi_chakra_tensor in, out;
};

/* What a trace begins with. */
void ppi_chakra_put_metadata(struct ppi_proto *proto, const ppsched_chakra *chakra);
void ppi_chakra_put_node(struct ppi_proto *proto, const struct ppi_chakra_node *node);

#endif
