/* SPDX-License-Identifier: Apache-2.0 */
/* Each message is a fill function of its fields, which protobuf.c runs twice: for the size, then for the bytes. */
#include "chakra/nodes.h"

#include "base/number.h"

/* --- attributes --- */

struct attribute {
    const char *name;
    uint32_t field;
    uint64_t integer;
    double number;
    const char *text;
    const struct ppi_chakra_tensor *tensor;
};

/* Writes name and size of the tensor, if there is one. */
static void fill_tensor(struct ppi_proto *proto, const void *what)
{
    const struct ppi_chakra_tensor *tensor = what;
    char size[PPI_INTEGER_SIZE + 1];
    if (tensor->name[0] == '\0')
        return;
    size[ppi_integer_to_text(size, (int64_t)tensor->bytes)] = '\0';
    ppi_proto_put_text(proto, 1, tensor->name);
    ppi_proto_put_text(proto, 1, size);
}

static void fill_attribute(struct ppi_proto *proto, const void *what)
{
    const struct attribute *attribute = what;
    ppi_proto_put_text(proto, PPI_CHAKRA_ATTRIBUTE_NAME, attribute->name);
    if (attribute->field == PPI_CHAKRA_DOUBLE)
        ppi_proto_put_double(proto, attribute->field, attribute->number);
    else if (attribute->field == PPI_CHAKRA_STRING)
        ppi_proto_put_text(proto, attribute->field, attribute->text);
    else if (attribute->field == PPI_CHAKRA_STRING_LIST)
        ppi_proto_put_message(proto, attribute->field, fill_tensor, attribute->tensor);
    else
        ppi_proto_put_integer(proto, attribute->field, attribute->integer);
}

static void put_integer(struct ppi_proto *proto, uint32_t field, const char *name, uint64_t value)
{
    const struct attribute attribute = {.name = name, .field = PPI_CHAKRA_UINT64, .integer = value};
    ppi_proto_put_message(proto, field, fill_attribute, &attribute);
}

static void put_number(struct ppi_proto *proto, uint32_t field, const char *name, double value)
{
    const struct attribute attribute = {.name = name, .field = PPI_CHAKRA_DOUBLE, .number = value};
    ppi_proto_put_message(proto, field, fill_attribute, &attribute);
}

static void put_text(struct ppi_proto *proto, uint32_t field, const char *name, const char *text)
{
    const struct attribute attribute = {.name = name, .field = PPI_CHAKRA_STRING, .text = text};
    ppi_proto_put_message(proto, field, fill_attribute, &attribute);
}

static void put_tensor(struct ppi_proto *proto, const char *name, const struct ppi_chakra_tensor *tensor)
{
    const struct attribute attribute = {.name = name, .field = PPI_CHAKRA_STRING_LIST, .tensor = tensor};
    ppi_proto_put_message(proto, PPI_CHAKRA_ATTRIBUTE, fill_attribute, &attribute);
}

/* --- messages --- */

static void fill_metadata(struct ppi_proto *proto, const void *what)
{
    const ppsched_chakra *chakra = what;
    const ppsched_schedule *schedule = chakra->schedule;
    const uint32_t field = PPI_CHAKRA_METADATA_ATTRIBUTE;
    ppi_proto_put_text(proto, PPI_CHAKRA_VERSION, "0.0.4");
    put_text(proto, field, "schedule", schedule->name);
    put_integer(proto, field, "devices", schedule->shape.devices);
    put_integer(proto, field, "microbatches", schedule->shape.microbatches);
    put_integer(proto, field, "iterations", schedule->shape.iterations);
    put_integer(proto, field, "flushes", schedule->flushes);
    put_integer(proto, field, "weight_versions", schedule->weight_versions);
    put_text(proto, field, "sizes", ppi_chakra_has_times(chakra) ? "times" : "bytes");
    put_number(proto, field, "time_scale", chakra->options.time_scale);
    put_number(proto, field, "bytes_scale", chakra->options.bytes_scale);
}

static void fill_node(struct ppi_proto *proto, const void *what)
{
    const struct ppi_chakra_node *node = what;
    ppi_proto_put_integer(proto, PPI_CHAKRA_ID, node->id);
    ppi_proto_put_text(proto, PPI_CHAKRA_NAME, node->name);
    ppi_proto_put_integer(proto, PPI_CHAKRA_TYPE, node->type);
    ppi_proto_put_list(proto, PPI_CHAKRA_CTRL_DEPS, node->ctrl.ids, node->ctrl.count);
    ppi_proto_put_list(proto, PPI_CHAKRA_DATA_DEPS, node->data.ids, node->data.count);
    if (node->type == PPI_CHAKRA_COMP) {
        ppi_proto_put_integer(proto, PPI_CHAKRA_DURATION, node->micros);
    } else {
        put_integer(proto, PPI_CHAKRA_ATTRIBUTE, "comm_size", node->bytes);
        put_integer(proto, PPI_CHAKRA_ATTRIBUTE, node->type == PPI_CHAKRA_SEND ? "comm_dst" : "comm_src", node->peer);
        put_integer(proto, PPI_CHAKRA_ATTRIBUTE, "comm_tag", node->tag);
    }
    if (node->has_tensors) {
        put_tensor(proto, "inputs", &node->in);
        put_tensor(proto, "outputs", &node->out);
    }
}

void ppi_chakra_put_metadata(struct ppi_proto *proto, const ppsched_chakra *chakra)
{
    ppi_proto_put_record(proto, fill_metadata, chakra);
}

void ppi_chakra_put_node(struct ppi_proto *proto, const struct ppi_chakra_node *node)
{
    ppi_proto_put_record(proto, fill_node, node);
}
