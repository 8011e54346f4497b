/* SPDX-License-Identifier: Apache-2.0 */
/* Audio towers: an encoder of frames of sound, and what hands its output to the text model. */
#include <string.h>

#include "description/families/common_mixers.h"
#include "description/families/tower_parts.h"
#include "description/families/towers.h"

/* A size under the name that all models have, which the class takes over its own name. */
static uint32_t audio_size(struct ppi_fields *audio, const char *common, const char *own, uint32_t otherwise)
{
    return ppi_count_or(audio, common, 1, ppi_count_or(audio, own, 1, otherwise));
}

static void read_audio_sizes(struct ppi_fields *audio, struct ppi_tower_parts *parts)
{
    parts->tower.name = "audio";
    parts->tower.hidden_size = audio_size(audio, "hidden_size", "d_model", 1280);
    parts->tower.layers = audio_size(audio, "num_hidden_layers", "encoder_layers", 32);
    parts->mlp->width = audio_size(audio, "intermediate_size", "encoder_ffn_dim", 5120);
    parts->attention->heads = audio_size(audio, "num_attention_heads", "encoder_attention_heads", 20);
    parts->tower.has_norm_bias = 1;
    ppi_ignore(audio, "activation_function|activation_dropout|attention_dropout|dropout|scale_embedding|max_source_positions");
}

/* A convolution of `places` values, or of `places` by `places`, with a bias. */
static double convolution(double in, double out, double places)
{
    return in * out * places + out;
}

/* --- Qwen3-Omni --- */

/* Three convolutions halve the frames and the bins of a spectrum. Each window of the attention has the frames of several
 * convolutions. The file does not say how many frames there are. */
static void read_qwen3_omni(struct ppi_fields *audio, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    read_audio_sizes(audio, parts);
    double hidden = parts->tower.hidden_size, deep = ppi_count_or(audio, "downsample_hidden_size", 1, 480);
    double out = ppi_count_or(audio, "output_dim", 1, 3584);
    uint32_t bins = ppi_count_or(audio, "num_mel_bins", 1, 128), frames = ppi_count_or(audio, "n_window", 1, 50);
    uint32_t seen = ppi_count_or(audio, "n_window_infer", 1, 800), windows = frames > 0 ? seen / frames / 2 : 0;
    frames = ppi_size_product(audio, "the frames of a window", 2, frames);
    for (int i = 0; i < 3; i++) {
        bins = bins / 2 + bins % 2;
        frames = frames / 2 + frames % 2;
    }
    parts->chunk = ppi_size_product(audio, "the frames of a window", frames, windows > 0 ? windows : 1);
    parts->others = convolution(1, deep, 9) + 2 * convolution(deep, deep, 9) + deep * bins * hidden + 2 * hidden +
                    hidden * hidden + hidden + hidden * out + out;
    ppi_ignore(audio, "conv_chunksize");
    (void)wrapper;
}

/* --- Qwen2.5-Omni --- */

/* Queries and values have biases, keys have none. Two convolutions, of which the second halves the frames; attention sees the
 * frames of one window. */
static void read_qwen2_omni(struct ppi_fields *audio, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    read_audio_sizes(audio, parts);
    double hidden = parts->tower.hidden_size, out = ppi_count_or(audio, "output_dim", 1, 3584);
    parts->chunk = ppi_count_or(audio, "n_window", 1, 100);
    parts->others = convolution(ppi_count_or(audio, "num_mel_bins", 1, 128), hidden, 3) + convolution(hidden, hidden, 3) +
                    2 * out + 2 * hidden + hidden * out + out;
    parts->attention->flags = PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    parts->attention->extra_parameters = 2 * (uint64_t)parts->tower.hidden_size;
    parts->tower.patches_per_token = 2;
    (void)wrapper;
}

/* --- all --- */

ppi_tower_function ppi_audio_tower_of(const char *family)
{
    static const struct {
        const char *family;
        ppi_tower_function read;
    } towers[] = {{"qwen2_5_omni", read_qwen2_omni},
                  {"qwen2_5_omni_thinker", read_qwen2_omni},
                  {"qwen3_omni_moe", read_qwen3_omni},
                  {"qwen3_omni_moe_thinker", read_qwen3_omni}};
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (strcmp(towers[i].family, family) == 0)
            return towers[i].read;
    return NULL;
}
