/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_search/block.h"

#include <string.h>

#include "base/error.h"
#include "strategy/searches/v_search/squeeze.h"

enum letter {
    BLANK = PPI_V_BLANK,
    F = PPI_V_F,
    f = PPI_V_SECOND_F,
    B = PPI_V_B,
    b = PPI_V_FIRST_B,
    W = PPI_V_W,
    w = PPI_V_FIRST_W,
    LETTERS
};

static int32_t least(int32_t a, int32_t c)
{
    return a < c ? a : c;
}

static uint8_t *row_of(const struct ppi_v_grid *grid, int32_t device)
{
    return &grid->cells[(size_t)device * (size_t)grid->columns];
}

static uint8_t *cell(const struct ppi_v_grid *grid, int32_t device, int32_t column)
{
    return row_of(grid, device) + column;
}

ppsched_status ppi_v_grid_make(struct ppi_v_grid *out, const struct ppi_host *host, uint32_t devices, uint32_t microbatches,
                               ppsched_error *error)
{
    struct ppi_v_grid grid = {.host = *host, .devices = (int32_t)devices, .microbatches = (int32_t)microbatches};
    grid.built = microbatches > 2 * devices ? (int32_t)microbatches : 2 * (int32_t)devices;
    grid.columns = PPI_V_PERIOD * (4 * grid.devices + grid.built + 1);
    size_t size = (size_t)grid.columns * devices;
    grid.cells = ppi_allocate(host, size, 1);
    grid.spare = ppi_allocate(host, size, 1);
    grid.placed = ppi_allocate(host, 4 * (size_t)devices * (size_t)grid.built, sizeof *grid.placed);
    grid.counts = ppi_allocate(host, 5 * (size_t)devices, sizeof *grid.counts);
    grid.slots = ppi_allocate(host, (size_t)devices * LETTERS, 1);
    if (grid.cells == NULL || grid.spare == NULL || grid.placed == NULL || grid.counts == NULL || grid.slots == NULL) {
        ppi_v_grid_clear(&grid);
        return ppi_fail_memory(error, "the search");
    }
    *out = grid;
    return PPSCHED_OK;
}

void ppi_v_grid_clear(struct ppi_v_grid *grid)
{
    ppi_release(&grid->host, grid->cells);
    ppi_release(&grid->host, grid->spare);
    ppi_release(&grid->host, grid->placed);
    ppi_release(&grid->host, grid->counts);
    ppi_release(&grid->host, grid->slots);
}

/* --- the repeated pattern --- */

/* The first free slot after `slot`, cyclically. */
static uint8_t free_slot_after(const bool taken[PPI_V_PERIOD], uint32_t slot)
{
    do
        slot = (slot + 1) % PPI_V_PERIOD;
    while (taken[slot]);
    return (uint8_t)slot;
}

/* The slots of one device's letters: W takes the first that is free after B, w after b. False where two letters want one. */
static bool take_slots(uint8_t slots[LETTERS], const uint32_t wanted[4])
{
    bool taken[PPI_V_PERIOD] = {false};
    for (int k = 0; k < 4; k++) {
        if (taken[wanted[k]])
            return false;
        taken[wanted[k]] = true;
        slots[F + k] = (uint8_t)wanted[k];
    }
    slots[W] = free_slot_after(taken, slots[B]);
    taken[slots[W]] = true;
    slots[w] = free_slot_after(taken, slots[b]);
    return true;
}

static uint8_t *slots_of(const struct ppi_v_grid *grid, int32_t device)
{
    return &grid->slots[(size_t)device * LETTERS];
}

/* From device to device F and B move by the block's step, f and b back by one. */
static bool place_block(struct ppi_v_grid *grid, const struct ppi_v_block *block)
{
    uint32_t slot[4];
    memcpy(slot, block->slot, sizeof slot);
    for (int32_t i = 0; i < grid->devices; i++) {
        if (!take_slots(slots_of(grid, i), slot))
            return false;
        uint32_t step = block->step[(uint32_t)i < block->turn ? 0 : 1];
        for (int k = 0; k < 4; k++)
            slot[k] = (slot[k] + (k % 2 == 0 ? step : PPI_V_PERIOD - 1)) % PPI_V_PERIOD;
    }
    return true;
}

/* Lays all instances of a letter, the first at the first of its slots from the cursor on; returns the column behind that. */
static int32_t lay_letter(struct ppi_v_grid *grid, int32_t device, uint8_t letter, int32_t cursor)
{
    int32_t slot = slots_of(grid, device)[letter];
    int32_t first = cursor + (slot + PPI_V_PERIOD - cursor % PPI_V_PERIOD) % PPI_V_PERIOD;
    uint8_t *row = row_of(grid, device);
    for (int32_t k = 0, c = first; k < grid->built && c < grid->columns; k++, c += PPI_V_PERIOD)
        row[c] = letter;
    return first + 1;
}

/* Lets the first microbatch run through, F down, f up, B down, b up, each device after the one before; the others follow it
 * every six cells. Returns the column from which on every device repeats itself. */
static int32_t lay_block(struct ppi_v_grid *grid)
{
    int32_t cursor = PPI_V_PERIOD;
    memset(grid->cells, BLANK, (size_t)grid->columns * (size_t)grid->devices);
    memset(grid->counts, 0, 4 * (size_t)grid->devices * sizeof *grid->counts);
    grid->squeezed = 0;
    for (uint8_t letter = F; letter <= b; letter++)
        for (int32_t k = 0; k < grid->devices; k++) {
            int32_t device = letter == F || letter == B ? k : grid->devices - 1 - k;
            cursor = lay_letter(grid, device, letter, cursor);
            if (letter == B || letter == b)
                lay_letter(grid, device, letter == B ? W : w, cursor);
        }
    grid->used = least(grid->columns, cursor + PPI_V_PERIOD * grid->built);
    return least(grid->used, cursor + PPI_V_PERIOD);
}

/* --- what all steps need --- */

static bool is_weight(uint8_t letter)
{
    return letter == W || letter == w;
}

/* What a letter adds to the activations that its device holds: from F or f to W or w. */
static const int8_t held_by[LETTERS] = {[F] = 1, [f] = 1, [W] = -1, [w] = -1};

/* The most activations that a device holds, before a column. */
static int32_t peak_before(const struct ppi_v_grid *grid, int32_t end)
{
    int32_t peak = 0;
    for (int32_t i = 0; i < grid->devices; i++) {
        const uint8_t *row = row_of(grid, i);
        int32_t held = 0;
        for (int32_t c = 0; c < end; c++) {
            held += held_by[row[c]];
            peak = held > peak ? held : peak;
        }
    }
    return peak;
}

static int32_t peak_of(const struct ppi_v_grid *grid)
{
    return peak_before(grid, grid->used);
}

/* Changes a cell; what comes behind it may then be squeezed further. */
static void set_cell(struct ppi_v_grid *grid, int32_t device, int32_t column, uint8_t letter)
{
    *cell(grid, device, column) = letter;
    grid->squeezed = least(grid->squeezed, column);
    grid->used = column >= grid->used ? column + 1 : grid->used;
}

static int32_t find_first(const struct ppi_v_grid *grid, int32_t device, uint8_t letter)
{
    const uint8_t *found = memchr(row_of(grid, device), letter, (size_t)grid->used);
    return found != NULL ? (int32_t)(found - row_of(grid, device)) : grid->used;
}

static int32_t find_last(const struct ppi_v_grid *grid, int32_t device, uint8_t letter)
{
    int32_t c = grid->used - 1;
    while (c >= 0 && *cell(grid, device, c) != letter)
        c--;
    return c;
}

/* --- the warm-up: as many forwards as the memory allows, in the order of a V --- */

static int32_t floor_third(int32_t x)
{
    return x >= 0 ? x / 3 : -((2 - x) / 3);
}

/* Numbers that the rewrite of one device's warm-up uses. */
struct warmup {
    int32_t device, first_b;
    int32_t second[2];      /* forwards of the second stage that come first, here and on the last device */
    int32_t first;          /* and of the first stage, here */
    int32_t lag;            /* cells from the first B to the first b on the last device */
    int32_t count[LETTERS]; /* ops taken out, to be laid again */
};

static void take_out(uint8_t *place, struct warmup *warmup)
{
    warmup->count[*place]++;
    *place = BLANK;
}

/* Takes out what belongs to the warm-up: all before the first b, and what of f, B, W and then F may come early behind it. */
static void take_warmup(struct ppi_v_grid *grid, struct warmup *warmup)
{
    int32_t *n = warmup->count, rest = warmup->second[1] - warmup->second[0];
    int32_t ahead = 2 * (grid->devices - warmup->device) + warmup->lag;
    for (int32_t c = 0; c < warmup->first_b; c++)
        if (*cell(grid, warmup->device, c) != BLANK)
            take_out(cell(grid, warmup->device, c), warmup);
    for (int32_t c = warmup->first_b; c < grid->used; c++) {
        uint8_t *place = cell(grid, warmup->device, c);
        if ((*place == f && n[f] < warmup->second[1]) ||
            (*place == B && n[B] < n[f] && (n[B] < floor_third(ahead) || n[B] < rest)) ||
            (*place == W && n[W] < n[B] && (n[W] < floor_third(ahead - 1) || n[W] < rest)))
            take_out(place, warmup);
    }
    for (int32_t c = warmup->first_b; c < grid->used; c++) {
        uint8_t *place = cell(grid, warmup->device, c);
        if (*place == F && (n[F] < n[f] || n[F] < warmup->first || n[F] - warmup->first + n[f] - warmup->second[0] < n[W] - 1))
            take_out(place, warmup);
    }
}

/* Where the warm-up is laid again, cell by cell. */
struct layer {
    struct ppi_v_grid *grid;
    int32_t device, column;
    int32_t *left;
};

/* Puts a letter if there is one left and fewer than `most` were put; the place is passed over anyway where `always`. */
static void lay(struct layer *layer, uint8_t letter, bool allowed, bool always)
{
    bool put = allowed && layer->left[letter] > 0;
    if (put && layer->column < layer->grid->used) {
        *cell(layer->grid, layer->device, layer->column) = letter;
        layer->left[letter]--;
    }
    layer->column += put || always;
}

static bool lay_warmup(struct ppi_v_grid *grid, struct warmup *warmup)
{
    struct layer layer = {grid, warmup->device, warmup->device, warmup->count};
    int32_t *left = warmup->count;
    int32_t keep_first = left[F] - least(warmup->first, left[F]), keep_second = left[f] - least(warmup->second[0], left[f]);
    for (int32_t k = 0; k < 2 * (grid->devices - 1 - warmup->device); k++)
        lay(&layer, F, left[F] > keep_first, true);
    for (int32_t k = 0; k <= warmup->device; k++) {
        lay(&layer, F, left[F] > keep_first, true);
        lay(&layer, f, left[f] > keep_second, true);
    }
    while (layer.column < grid->used && left[B] + left[W] + left[F] + left[f] > 0) {
        lay(&layer, B, true, false);
        lay(&layer, W, true, false);
        lay(&layer, left[f] > 0 ? f : F, true, false);
    }
    return left[B] + left[W] + left[F] + left[f] + left[b] + left[w] == 0;
}

static bool rewrite_warmup(struct ppi_v_grid *grid, int32_t peak)
{
    int32_t last = grid->devices - 1;
    int32_t lag = find_first(grid, last, b) - find_first(grid, last, B);
    for (int32_t i = 0; i < grid->devices; i++) {
        struct warmup warmup = {.device = i, .first_b = find_first(grid, i, b), .lag = lag};
        warmup.second[0] = least(least(i + 1, peak / 2), grid->built);
        warmup.second[1] = least(least(grid->devices, peak / 2), grid->built);
        warmup.first = least(peak - warmup.second[0], grid->built);
        take_warmup(grid, &warmup);
        if (!lay_warmup(grid, &warmup))
            return false;
    }
    return true;
}

/* --- fewer microbatches, and the cool-down --- */

static void keep_first_microbatches(struct ppi_v_grid *grid)
{
    for (int32_t i = 0; i < grid->devices; i++) {
        int32_t count[LETTERS] = {0};
        for (int32_t c = 0; c < grid->used; c++) {
            uint8_t *place = cell(grid, i, c);
            if (*place != BLANK && ++count[*place] > grid->microbatches)
                *place = BLANK;
        }
    }
}

static void blank_last(struct ppi_v_grid *grid, int32_t device, uint8_t letter, int32_t count)
{
    for (int32_t c = grid->used - 1; c >= 0 && count > 0; c--)
        if (*cell(grid, device, c) == letter) {
            set_cell(grid, device, c, BLANK);
            count--;
        }
}

/* Blanks the last weight gradients of both stages; returns the column of the last that is left, or where none is, -1 for each
 * that was missing. */
static int32_t blank_last_weights(struct ppi_v_grid *grid, int32_t device, int32_t count)
{
    int32_t c = grid->used - 1;
    for (; c >= 0 && count > 0; c--)
        if (is_weight(*cell(grid, device, c))) {
            set_cell(grid, device, c, BLANK);
            count--;
        }
    while (c >= 0 && !is_weight(*cell(grid, device, c)))
        c--;
    return c >= 0 ? c : -count;
}

/* Lays a device's last input gradients on two diagonals. */
static bool lay_diagonals(struct ppi_v_grid *grid, int32_t device, int32_t turn, int32_t second, int32_t first)
{
    for (int32_t k = 0; k < first + second; k++) {
        bool of_first = k < first;
        int32_t column = of_first ? turn + 2 * grid->devices - device - 2 * k : turn + 1 + device - 2 * (k - first);
        if (column < 0 || column >= grid->columns || *cell(grid, device, column) != BLANK)
            return false;
        set_cell(grid, device, column, of_first ? b : B);
    }
    return true;
}

/* Fills blank cells from `from` on with the weight gradients that are due, those of the second stage first. */
static void refill_weights(struct ppi_v_grid *grid, int32_t device, int32_t from)
{
    int32_t due[2] = {0, 0};
    for (int32_t c = 0; c < grid->columns && (c < grid->used || due[0] > 0 || due[1] > 0); c++) {
        uint8_t *place = cell(grid, device, c);
        if (*place == BLANK && c >= from && (due[0] > 0 || due[1] > 0))
            set_cell(grid, device, c, due[0] > 0 ? W : w);
        grid->used = c >= grid->used ? c + 1 : grid->used;
        due[0] += (*place == B) - (*place == W);
        due[1] += (*place == b) - (*place == w);
    }
}

/* Whether a weight gradient of a device stands before its own input gradient, and stays there: the cool-down lays the last two
 * that it has left anew. */
static bool has_early_weight(const struct ppi_v_grid *grid, int32_t device)
{
    const uint8_t *row = row_of(grid, device);
    int32_t count[LETTERS] = {0}, weights = 0, early = INT32_MAX;
    for (int32_t c = 0; c < grid->used; c++) {
        count[row[c]]++;
        weights += is_weight(row[c]);
        if (early == INT32_MAX && (count[W] > count[B] || count[w] > count[b]))
            early = weights;
    }
    return early <= weights - 2;
}

/* The last squeeze is left out: behind the one before only weight gradients move, so that it would change no device's order. */
static bool rewrite_cooldown(struct ppi_v_grid *grid, bool keeps_early)
{
    int32_t peak = peak_of(grid), first = least((peak + 1) / 2, grid->microbatches);
    int32_t second = least(peak - first, grid->microbatches), turn = find_last(grid, 0, f);
    for (int32_t i = 0; i < grid->devices; i++) {
        int32_t mine = least(second, i + 1);
        blank_last(grid, i, B, mine);
        blank_last(grid, i, b, first);
        blank_last_weights(grid, i, peak);
        if (!lay_diagonals(grid, i, turn, mine, first) || (!keeps_early && has_early_weight(grid, i)))
            return false;
    }
    if (!ppi_v_squeeze(grid))
        return false;
    for (int32_t i = 0; i < grid->devices; i++)
        refill_weights(grid, i, blank_last_weights(grid, i, 2) + 1);
    return true;
}

bool ppi_v_grow(struct ppi_v_grid *grid, const struct ppi_v_block *block, int32_t most_activations, bool keeps_early)
{
    if (!place_block(grid, block))
        return false;
    int32_t peak = peak_before(grid, lay_block(grid));
    if (peak > most_activations || !rewrite_warmup(grid, peak))
        return false;
    if (grid->microbatches < grid->built)
        keep_first_microbatches(grid);
    if (peak_of(grid) > peak || !ppi_v_squeeze(grid) || !rewrite_cooldown(grid, keeps_early))
        return false;
    return peak_of(grid) <= peak;
}

/* The first column of a device in which a weight gradient is not due, or `used`. */
static int32_t first_early_weight(const struct ppi_v_grid *grid, int32_t device)
{
    int32_t count[LETTERS] = {0};
    for (int32_t c = 0; c < grid->used; c++) {
        count[*cell(grid, device, c)]++;
        if (count[W] > count[B] || count[w] > count[b])
            return c;
    }
    return grid->used;
}

bool ppi_v_mend(struct ppi_v_grid *grid, int32_t most_activations)
{
    if (!ppi_v_squeeze(grid))
        return false;
    for (int32_t i = 0; i < grid->devices; i++) {
        int32_t from = first_early_weight(grid, i);
        if (from == grid->used)
            continue;
        for (int32_t c = from; c < grid->used; c++)
            if (is_weight(*cell(grid, i, c)))
                set_cell(grid, i, c, BLANK);
        refill_weights(grid, i, from);
    }
    return peak_of(grid) <= most_activations;
}

bool ppi_v_ops(const struct ppi_v_grid *grid, ppsched_op *ops)
{
    static const uint8_t kinds[LETTERS] = {
        0, PPSCHED_KIND_F, PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_I, PPSCHED_KIND_W, PPSCHED_KIND_W};
    int32_t total = 6 * grid->microbatches;
    for (int32_t i = 0; i < grid->devices; i++) {
        int32_t count[LETTERS] = {0}, put = 0;
        for (int32_t c = 0; c < grid->used; c++) {
            uint8_t letter = *cell(grid, i, c);
            if (letter == BLANK)
                continue;
            bool of_first = letter == F || letter == b || letter == w;
            int32_t stage = of_first ? i : 2 * grid->devices - 1 - i;
            if (put == total || count[W] > count[B] || count[w] > count[b])
                return false;
            ops[(size_t)i * (size_t)total + (size_t)put++] = (ppsched_op){
                .microbatch = (uint32_t)count[letter]++, .stage = (uint16_t)stage, .kind = kinds[letter]};
        }
        if (put != total)
            return false;
    }
    return true;
}
