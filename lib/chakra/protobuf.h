/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of Protocol Buffers: the part that traces need. */
#ifndef PPSCHED_CHAKRA_PROTOBUF_H
#define PPSCHED_CHAKRA_PROTOBUF_H

#include "base/writer.h"

/* Wire types of fields. */
enum { PPI_PROTO_VARINT = 0, PPI_PROTO_64 = 1, PPI_PROTO_BYTES = 2, PPI_PROTO_32 = 5 };

/* --- writing --- */

/* The output of fields: a writer, or NULL to only count bytes, as a message's size comes before it. */
struct ppi_proto {
    struct ppi_writer *writer;
    size_t size;
};

void ppi_proto_put_varint(struct ppi_proto *proto, uint64_t value);
void ppi_proto_put_integer(struct ppi_proto *proto, uint32_t field, uint64_t value);
void ppi_proto_put_double(struct ppi_proto *proto, uint32_t field, double value);
void ppi_proto_put_text(struct ppi_proto *proto, uint32_t field, const char *text);

/* Integers of a packed field; without integers no field. */
void ppi_proto_put_list(struct ppi_proto *proto, uint32_t field, const uint64_t *values, size_t count);

/* A message; `fill` writes its fields, and is called twice. */
typedef void (*ppi_proto_fill)(struct ppi_proto *proto, const void *what);
void ppi_proto_put_message(struct ppi_proto *proto, uint32_t field, ppi_proto_fill fill, const void *what);

/* The same without a field's number before it: a message of a stream. */
void ppi_proto_put_record(struct ppi_proto *proto, ppi_proto_fill fill, const void *what);

/* --- reading --- */

struct ppi_span {
    const char *next, *end;
};

/* A field: `value` of a number, or `bytes`. */
struct ppi_proto_field {
    uint32_t number, type;
    uint64_t value;
    struct ppi_span bytes;
};

/* Each removes its item from the front of the span; false where it is truncated or invalid. */
bool ppi_proto_take_varint(struct ppi_span *span, uint64_t *value);
bool ppi_proto_take_record(struct ppi_span *span, struct ppi_span *record);
bool ppi_proto_take_field(struct ppi_span *span, struct ppi_proto_field *field);

#endif
