/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a trace, for writing. */
#ifndef PPSCHED_CHAKRA_NODES_H
#define PPSCHED_CHAKRA_NODES_H

#include "chakra/protobuf.h"
#include "chakra/traces.h"

/* Dependencies, borrowed. */
struct ppi_chakra_deps {
    const uint64_t *ids;
    size_t count;
};

/* A tensor that a node reads or writes. */
struct ppi_chakra_tensor {
    char name[32]; /* empty: no tensor */
    uint64_t bytes;
};

struct ppi_chakra_node {
    uint64_t id;
    const char *name;
    uint32_t type;
    struct ppi_chakra_deps ctrl, data;
    uint64_t micros;           /* COMP */
    uint64_t peer, tag, bytes; /* SEND, RECV */
    bool has_tensors;          /* its tensors are written */
    struct ppi_chakra_tensor in, out;
};

/* Writes the first message of a trace. */
void ppi_chakra_put_metadata(struct ppi_proto *proto, const ppsched_chakra *chakra);
void ppi_chakra_put_node(struct ppi_proto *proto, const struct ppi_chakra_node *node);

#endif
