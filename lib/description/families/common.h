/* SPDX-License-Identifier: Apache-2.0 */
/* What families of attention with an MLP or experts share: the sizes of a class, its layers, and which layer has a window or
 * experts. */
#ifndef PPSCHED_DESCRIPTION_FAMILIES_COMMON_H
#define PPSCHED_DESCRIPTION_FAMILIES_COMMON_H

#include "description/families/common_mixers.h"

/* Properties of a class. */
enum ppi_class_trait {
    PPI_CLASS_TIED = 1,         /* the output is tied, if the file does not say */
    PPI_CLASS_BIAS = 2,         /* attention_bias: of all four projections */
    PPI_CLASS_INPUT_BIAS = 4,   /* attention_bias: of queries, keys and values alone */
    PPI_CLASS_IS_BIASED = 8,    /* it is true, if the file does not say */
    PPI_CLASS_ALWAYS_BIAS = 16, /* queries, keys and values have biases, and there is no attention_bias */
    PPI_CLASS_MLP_BIAS = 32,    /* mlp_bias */
    PPI_CLASS_QK_NORM = 64,
    PPI_CLASS_QK_NORM_ALL = 128,
    PPI_CLASS_NO_GATE = 256,
    PPI_CLASS_WINDOW = 512,         /* sliding_window, in the layers that layer_types names */
    PPI_CLASS_WINDOW_ALL = 1024,    /* the same; in all layers if it names none, and there is no interval */
    PPI_CLASS_OWN_WIDTH = 2048,     /* the family reads the width of an MLP itself */
    PPI_CLASS_OUTPUT_GATE = 4096,   /* of attention, for each element */
    PPI_CLASS_NO_HEAD_DIM = 8192,   /* the class takes no notice of head_dim */
    PPI_CLASS_FREE_QK_NORM = 16384, /* norms of queries and keys without weights */
    PPI_CLASS_OWN_TYPES = 32768,    /* the family reads layer_types itself */
    PPI_CLASS_OWN_LAYERS = 65536    /* and the number of layers */
};

/* Sizes of a class, for a config in another that does not say them. */
struct ppi_sizes {
    uint32_t vocabulary, hidden, width, layers, heads;
    uint32_t key_value_heads; /* 0: as heads */
    uint32_t head_size;       /* 0: hidden / heads */
};

/* What a class has. A file of its own must say the first five sizes. */
struct ppi_family_class {
    struct ppi_sizes sizes;
    uint32_t traits;           /* enum ppi_class_trait */
    uint32_t window;           /* 0: none */
    uint32_t interval, offset; /* attention is full in the layers i where interval divides i + offset; 0: in none */
    uint32_t norms;            /* of each block; 0: 1 */
};

/* The layers of a family: what they may be made of, and which layer has what. */
struct ppi_stack {
    uint32_t layers;
    ppsched_block attention, mlp, experts;
    ppsched_block windowed;                      /* attention of layers with a window */
    const struct ppi_json_value *types;          /* layer_types; NULL: by the numbers below */
    uint32_t interval, offset;                   /* as in ppi_family_class */
    uint32_t first_window, end_window;           /* only layers from and before them have a window */
    const struct ppi_json_value *widths;         /* mlp_layer_types, of "sparse" and "dense"; NULL: by what follows */
    const struct ppi_json_value *marks;          /* else of each layer whether it has experts: true, or 1 */
    const struct ppi_json_value *dense, *sparse; /* numbers of layers without experts, and of all that have some */
    uint32_t end_sparse;                         /* and those from it on; 0: no end */
    uint32_t first_sparse;                       /* the layers before it have no experts */
    bool has_mtp;                                /* layers of multi-token prediction, which are like the last layer */
    uint32_t sparse_interval, sparse_offset;     /* others have some where it divides i + offset; 0: all */
};

/* Reads the sizes of the model, and blocks of attention and an MLP by the usual names. */
struct ppi_stack ppi_read_stack(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class);

/* The window of layers that have one. */
void ppi_read_window(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t otherwise);

/* Experts, of which the file may say other numbers than these; `width` 0: the file must say it. */
ppsched_block ppi_read_experts(struct ppi_fields *fields, const char *names, uint32_t experts, uint32_t per_token,
                               uint32_t width);

/* As many shared experts, each as wide as a routed one. */
void ppi_read_shared(struct ppi_fields *fields, ppsched_block *experts, const char *names, uint32_t otherwise);

/* The kinds of feed-forward by layer, and the number of first layers without experts. */
void ppi_read_dense_layers(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t otherwise);

/* The same for a class that does not have this number: a file may have it too, if it is `dense`. */
void ppi_read_widths(struct ppi_fields *fields, struct ppi_stack *stack, uint32_t dense);

/* The number that per_layer_config has for a layer, else `otherwise`; refuses others than this name and `other` (or NULL). */
uint32_t ppi_read_override(struct ppi_fields *fields, uint32_t layer, const char *name, const char *other, uint32_t otherwise);

/* Adds a layer; `has_window`: with the attention of those that have one. */
void ppi_add_layer(struct ppi_draft *draft, const struct ppi_stack *stack, uint32_t layer, bool has_window);

/* Adds all layers, and those of multi-token prediction. */
void ppi_add_layers(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_stack *stack);

/* A family that is all in its class. */
void ppi_read_plain(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class);

#endif
