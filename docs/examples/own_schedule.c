/* SPDX-License-Identifier: Apache-2.0 */
/* A custom schedule: built op by op, then checked, evaluated and exported like the built-in ones. */
#include <stdio.h>
#include <stdlib.h>

#include <ppsched/ppsched.h>

/* GPipe with the backwards in reverse order. */
static ppsched_status reverse_gpipe(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    uint32_t microbatches = ppsched_config_microbatches(config);
    (void)user;
    for (uint32_t device = 0; device < ppsched_config_devices(config); device++)
        for (uint32_t i = 0; i < 2 * microbatches; i++) {
            ppsched_op op = {0};
            op.stage = (uint16_t)device;
            op.kind = i < microbatches ? PPSCHED_KIND_F : PPSCHED_KIND_B;
            op.microbatch = i < microbatches ? i : 2 * microbatches - 1 - i;
            ppsched_status status = ppsched_builder_append(builder, device, &op, 1, NULL);
            if (status != PPSCHED_OK)
                return status;
        }
    return PPSCHED_OK;
}

static int32_t print(void *user, const char *data, size_t size)
{
    (void)user;
    return fwrite(data, 1, size, stdout) == size ? 0 : 1;
}

int main(void)
{
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    if (ppsched_config_create(&config, 3, 3, 4, NULL, &error) != PPSCHED_OK ||
        ppsched_schedule_generate_with(&schedule, config, "reverse_gpipe", reverse_gpipe, NULL, &error) != PPSCHED_OK ||
        ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK ||
        ppsched_schedule_export(schedule, timeline, PPSCHED_FORMAT_TEXT, NULL, print, NULL, &error) != PPSCHED_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return EXIT_SUCCESS;
}
