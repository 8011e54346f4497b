/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the runtimes on MPI: stages of DEPTH layers tanh(x W), trained to hit given outputs. */
#ifndef MLP_H
#define MLP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WIDTH = 24, ROWS = 16, DEPTH = 2, VALUE = ROWS * WIDTH, WEIGHT = WIDTH * WIDTH };

/* A stage's weights, and the sums of their gradients. */
struct mlp {
    double weight[DEPTH * WEIGHT];
    double gradient[DEPTH * WEIGHT];
};

/* The values of a microbatch that a stage keeps from its forward until its last backward. */
struct activation {
    double value[DEPTH + 1][VALUE]; /* the inputs of each layer, and the output of the last layer */
    double slope[DEPTH][VALUE];     /* from I to W: the gradient by the argument of tanh */
    double received[VALUE];         /* the gradient from the next stage, if that is on the same device */
};

/* A number from -1 to 1 that depends on all three arguments. */
static inline double some(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t x = (a * 73856093u) ^ (b * 19349663u) ^ (c * 83492791u);
    x = (x ^ (x >> 13)) * 1274126177u;
    return (double)((x ^ (x >> 16)) & 0xffff) / 32767.5 - 1;
}

/* The first weights of a stage. They do not depend on its device. */
static inline void mlp_start(struct mlp *mlp, uint32_t stage)
{
    memset(mlp, 0, sizeof *mlp);
    for (uint32_t i = 0; i < DEPTH * WEIGHT; i++)
        mlp->weight[i] = some(stage + 1, i / WEIGHT, i % WEIGHT) / sqrt((double)WIDTH);
}

/* A microbatch's inputs. */
static inline void mlp_inputs(double *inputs, uint32_t microbatch)
{
    for (uint32_t i = 0; i < VALUE; i++)
        inputs[i] = some(microbatch, 11, i);
}

/* The dot product of two lists. The steps are the distances from one value to the next. */
static inline double dot(const double *a, int a_step, const double *b, int b_step, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i * a_step] * b[i * b_step];
    return sum;
}

/* F: computes value[1] to value[DEPTH] from value[0]. */
static inline void mlp_forward(const struct mlp *mlp, struct activation *kept)
{
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < VALUE; i++)
            kept->value[k + 1][i] = tanh(
                dot(&kept->value[k][i - i % WIDTH], 1, &mlp->weight[k * WEIGHT + i % WIDTH], WIDTH, WIDTH));
}

/* Computes the gradient of the loss by the outputs of the model, for one of `count` microbatches. Returns the part of this
 * microbatch in the loss. */
static inline double mlp_loss(double *gradient, const double *outputs, uint32_t microbatch, uint32_t count)
{
    double loss = 0;
    for (uint32_t i = 0; i < VALUE; i++) {
        double miss = outputs[i] - 0.5 * some(microbatch, 12, i);
        gradient[i] = miss / count;
        loss += miss * miss / 2 / count;
    }
    return loss;
}

/* I: computes the gradient by the inputs, and the slopes, from the gradient by the outputs. */
static inline void mlp_backward_input(const struct mlp *mlp, struct activation *kept, const double *by_outputs,
                                      double *by_inputs)
{
    const double *above = by_outputs;
    for (int k = DEPTH; k-- > 0; above = by_inputs) {
        for (int i = 0; i < VALUE; i++)
            kept->slope[k][i] = above[i] * (1 - kept->value[k + 1][i] * kept->value[k + 1][i]);
        for (int i = 0; i < VALUE; i++)
            by_inputs[i] = dot(&kept->slope[k][i - i % WIDTH], 1, &mlp->weight[k * WEIGHT + i % WIDTH * WIDTH], 1, WIDTH);
    }
}

/* W: adds the gradients by the weights. */
static inline void mlp_backward_weight(struct mlp *mlp, const struct activation *kept)
{
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < WEIGHT; i++)
            mlp->gradient[k * WEIGHT + i] += dot(&kept->value[k][i / WIDTH], WIDTH, &kept->slope[k][i % WIDTH], WIDTH, ROWS);
}

/* Takes one step of gradient descent, and sets the gradients to 0. */
static inline void mlp_descend(struct mlp *mlp, double rate)
{
    for (int i = 0; i < DEPTH * WEIGHT; i++)
        mlp->weight[i] -= rate * mlp->gradient[i];
    memset(mlp->gradient, 0, sizeof mlp->gradient);
}

#endif
