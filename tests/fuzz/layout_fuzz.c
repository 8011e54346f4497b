/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: a string, and the numbers of a split. With a fuzzer: see docs/testing.md; without: the corpus, by main.c. */
#include "fuzz/harness.h"

#include <string.h>

#include "fuzz/bytes.h"

static void expect_same(const ppsched_layout *a, const ppsched_layout *b)
{
    size_t count = 0, other = 0;
    const ppsched_layout_stage *stages = ppsched_layout_stages(a, &count);
    const ppsched_layout_stage *others = ppsched_layout_stages(b, &other);
    EXPECT(count == other && memcmp(stages, others, count * sizeof *stages) == 0);
    EXPECT(ppsched_layout_devices(a) == ppsched_layout_devices(b));
}

/* Whatever was made obeys the rules, and is read back from its text and from its records. */
static void expect_layout(ppsched_layout *layout)
{
    size_t count = 0, needed = 0;
    ppsched_layout *again = NULL;
    const ppsched_layout_stage *stages = ppsched_layout_stages(layout, &count);
    const uint32_t devices = ppsched_layout_devices(layout);
    EXPECT(count == (size_t)devices * ppsched_layout_chunks(layout) && count <= PPSCHED_MAX_STAGES);
    EXPECT(ppsched_layout_write_text(NULL, 0, &needed, layout, NULL) == PPSCHED_OK);
    char *text = malloc(needed);
    EXPECT(text != NULL && ppsched_layout_write_text(text, needed, NULL, layout, NULL) == PPSCHED_OK);
    EXPECT(ppsched_layout_create_from_text(&again, text, needed - 1, devices, NULL, NULL, NULL) == PPSCHED_OK);
    expect_same(layout, again);
    ppsched_layout_destroy(again);
    EXPECT(ppsched_layout_create(&again, devices, stages, count, NULL, NULL) == PPSCHED_OK);
    expect_same(layout, again);
    ppsched_layout_destroy(again);
    ppsched_layout_destroy(layout);
    free(text);
}

static void read_text(const char *data, size_t size, int64_t devices)
{
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    ppsched_layout *layout = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_layout_create_from_text(&layout, data, size, devices, NULL, &environment, &error);
    EXPECT((layout != NULL) == (status == PPSCHED_OK));
    EXPECT(meter.peak <= 32u * 1000 * 1000);
    if (accepted(status, &error))
        expect_layout(layout);
    else
        EXPECT(status != PPSCHED_ERROR_SYNTAX || error.position < size);
    EXPECT(meter.used == 0);
}

/* A number that a split may have, or any. */
static int64_t number(struct bytes *bytes)
{
    const uint32_t choice = take_below(bytes, 8);
    if (choice == 0)
        return take_integer(bytes);
    return choice == 1 ? take_u32(bytes) % 1100000 : (int64_t)take_below(bytes, 32);
}

static int64_t optional(struct bytes *bytes)
{
    return take_below(bytes, 3) == 0 ? number(bytes) : 0;
}

static void split(struct bytes *bytes)
{
    const ppsched_megatron_split flags = {.size = sizeof flags,
                                          .account_for_embedding = take_below(bytes, 2),
                                          .account_for_loss = take_below(bytes, 2),
                                          .no_overlap = take_below(bytes, 2),
                                          .layers_per_chunk = optional(bytes),
                                          .chunks = optional(bytes),
                                          .first_decoders = optional(bytes),
                                          .last_decoders = optional(bytes)};
    const int64_t decoders = number(bytes), devices = number(bytes), first = number(bytes), last = number(bytes);
    ppsched_layout *layout = NULL;
    ppsched_error error = fresh_error();
    uint32_t stages = 0;
    if (accepted(ppsched_layout_create_from_megatron(&layout, decoders, devices, &flags, NULL, &error), &error))
        expect_layout(layout);
    error = fresh_error();
    if (!accepted(ppsched_layout_find_torchtitan_stages(&stages, decoders, devices, number(bytes), first, last,
                                                        take_below(bytes, 2), &error),
                  &error))
        return;
    error = fresh_error();
    if (accepted(ppsched_layout_create_from_torchtitan(&layout, decoders, devices, stages, first, last, NULL, &error), &error))
        expect_layout(layout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size};
    if (size > 0)
        read_text((const char *)data + 1, size - 1, data[0] - '0'); /* the first digit: devices */
    split(&bytes);
    return 0;
}
