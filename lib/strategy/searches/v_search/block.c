/* SPDX-License-Identifier: Apache-2.0 */
/* A block is laid on a grid of cells, one row per device; the warm-up is rewritten, all ops are squeezed to the left, the
 * cool-down is laid, and weight gradients go last. Rows keep what a squeeze has placed, so that the next one continues at the
 * first changed column. */
#include "strategy/searches/v_search/block.h"

#include <string.h>

/* The content of a cell: nothing, or an op of the device's first or second stage. F1 to I1 are in the order in which a
 * microbatch runs, F1 and I2 down the devices, F2 and I1 up; then come the weight gradients. */
enum letter { BLANK, F1, F2, I2, I1, W2, W1, LETTERS };

enum { WEIGHTS = 1 << W2 | 1 << W1 };

/* A letter's kind and stage, the letter that precedes it on every device, and the stage passes that it adds to those held. */
static const struct {
    uint8_t kind, stage, after;
    int8_t held;
} traits[LETTERS] = {
    [F1] = {PPSCHED_KIND_F, 0, BLANK, 1}, [F2] = {PPSCHED_KIND_F, 1, F1, 1},  [I2] = {PPSCHED_KIND_I, 1, F2, 0},
    [I1] = {PPSCHED_KIND_I, 0, I2, 0},    [W2] = {PPSCHED_KIND_W, 1, I2, -1}, [W1] = {PPSCHED_KIND_W, 0, I1, -1},
};

/* One device. */
struct row {
    uint8_t *cells, *spare;          /* spare: the cells that a squeeze has still to move */
    uint8_t slot[LETTERS];           /* in the repeated pattern */
    int64_t first[LETTERS];          /* the column of each letter's first op in the pattern */
    int64_t left[LETTERS];           /* ops removed from the warm-up, to be laid again */
    int64_t next;                    /* the first free column during a squeeze */
    int64_t count[PPI_V_PATH + 1];   /* by letter: the ops that a squeeze has placed */
    int32_t *behind[PPI_V_PATH + 1]; /* by letter and op: the columns after them */
};

struct ppi_v_grid {
    int64_t devices, microbatches, built; /* built: microbatches of the repeated pattern, the most ops of a letter in a row */
    int64_t columns, used;                /* allocated; all cells from `used` on are blank */
    int64_t squeezed;                     /* columns before it are unchanged since the last squeeze */
    int64_t peak;                         /* limit of stage passes, from F to W, that a device holds */
    struct row *row;                      /* by device, and one beyond either end */
    struct ppi_poll *poll;                /* counts the work */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool runs_down(uint8_t letter)
{
    return letter % 2 == 1;
}

/* --- memory: the grid, its rows, the columns after the ops that squeezes placed, the cells. In the rows beyond either end all
 * ops count as placed before the first column. --- */

/* The first microbatch takes at most a period for each letter of its path on each device, the others one each. */
static struct ppi_v_grid size_grid(int64_t devices, int64_t microbatches)
{
    struct ppi_v_grid grid = {.devices = devices, .microbatches = microbatches, .built = most(microbatches, 2 * devices)};
    grid.columns = PPI_V_PERIOD * (1 + PPI_V_PATH * devices + grid.built);
    return grid;
}

int64_t ppi_v_grid_bytes(int64_t devices, int64_t microbatches)
{
    const struct ppi_v_grid grid = size_grid(devices, microbatches);
    const int64_t placed = PPI_V_PATH * grid.built * (int64_t)sizeof(int32_t);
    return (int64_t)sizeof grid + (devices + 2) * ((int64_t)sizeof *grid.row + placed + 2 * grid.columns);
}

struct ppi_v_grid *ppi_v_grid_make(const struct ppi_host *host, int64_t devices, int64_t microbatches)
{
    struct ppi_v_grid *grid = ppi_allocate_zeroed(host, 1, (size_t)ppi_v_grid_bytes(devices, microbatches));
    if (grid == NULL)
        return NULL;
    *grid = size_grid(devices, microbatches);
    struct row *row = (struct row *)(grid + 1);
    int32_t *behind = (int32_t *)(row + devices + 2);
    uint8_t *cells = (uint8_t *)(behind + (devices + 2) * PPI_V_PATH * grid->built);
    grid->row = row + 1;
    for (int64_t i = 0; i < devices + 2; i++, row++, cells += 2 * grid->columns) {
        row->cells = cells;
        row->spare = cells + grid->columns;
        for (uint8_t letter = F1; letter <= I1; letter++, behind += grid->built) {
            row->behind[letter] = behind;
            row->count[letter] = i % (devices + 1) == 0 ? grid->built : 0;
        }
    }
    return grid;
}

/* --- work --- */

/* Counts so many cells as work. False where the caller stops the search. */
static inline bool go_on(struct ppi_v_grid *grid, int64_t cells)
{
    enum { CELLS_OF_VISIT = 8 };
    return ppi_poll_spend(grid->poll, (double)cells / CELLS_OF_VISIT, NULL) == PPSCHED_OK;
}

/* --- cells --- */

/* Changes a cell; the ops after it may then be squeezed further. */
static void set_cell(struct ppi_v_grid *grid, struct row *row, int64_t column, uint8_t letter)
{
    row->cells[column] = letter;
    grid->squeezed = least(grid->squeezed, column);
    grid->used = most(grid->used, column + 1);
}

/* The last column before `end` with one of a set of letters, or the second last and so on; -1 where there are not so many. */
static int64_t find_last(const struct row *row, int64_t end, uint32_t set, int64_t nth)
{
    while (--end >= 0 && ((set >> row->cells[end] & 1) == 0 || --nth > 0))
        ;
    return end;
}

/* The most stage passes that a device holds before a column. */
static int64_t find_peak(const struct row *row, int64_t end)
{
    int64_t peak = 0;
    for (int64_t c = 0, held = 0; c < end; c++) {
        held += traits[row->cells[c]].held;
        peak = most(peak, held);
    }
    return peak;
}

/* Counts an op; returns whether the op of the letter before was counted already (of F1: the microbatch exists). */
static bool is_due(int64_t count[LETTERS], uint8_t letter)
{
    return count[letter]++ < count[traits[letter].after];
}

/* The first column whose op is not due, or `used`. */
static int64_t find_early(const struct ppi_v_grid *grid, const struct row *row)
{
    int64_t count[LETTERS] = {[BLANK] = grid->microbatches}, c = 0;
    while (c < grid->used && (row->cells[c] == BLANK || is_due(count, row->cells[c])))
        c++;
    return c;
}

/* --- the squeeze: all ops move as far left as the order of their device and the same op on the neighbour before allow --- */

/* Resets a row to the last squeeze up to the first changed column; the cells after it become spare ones. */
static void resume_row(const struct ppi_v_grid *grid, struct row *row)
{
    const int64_t fixed = grid->squeezed;
    memcpy(row->spare + fixed, row->cells + fixed, (size_t)(grid->used - fixed));
    memset(row->cells + fixed, BLANK, (size_t)(grid->used - fixed));
    row->next = find_last(row, fixed, ~(1u << BLANK), 1) + 1;
    for (uint8_t letter = F1; letter <= I1; letter++)
        while (row->count[letter] > 0 && row->behind[letter][row->count[letter] - 1] > fixed)
            row->count[letter]--;
}

/* Squeezes one cell, if its letter runs in this direction. False where the op comes before the one it depends on. */
static inline bool squeeze_cell(const struct ppi_v_grid *grid, struct row *row, int64_t column, bool down)
{
    const uint8_t letter = row->spare[column];
    if (letter == BLANK || runs_down(letter) != down)
        return true;
    if (letter <= I1) {
        const struct row *before = down ? row - 1 : row + 1;
        int64_t k = row->count[letter]++;
        if (k >= before->count[letter])
            return false;
        row->next = most(row->next, before->behind[letter][k]);
        row->behind[letter][k] = (int32_t)row->next + 1;
    }
    if (row->next >= grid->columns)
        return false;
    row->cells[row->next++] = letter;
    return true;
}

static bool squeeze(struct ppi_v_grid *grid)
{
    for (int64_t i = 0; i < grid->devices; i++)
        resume_row(grid, &grid->row[i]);
    for (int64_t c = grid->squeezed; c < grid->used; c++) {
        if (!go_on(grid, grid->devices))
            return false;
        for (int64_t i = 0; i < grid->devices; i++)
            if (!squeeze_cell(grid, &grid->row[i], c, true))
                return false;
        for (int64_t i = grid->devices; i-- > 0;)
            if (!squeeze_cell(grid, &grid->row[i], c, false))
                return false;
    }
    grid->used = 0;
    for (int64_t i = 0; i < grid->devices; i++)
        grid->used = most(grid->used, grid->row[i].next);
    grid->squeezed = grid->used;
    return true;
}

/* --- the repeated pattern --- */

/* The slots of a device's letters: W2 has the first free one after I2, W1 after I1. False where two letters collide. */
static bool find_slots(struct row *row, const struct ppi_v_block *block, uint32_t device)
{
    uint32_t before = device < block->turn ? device : block->turn, taken = 0;
    uint32_t down = before * block->step[0] + (device - before) * block->step[1], up = device * (PPI_V_PERIOD - 1);
    for (uint8_t letter = F1; letter < LETTERS; letter++) {
        bool is_weight = letter > I1;
        uint32_t slot = is_weight ? row->slot[traits[letter].after]
                                  : block->slot[letter - F1] + (runs_down(letter) ? down : up);
        for (slot %= PPI_V_PERIOD; (taken >> slot & 1) != 0; slot = (slot + 1) % PPI_V_PERIOD)
            if (!is_weight)
                return false;
        taken |= 1u << slot;
        row->slot[letter] = (uint8_t)slot;
    }
    return true;
}

/* Lays all ops of a letter, the first at its first slot from the cursor on; returns the column after that. */
static int64_t lay_letter(const struct ppi_v_grid *grid, struct row *row, uint8_t letter, int64_t cursor)
{
    cursor += (row->slot[letter] + PPI_V_PERIOD - cursor % PPI_V_PERIOD) % PPI_V_PERIOD;
    for (int64_t k = 0; k < grid->built; k++)
        row->cells[cursor + k * PPI_V_PERIOD] = letter;
    row->first[letter] = cursor;
    return cursor + 1;
}

/* Lays the first microbatch, each device after the one before; the others follow a period apart. False where letters collide,
 * or a device exceeds two stage passes per device. */
static bool lay_block(struct ppi_v_grid *grid, const struct ppi_v_block *block)
{
    int64_t cursor = PPI_V_PERIOD;
    for (int64_t i = 0; i < grid->devices; i++)
        if (!find_slots(&grid->row[i], block, (uint32_t)i))
            return false;
    for (int64_t i = 0; i < grid->devices; i++)
        memset(grid->row[i].cells, BLANK, (size_t)grid->columns);
    if (!go_on(grid, grid->devices * grid->built))
        return false;
    for (uint8_t letter = F1; letter <= I1; letter++)
        for (int64_t k = 0; k < grid->devices; k++) {
            struct row *row = &grid->row[runs_down(letter) ? k : grid->devices - 1 - k];
            cursor = lay_letter(grid, row, letter, cursor);
            if (letter >= I2)
                lay_letter(grid, row, letter == I2 ? W2 : W1, cursor);
        }
    grid->peak = grid->squeezed = 0;
    grid->used = cursor + PPI_V_PERIOD * grid->built;
    for (int64_t i = 0; i < grid->devices && go_on(grid, cursor); i++) /* after the cursor every device repeats */
        grid->peak = most(grid->peak, find_peak(&grid->row[i], cursor + PPI_V_PERIOD));
    return grid->peak <= 2 * grid->devices;
}

/* --- the warm-up: as many forwards as the memory allows, in the order of a V --- */

static void take_out(struct row *row, int64_t column)
{
    row->left[row->cells[column]]++;
    row->cells[column] = BLANK;
}

/* Lays a letter if more than `kept` are left and the column is in use; returns whether more were left. */
static bool lay(struct row *row, uint8_t letter, int64_t kept, int64_t column, int64_t used)
{
    bool put = row->left[letter] > kept;
    if (put && column < used) {
        row->cells[column] = letter;
        row->left[letter]--;
    }
    return put;
}

/* Removes all ops before a device's first I1, and those F2, I2, W2 and then F1 after it that may come early. Then lays F1s
 * alone while the first microbatch is between here and the last device, F1s and F2s in turn, each with its own cell even where
 * none is left, and backwards before forwards. False where ops are lost. */
static bool rewrite_warmup(const struct ppi_v_grid *grid, int64_t device)
{
    struct row *row = &grid->row[device];
    uint8_t *cells = row->cells;
    int64_t *left = row->left, *last = grid->row[grid->devices - 1].first, column = device, before;
    /* F1s and F2s of the warm-up: F2s on the last device, and both here. */
    const int64_t seconds = grid->peak / 2, second = least(device + 1, seconds), first = grid->peak - second;
    /* One I2 and one W2 may be early for each three cells from the first I2 to the first I1. */
    const int64_t ahead = last[I1] - last[I2] + 2 * (grid->devices - device), path = 2 * (grid->devices - 1 - device);
    const int64_t early_i = most(ahead / 3, seconds - second), early_w = most((ahead - 1) / 3, seconds - second);
    memset(left, 0, sizeof row->left);
    for (int64_t c = 0; c < row->first[I1]; c++)
        take_out(row, c);
    for (int64_t c = row->first[I1]; c < grid->used; c++)
        if ((cells[c] == F2 && left[F2] < seconds) || (cells[c] == I2 && left[I2] < least(left[F2], early_i)) ||
            (cells[c] == W2 && left[W2] < least(left[I2], early_w)))
            take_out(row, c);
    for (int64_t c = row->first[I1]; c < grid->used; c++)
        if (cells[c] == F1 && (left[F1] < most(left[F2], first) || left[F1] - first + left[F2] - second < left[W2] - 1))
            take_out(row, c);
    const int64_t kept1 = most(left[F1] - first, 0), kept2 = most(left[F2] - second, 0);
    for (int64_t k = 0; k < 2 * grid->devices; k++, column++)
        if (k < path || k % 2 == 0)
            lay(row, F1, kept1, column, grid->used);
        else
            lay(row, F2, kept2, column, grid->used);
    do {
        before = column;
        column += lay(row, I2, 0, column, grid->used);
        column += lay(row, W2, 0, column, grid->used);
        column += lay(row, left[F2] > 0 ? F2 : F1, 0, column, grid->used);
    } while (column > before && column < grid->used);
    return left[F1] + left[F2] + left[I2] + left[W2] == 0;
}

/* --- fewer microbatches, and the cool-down --- */

static void keep_first_microbatches(const struct ppi_v_grid *grid, struct row *row)
{
    int64_t count[LETTERS] = {0};
    for (int64_t c = 0; c < grid->used; c++)
        if (++count[row->cells[c]] > grid->microbatches)
            row->cells[c] = BLANK;
}

static void blank_last(struct ppi_v_grid *grid, struct row *row, uint32_t set, int64_t count)
{
    for (int64_t c = grid->used; count > 0 && (c = find_last(row, c, set, 1)) >= 0; count--)
        set_cell(grid, row, c, BLANK);
}

/* Lays a letter `count` times, from a column to the left in every other. False where a cell is not free. */
static bool lay_diagonal(struct ppi_v_grid *grid, struct row *row, uint8_t letter, int64_t column, int64_t count)
{
    for (; count > 0; count--, column -= 2) {
        if (column < 0 || column >= grid->columns || row->cells[column] != BLANK)
            return false;
        set_cell(grid, row, column, letter);
    }
    return true;
}

/* Lays a device's last input gradients on two diagonals, which begin after the last F2 of the first device; its last weight
 * gradients are laid later. */
static bool lay_cooldown(struct ppi_v_grid *grid, int64_t device, int64_t peak, int64_t turn)
{
    struct row *row = &grid->row[device];
    const int64_t first = least((peak + 1) / 2, grid->microbatches);
    const int64_t second = least(least(peak - first, grid->microbatches), device + 1);
    blank_last(grid, row, 1u << I2, second);
    blank_last(grid, row, 1u << I1, first);
    blank_last(grid, row, WEIGHTS, peak);
    return lay_diagonal(grid, row, I1, turn + 2 * grid->devices - device, first) &&
           lay_diagonal(grid, row, I2, turn + 1 + device, second);
}

/* Lays a device's weight gradients from a column on again, in blank cells, as they become due, the second stage's first. */
static void relay_weights(struct ppi_v_grid *grid, struct row *row, int64_t from)
{
    int64_t count[LETTERS] = {0};
    for (int64_t c = 0; c < from; c++)
        count[row->cells[c]]++;
    for (int64_t c = from; c < grid->columns; c++) {
        uint8_t due = count[I2] > count[W2] ? W2 : count[I1] > count[W1] ? W1 : BLANK;
        if (c >= grid->used && due == BLANK)
            return;
        if (row->cells[c] == BLANK || row->cells[c] >= W2)
            set_cell(grid, row, c, due);
        count[row->cells[c]]++;
    }
}

/* --- the whole --- */

/* Whether a device exceeds its limit after the warm-up and before the cool-down, a part of its order that does not change any
 * more. */
static bool goes_over(const struct ppi_v_grid *grid, int64_t device, const struct ppi_problem *problem)
{
    const int64_t stages[] = {device, 2 * grid->devices - 1 - device};
    const double limit = ppi_device_allows(&problem->device[device]);
    double level = 0;
    int64_t done = grid->microbatches - grid->peak; /* of each letter, the ops before the first that the cool-down may move */
    int64_t left[LETTERS] = {[I2] = done, [I1] = done, [W2] = done, [W1] = done};
    for (int64_t c = 0; c < grid->used; c++) {
        uint8_t letter = grid->row[device].cells[c];
        if (letter == BLANK)
            continue;
        if (letter >= I2 && left[letter]-- <= 0)
            return false;
        level += problem->stage[stages[traits[letter].stage]].memory[traits[letter].kind];
        if (level > limit)
            return true;
    }
    return false;
}

/* Writes the ops. False where some are missing or not due, or memory exceeds the limit. In a squeezed grid ops are after those
 * of other devices that they depend on; where each is due on its own device, there is no deadlock. */
static bool read_ops(const struct ppi_v_grid *grid, const struct ppi_orders *orders)
{
    for (int64_t i = 0; i < grid->devices; i++) {
        const uint16_t stages[] = {(uint16_t)i, (uint16_t)(2 * grid->devices - 1 - i)};
        int64_t count[LETTERS] = {[BLANK] = grid->microbatches}, held = 0;
        ppsched_op *op = orders->ops + orders->first[i];
        for (int64_t c = 0; c < grid->used; c++) {
            uint8_t letter = grid->row[i].cells[c];
            if (letter == BLANK)
                continue;
            held += traits[letter].held;
            if (!is_due(count, letter) || held > grid->peak)
                return false;
            *op++ = (ppsched_op){
                .microbatch = (uint32_t)count[letter] - 1, .stage = stages[traits[letter].stage], .kind = traits[letter].kind};
        }
        if (op != orders->ops + orders->first[i + 1])
            return false;
    }
    return true;
}

/* Lays weight gradients again from each device's first early one on. False where the device exceeded the limit before. */
static bool repair(struct ppi_v_grid *grid)
{
    if (!squeeze(grid))
        return false;
    for (int64_t i = 0; i < grid->devices; i++) {
        struct row *row = &grid->row[i];
        const int64_t from = find_early(grid, row);
        if (find_peak(row, grid->used) > grid->peak || !go_on(grid, 3 * grid->used))
            return false;
        if (from < grid->used)
            relay_weights(grid, row, from);
    }
    grid->peak = 2 * grid->devices;
    return true;
}

/* Rewrites the warm-up of all devices; `*peak`: the most stage passes of any. False where ops are lost, or a device exceeds
 * its limit. */
static bool warm_up(struct ppi_v_grid *grid, bool repairs, const struct ppi_problem *problem, int64_t *peak)
{
    *peak = 0;
    for (int64_t i = 0; i < grid->devices; i++) {
        if (!go_on(grid, 4 * grid->used) || !rewrite_warmup(grid, i))
            return false;
        if (grid->microbatches < grid->built)
            keep_first_microbatches(grid, &grid->row[i]);
        if (problem->has_limits && !repairs && goes_over(grid, i, problem))
            return false;
        *peak = most(*peak, find_peak(&grid->row[i], grid->used));
    }
    return *peak <= grid->peak;
}

/* Lays the cool-down of all devices; `*early`: whether weight gradients are before their own input gradients. */
static bool cool_down(struct ppi_v_grid *grid, int64_t peak, bool *early)
{
    const int64_t turn = find_last(grid->row, grid->used, 1u << F2, 1);
    *early = false;
    for (int64_t i = 0; i < grid->devices; i++) {
        const struct row *row = &grid->row[i];
        if (!go_on(grid, grid->used) || (grid->devices > 1 && !lay_cooldown(grid, i, peak, turn))) /* one device has none */
            return false;
        /* Two weight gradients of each device are still to be laid again; earlier ones do not change. */
        *early = *early || find_early(grid, row) < find_last(row, grid->used, WEIGHTS, 2);
    }
    return true;
}

static enum ppi_v_growth grow(struct ppi_v_grid *grid, const struct ppi_v_block *block, bool repairs,
                              const struct ppi_problem *problem, const struct ppi_orders *orders)
{
    int64_t peak;
    bool early;
    if (!lay_block(grid, block) || !warm_up(grid, repairs, problem, &peak) || !squeeze(grid) ||
        !cool_down(grid, peak, &early) || (early && !repairs) || !squeeze(grid))
        return PPI_V_NOTHING;
    for (int64_t i = 0; i < grid->devices; i++) /* after the squeeze, which would not change a device's order */
        relay_weights(grid, &grid->row[i], find_last(&grid->row[i], grid->used, WEIGHTS, 3) + 1);
    if ((early && !repair(grid)) || !read_ops(grid, orders))
        return PPI_V_NOTHING;
    return early ? PPI_V_MENDED : PPI_V_WHOLE;
}

ppsched_status ppi_v_grow(enum ppi_v_growth *out, struct ppi_v_grid *grid, const struct ppi_v_block *block, bool repairs,
                          struct ppi_attempt *attempt, ppsched_error *error)
{
    grid->poll = &attempt->poll;
    go_on(grid, grid->devices); /* for finding the slots, where most blocks fail */
    *out = grow(grid, block, repairs, &attempt->problem, &attempt->candidate);
    return ppi_poll_spend(grid->poll, 0, error);
}
