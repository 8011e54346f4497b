/* SPDX-License-Identifier: Apache-2.0 */
/* Varints, fixed numbers and length-delimited fields. A message is filled twice, as its size precedes it: once to count, once
 * to write. */
#include "chakra/protobuf.h"

#include <string.h>

enum { MORE = 0x80, LONGEST_VARINT = 10, LAST_FIELD = (1 << 29) - 1 };

/* --- writing --- */

static void put(struct ppi_proto *proto, const char *data, size_t size)
{
    proto->size += size;
    if (proto->writer != NULL)
        ppi_write(proto->writer, data, size);
}

void ppi_proto_put_varint(struct ppi_proto *proto, uint64_t value)
{
    char bytes[LONGEST_VARINT];
    size_t size = 0;
    for (; value >= MORE; value >>= 7)
        bytes[size++] = (char)(unsigned char)(value | MORE);
    bytes[size++] = (char)value;
    put(proto, bytes, size);
}

static void put_key(struct ppi_proto *proto, uint32_t field, uint32_t type)
{
    ppi_proto_put_varint(proto, (uint64_t)field << 3 | type);
}

void ppi_proto_put_integer(struct ppi_proto *proto, uint32_t field, uint64_t value)
{
    put_key(proto, field, PPI_PROTO_VARINT);
    ppi_proto_put_varint(proto, value);
}

void ppi_proto_put_double(struct ppi_proto *proto, uint32_t field, double value)
{
    uint64_t bits;
    char bytes[8];
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++, bits >>= 8)
        bytes[i] = (char)(unsigned char)bits;
    put_key(proto, field, PPI_PROTO_64);
    put(proto, bytes, sizeof bytes);
}

void ppi_proto_put_text(struct ppi_proto *proto, uint32_t field, const char *text)
{
    size_t size = strlen(text);
    put_key(proto, field, PPI_PROTO_BYTES);
    ppi_proto_put_varint(proto, size);
    put(proto, text, size);
}

void ppi_proto_put_list(struct ppi_proto *proto, uint32_t field, const uint64_t *values, size_t count)
{
    struct ppi_proto size = {NULL, 0};
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        ppi_proto_put_varint(&size, values[i]);
    put_key(proto, field, PPI_PROTO_BYTES);
    ppi_proto_put_varint(proto, size.size);
    for (size_t i = 0; i < count; i++)
        ppi_proto_put_varint(proto, values[i]);
}

void ppi_proto_put_record(struct ppi_proto *proto, ppi_proto_fill fill, const void *what)
{
    struct ppi_proto size = {NULL, 0};
    fill(&size, what);
    ppi_proto_put_varint(proto, size.size);
    fill(proto, what);
}

void ppi_proto_put_message(struct ppi_proto *proto, uint32_t field, ppi_proto_fill fill, const void *what)
{
    put_key(proto, field, PPI_PROTO_BYTES);
    ppi_proto_put_record(proto, fill, what);
}

/* --- reading --- */

bool ppi_proto_take_varint(struct ppi_span *span, uint64_t *value)
{
    *value = 0;
    for (int k = 0; k < LONGEST_VARINT && span->next < span->end; k++) {
        unsigned char byte = (unsigned char)*span->next++;
        if (k == LONGEST_VARINT - 1 && byte > 1)
            return false; /* more than 64 bits */
        *value |= (uint64_t)(byte & (MORE - 1)) << (7 * k);
        if (byte < MORE)
            return true;
    }
    return false;
}

bool ppi_proto_take_record(struct ppi_span *span, struct ppi_span *record)
{
    uint64_t size;
    if (!ppi_proto_take_varint(span, &size) || size > (uint64_t)(span->end - span->next))
        return false;
    *record = (struct ppi_span){span->next, span->next + size};
    span->next += size;
    return true;
}

/* A little-endian number of so many bytes. */
static bool take_fixed(struct ppi_span *span, size_t size, uint64_t *value)
{
    if ((size_t)(span->end - span->next) < size)
        return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)(unsigned char)span->next[i] << (8 * i);
    span->next += size;
    return true;
}

bool ppi_proto_take_field(struct ppi_span *span, struct ppi_proto_field *field)
{
    uint64_t key;
    *field = (struct ppi_proto_field){0};
    if (!ppi_proto_take_varint(span, &key) || key >> 3 == 0 || key >> 3 > LAST_FIELD)
        return false;
    field->number = (uint32_t)(key >> 3);
    field->type = (uint32_t)(key & 7);
    switch (field->type) {
    case PPI_PROTO_VARINT:
        return ppi_proto_take_varint(span, &field->value);
    case PPI_PROTO_64:
        return take_fixed(span, 8, &field->value);
    case PPI_PROTO_BYTES:
        return ppi_proto_take_record(span, &field->bytes);
    case PPI_PROTO_32:
        return take_fixed(span, 4, &field->value);
    default:
        return false;
    }
}
