/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a device that runs may correct, and how far one is thought to be from its start. */
#include <stddef.h>

#include "base/checked.h"
#include "base/logarithm.h"
#include "calibrator/calibrator.h"

static const struct {
    size_t field;
    double spread;     /* standard deviation of the logarithm */
    int32_t precision; /* enum ppsched_precision: the runs that it is for; BF16: all */
} constants[PPI_CALIBRATOR_CONSTANTS] = {
    [PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE] = {offsetof(ppsched_accelerator, matrix_share), 0.4, PPSCHED_PRECISION_BF16},
    [PPSCHED_CALIBRATOR_CONSTANT_ATTENTION_SHARE] = {offsetof(ppsched_accelerator, attention_share), 0.1,
                                                     PPSCHED_PRECISION_BF16},
    [PPSCHED_CALIBRATOR_CONSTANT_OP_TIME] = {offsetof(ppsched_accelerator, op_time), 0.3, PPSCHED_PRECISION_BF16},
    [PPSCHED_CALIBRATOR_CONSTANT_HOST_TIME] = {offsetof(ppsched_accelerator, host_time), 0.3, PPSCHED_PRECISION_BF16},
    [PPSCHED_CALIBRATOR_CONSTANT_FP8_SHARE] = {offsetof(ppsched_accelerator, fp8_share), 0.2, PPSCHED_PRECISION_FP8},
    [PPSCHED_CALIBRATOR_CONSTANT_MXFP8_SHARE] = {offsetof(ppsched_accelerator, mxfp8_share), 0.2, PPSCHED_PRECISION_MXFP8},
    [PPSCHED_CALIBRATOR_CONSTANT_NVFP4_SHARE] = {offsetof(ppsched_accelerator, nvfp4_share), 0.2, PPSCHED_PRECISION_NVFP4}};

static const double noise = 0.08; /* of a run: standard deviation of the logarithm */

double *ppi_calibrator_field(ppsched_accelerator *device, int32_t constant)
{
    return (double *)(void *)((unsigned char *)device + constants[constant].field);
}

/* Without a share of MXFP8 a device has no MXFP8. */
void ppi_calibrator_tell_shares(ppsched_accelerator *device)
{
    device->matrix_share = device->matrix_share > 0 ? device->matrix_share : 1;
    device->attention_share = device->attention_share > 0 ? device->attention_share : device->matrix_share;
    device->fp8_share = device->fp8_share > 0 ? device->fp8_share : 1;
    device->nvfp4_share = device->nvfp4_share > 0 ? device->nvfp4_share : 1;
}

static bool is_for_a_run(const ppsched_calibrator *calibrator, int32_t precision)
{
    if (precision == PPSCHED_PRECISION_BF16)
        return true;
    for (uint32_t i = 0; i < calibrator->count; i++)
        if (calibrator->runs[i].training.precision == precision)
            return true;
    return false;
}

void ppi_calibrator_list_constants(ppsched_calibrator *calibrator)
{
    calibrator->constant_count = 0;
    for (int32_t i = 0; i < PPI_CALIBRATOR_CONSTANTS; i++)
        if (*ppi_calibrator_field(&calibrator->start, i) > 0 && is_for_a_run(calibrator, constants[i].precision))
            calibrator->names[calibrator->constant_count++] = i;
}

void ppi_calibrator_start(struct ppi_constants *origin, struct ppi_constants *weights, const ppsched_calibrator *calibrator)
{
    ppsched_accelerator start = calibrator->start;
    for (uint32_t i = 0; i < calibrator->constant_count; i++) {
        double ratio = noise / constants[calibrator->names[i]].spread;
        origin->values[i] = ppi_logarithm(*ppi_calibrator_field(&start, calibrator->names[i]));
        weights->values[i] = ratio * ratio;
    }
}

/* No constant leaves the bounds of a device: shares are at most 2, times at most 1 s; one of 0 would mean its default. */
ppsched_accelerator ppi_calibrator_device(const ppsched_calibrator *calibrator, const struct ppi_constants *point)
{
    ppsched_accelerator device = calibrator->start;
    for (uint32_t i = 0; i < calibrator->constant_count; i++) {
        int32_t name = calibrator->names[i];
        bool is_time = name == PPSCHED_CALIBRATOR_CONSTANT_OP_TIME || name == PPSCHED_CALIBRATOR_CONSTANT_HOST_TIME;
        double most = is_time ? 1 : 2, value = ppi_larger(ppi_exponential(point->values[i]), 1e-30);
        *ppi_calibrator_field(&device, name) = ppi_smaller(value, most);
    }
    return device;
}
