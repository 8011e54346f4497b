/* SPDX-License-Identifier: Apache-2.0 */
#include "support/no_worse.h"

#include "support/problem.h"

void expect_no_worse(const struct found *found, const struct found *before)
{
    print_message("# %u limits held, %.17g together, in %u evaluations\n", found->held, found->steps, found->evaluations);
    assert_true(found->held >= before->held);
    assert_true(found->held > before->held || found->steps <= before->steps * (1 + 1e-9));
    assert_true(found->evaluations <= before->evaluations);
}
