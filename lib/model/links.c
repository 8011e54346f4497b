/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives by a ring or all-to-all, inside a node, between nodes or between pods. */
#include "model/rates.h"
#include "model/table.h"

uint64_t ppi_pod_devices(const ppsched_accelerator *device)
{
    return (uint64_t)device->pod_nodes * device->node_devices;
}

enum ppi_distance ppi_distance_of(const ppsched_accelerator *device, double span)
{
    if (span <= device->node_devices)
        return PPI_IN_NODE;
    return device->pod_nodes == 0 || span <= (double)ppi_pod_devices(device) ? PPI_IN_POD : PPI_BEYOND;
}

const ppsched_link_rate *ppi_link_over(const ppsched_accelerator *device, enum ppi_distance distance)
{
    return distance == PPI_IN_NODE ? &device->inside : distance == PPI_IN_POD ? &device->between : &device->beyond;
}

struct ppi_spread ppi_spread_of(const ppsched_model *model, enum ppi_group group)
{
    const ppsched_training *training = &model->training;
    double t = training->tensor_parallel, c = training->context_parallel;
    if (group == PPI_GROUP_TENSOR)
        return (struct ppi_spread){t, t, 0};
    if (group == PPI_GROUP_CONTEXT)
        return (struct ppi_spread){c, t * c, 0};
    if (group == PPI_GROUP_EXPERT_TENSOR)
        return (struct ppi_spread){training->expert_tensor_parallel, training->expert_tensor_parallel, 0};
    return (struct ppi_spread){training->expert_parallel, (double)training->expert_parallel * training->expert_tensor_parallel,
                               0};
}

static double over(const ppsched_link_rate *link, double bytes)
{
    return bytes / (link->bandwidth * ppi_or_1(link->efficiency));
}

/* Devices of the group in one node. */
static double near_of(const ppsched_model *model, struct ppi_spread group)
{
    double spread = group.span / group.count, near = group.near > 0 ? group.near : model->device.node_devices / spread;
    return near < 1 ? 1 : near > group.count ? group.count : near;
}

/* By the links inside a node, of which a group has `near` devices. Where each pair has its own link, these are of its pairs. */
static double over_inside(const ppsched_model *model, double near, double bytes)
{
    double share = (near - 1) * model->device.pair_share;
    return over(&model->device.inside, bytes) / (share > 0 && share < 1 ? share : 1);
}

/* Devices of the group in one pod, `near` of them in each node. */
static double pod_of(const ppsched_model *model, struct ppi_spread group, double near)
{
    if (model->device.pod_nodes == 0)
        return group.count;
    double in_pod = (double)ppi_pod_devices(&model->device) / (group.span / group.count);
    return in_pod < near ? near : in_pod > group.count ? group.count : in_pod;
}

/* Seconds of a part that goes over one link. */
static double part_of_peak(const ppsched_link_rate *link, double bytes)
{
    return bytes > 0 ? link->latency + over(link, bytes) : 0;
}

/* The part within the node uses the inside link, the rest the links between nodes and pods, one after the other. */
static double all_to_all(const ppsched_model *model, struct ppi_spread group, double bytes)
{
    const ppsched_accelerator *device = &model->device;
    double near = near_of(model, group), in_pod = pod_of(model, group, near);
    double inside = (near - 1) / group.count * bytes, outside = (in_pod - near) / group.count * bytes;
    double time = (inside > 0 ? device->inside.latency + over_inside(model, near, inside) : 0) +
                  part_of_peak(&device->between, outside);
    return time + part_of_peak(&device->beyond, (group.count - in_pod) / group.count * bytes);
}

/* Of `copies` of a row to random places, at how many of these some arrives, on average. */
static double reached(double places, double copies)
{
    double none = 1;
    for (uint32_t i = 0; i < copies; i++)
        none *= 1 - 1 / places;
    return places * (1 - none);
}

/* Rows go on inside the node while others cross. */
double ppi_exchange_time(const ppsched_model *model, struct ppi_spread group, double bytes, double copies)
{
    const ppsched_accelerator *device = &model->device;
    double near = near_of(model, group), nodes = group.count / near;
    if (group.count <= 1 || (model->training.flags & PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE) == 0)
        return ppi_collective_time(model, group, PPI_ALL_TO_ALL, bytes);
    double row = bytes / copies, inside = over_inside(model, near, row * reached(group.count, copies) * (near - 1) / near);
    if (nodes <= 1)
        return device->inside.latency + inside;
    double crossing = row * reached(nodes, copies), near_nodes = pod_of(model, group, near) / near;
    double outside = over(&device->between, crossing * (near_nodes - 1) / nodes);
    if (near_nodes >= nodes)
        return device->between.latency + (inside > outside ? inside : outside);
    outside += over(&device->beyond, crossing * (nodes - near_nodes) / nodes);
    return device->beyond.latency + (inside > outside ? inside : outside);
}

/* Of a ring between nodes: one for each device of the group in a node; of a part of a node there may be a limit. */
static double ports_of(const ppsched_model *model, struct ppi_spread group)
{
    double near = near_of(model, group), most = model->device.part_node_ports;
    return most > 0 && near < model->device.node_devices && near > most ? most : near;
}

/* Between nodes a ring has one port, or with shared ports several, up to the rate inside.
 * Between pods it is as slow as the slower of both links. */
static double ring(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective, double bytes)
{
    const ppsched_accelerator *device = &model->device;
    const ppsched_link_rate *link = ppi_link_over(device, ppi_distance_of(device, group.span));
    double factor = collective == PPI_ALL_REDUCE ? 2 * ppi_or_1(link->all_reduce) : ppi_or_1(link->all_gather);
    double sent = factor * (bytes * (1 - 1 / group.count)), inside = over_inside(model, near_of(model, group), sent);
    double time = link == &device->inside ? inside : over(link, sent);
    if (link == &device->beyond && time < over(&device->between, sent))
        time = over(&device->between, sent);
    if (link != &device->inside && device->shares_ports != 0) {
        time /= ports_of(model, group);
        time = time > inside ? time : inside;
    }
    return link->latency + time;
}

double ppi_predicted_collective(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective,
                                double bytes)
{
    return collective == PPI_ALL_TO_ALL ? all_to_all(model, group, bytes) : ring(model, group, collective, bytes);
}

double ppi_collective_time(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective, double bytes)
{
    if (collective == PPI_NO_COLLECTIVE || group.count <= 1)
        return 0;
    double time = ppi_predicted_collective(model, group, collective, bytes);
    return model->collectives == NULL ? time : ppi_measured_collective(model, group, collective, bytes, time);
}
