/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of cmocka that tests/support needs, for machines that have none: what fails ends the program. */
#ifndef PPSCHED_TESTS_PLAIN_CMOCKA_H
#define PPSCHED_TESTS_PLAIN_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>

#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(2))
#define assert_true(truth) ((truth) ? (void)0 : fail_msg("%s:%d: not so: %s", __FILE__, __LINE__, #truth))
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_int_not_equal(a, b) assert_true((a) != (b))
#define assert_in_range(value, least, most) assert_true((value) >= (least) && (value) <= (most))

#endif
