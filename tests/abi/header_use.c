/* SPDX-License-Identifier: Apache-2.0 */
/* Uses what the headers define, in the common part of C and C++. */
#include <ppsched/ppsched.h>

PPSCHED_API int use_of_headers(void);

int use_of_headers(void)
{
    ppsched_environment environment = {0, 0, 0, 0, 0, 0};
    ppsched_op op = {0, 0, 0, PPSCHED_KIND_F, PPSCHED_OP_FLAG_OVERLAPPED, 0};
    ppsched_error error;
    ppsched_config *config = 0;
    environment.size = sizeof environment;
    if (ppsched_config_create(&config, 1, 1, 1, &environment, &error) != PPSCHED_OK)
        return 1;
    ppsched_config_destroy(config);
    return op.kind == PPSCHED_KIND_F ? 0 : 1;
}
