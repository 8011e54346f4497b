/* SPDX-License-Identifier: Apache-2.0 */
/* A short version of mpi_runtime in C++: runs a queue op by op, and sends values by MPI. The C program also has arenas, times
 * and planning again.
 *
 *   mpirun -n 4 mpi_runtime_cpp interleaved_1f1b 8 8      strategy, stages, microbatches */
#define OMPI_SKIP_MPICXX /* only the C interface */
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ppsched/ppsched.hpp>

#include "mlp.h"

using Value = std::vector<double>;
using Pass = std::pair<uint32_t, uint32_t>; /* stage, microbatch */

struct Message {
    Value value;
    MPI_Request request = MPI_REQUEST_NULL;
};

class Walk {
public:
    Walk(const ppsched::Schedule &schedule, int rank) : schedule_(schedule), rank_(rank), stages_(schedule.stages())
    {
        for (uint32_t stage = 0; stage < stages_.size(); stage++)
            mlp_start(&stages_[stage], stage);
    }

    /* One step; returns this rank's part of the loss. */
    double step()
    {
        loss_ = 0;
        for (const ppsched_op &op : schedule_.queue(static_cast<uint32_t>(rank_)))
            if (op.kind <= PPSCHED_KIND_W)
                compute(op);
            else if (op.kind <= PPSCHED_KIND_RECV_B)
                communicate(op);
        for (auto &[number, sent] : sent_)
            MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
        sent_.clear();
        return loss_;
    }

private:
    static bool goes_back(const ppsched_op &op) { return op.kind == PPSCHED_KIND_SEND_B || op.kind == PPSCHED_KIND_RECV_B; }

    /* Sends are in flight, and receives posted, until an op needs them. */
    void communicate(const ppsched_op &op)
    {
        const bool back = goes_back(op), sends = op.kind == PPSCHED_KIND_SEND_F || op.kind == PPSCHED_KIND_SEND_B;
        const uint32_t other = sends == back ? op.stage - 1u : op.stage + 1u, receiver = sends ? other : op.stage;
        const int peer = static_cast<int>(schedule_.device_of(other, op.microbatch).value());
        const int tag = static_cast<int>(2 * (op.microbatch * schedule_.stages() + receiver)) + back;
        Message &message = (sends ? sent_ : received_)[tag];
        if (sends) {
            message.value = outgoing_[back];
            MPI_Isend(message.value.data(), VALUE, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, &message.request);
        } else {
            message.value.resize(VALUE);
            MPI_Irecv(message.value.data(), VALUE, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, &message.request);
        }
    }

    /* The output of a neighbouring stage, on another device or on this one. */
    Value input(const ppsched_op &op, bool back)
    {
        const int tag = static_cast<int>(2 * (op.microbatch * schedule_.stages() + op.stage)) + back;
        const auto found = received_.find(tag);
        if (found == received_.end())
            return std::move(own_[{back ? op.stage + 1u : op.stage - 1u, 2 * op.microbatch + back}]);
        MPI_Wait(&found->second.request, MPI_STATUS_IGNORE);
        Value value = std::move(found->second.value);
        received_.erase(found);
        return value;
    }

    void compute(const ppsched_op &op)
    {
        activation &kept = kept_[{op.stage, op.microbatch}];
        mlp &stage = stages_[op.stage];
        const uint32_t all = schedule_.microbatches() * schedule_.iterations();
        Value value(VALUE);
        if (op.kind == PPSCHED_KIND_F) {
            if (op.stage == 0)
                mlp_inputs(kept.value[0], op.microbatch);
            else
                std::copy_n(input(op, false).begin(), +VALUE, kept.value[0]);
            mlp_forward(&stage, &kept);
            hand_on(op, false, Value(kept.value[DEPTH], kept.value[DEPTH] + VALUE));
        } else if (op.kind != PPSCHED_KIND_W) {
            if (op.stage + 1u == schedule_.stages())
                loss_ += mlp_loss(value.data(), kept.value[DEPTH], op.microbatch, all);
            else
                value = input(op, true);
            Value by_inputs(VALUE);
            mlp_backward_input(&stage, &kept, value.data(), by_inputs.data());
            hand_on(op, true, std::move(by_inputs));
        }
        if (op.kind == PPSCHED_KIND_B || op.kind == PPSCHED_KIND_W) {
            mlp_backward_weight(&stage, &kept);
            kept_.erase({op.stage, op.microbatch});
        }
    }

    /* Passes an output on: to a send that follows, or to a stage of this device. */
    void hand_on(const ppsched_op &op, bool back, Value value)
    {
        if (schedule_.device_of(back ? op.stage - 1u : op.stage + 1u, op.microbatch) == static_cast<uint32_t>(rank_))
            own_[{op.stage, 2 * op.microbatch + back}] = std::move(value);
        else
            outgoing_[back] = std::move(value);
    }

    ppsched::Schedule schedule_;
    int rank_;
    std::vector<mlp> stages_;
    std::map<Pass, activation> kept_;
    std::map<Pass, Value> own_;
    std::map<int, Message> sent_, received_;
    Value outgoing_[2];
    double loss_ = 0;
};

static bool is_number(const std::string &word)
{
    return !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int rank = 0, ranks = 0, status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        const std::vector<std::string> given(words + 1, words + count);
        if (given.size() != 3 || !is_number(given[1]) || !is_number(given[2]))
            throw std::invalid_argument("usage: mpi_runtime_cpp STRATEGY STAGES MICROBATCHES");
        const ppsched::Config config(ranks, std::stol(given[1]), std::stol(given[2]));
        ppsched::LowerOptions options;
        options.lowering = PPSCHED_LOWERING_JUST_IN_TIME;
        options.receive_prefetch = 1;
        const ppsched::Schedule lowered = ppsched::Schedule::generate(config, given.at(0)).lower(options);
        Walk walk(lowered, rank);
        double loss = walk.step();
        MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0)
            std::printf("loss %.12f\n", loss);
    } catch (const std::exception &error) { /* the same on all ranks */
        if (rank == 0)
            std::fprintf(stderr, "%s\n", error.what());
        status = 1;
    }
    MPI_Finalize();
    return status;
}
