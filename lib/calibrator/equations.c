/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares of straight lines. */
#include "calibrator/calibrator.h"

void ppi_equations_add(struct ppi_equations *equations, double error, const struct ppi_constants *slopes, double sign)
{
    for (uint32_t i = 0; i < equations->count; i++) {
        equations->right[i] -= sign * slopes->values[i] * error;
        for (uint32_t j = 0; j < equations->count; j++)
            equations->matrix[i][j] += sign * slopes->values[i] * slopes->values[j];
    }
}

/* By factors L D L^T, with 1 in the diagonal of L: no square root is needed. */
void ppi_equations_move(struct ppi_constants *point, const struct ppi_equations *equations)
{
    double lower[PPI_CALIBRATOR_CONSTANTS][PPI_CALIBRATOR_CONSTANTS] = {{0}};
    double diagonal[PPI_CALIBRATOR_CONSTANTS], solved[PPI_CALIBRATOR_CONSTANTS];
    uint32_t count = equations->count;
    for (uint32_t i = 0; i < count; i++) {
        double rest = equations->matrix[i][i], right = equations->right[i];
        for (uint32_t j = 0; j < i; j++) {
            double factor = equations->matrix[i][j];
            for (uint32_t k = 0; k < j; k++)
                factor -= lower[i][k] * diagonal[k] * lower[j][k];
            lower[i][j] = factor / diagonal[j];
            rest -= lower[i][j] * lower[i][j] * diagonal[j];
            right -= lower[i][j] * solved[j];
        }
        diagonal[i] = rest;
        solved[i] = right;
    }
    for (uint32_t i = count; i-- > 0;) {
        solved[i] /= diagonal[i];
        for (uint32_t k = i + 1; k < count; k++)
            solved[i] -= lower[k][i] * solved[k];
        point->values[i] += solved[i];
    }
}
