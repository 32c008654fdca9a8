/* Every loop of the kernels' headers on given numbers: prints what each makes of them, exactly. .ci/headers builds this
   with several compilers, with and without what they add to C, and compares what they print. Lines that begin with
   "same" are equal in all bits, those with "near" up to rounding. */

#include <inttypes.h>
#include <stdio.h>

#include "hdp/_variational.h"
#include "inference/_lane_draws.h"
#include "lda/_word_draws.h"
#include "moments/_token_update.h"
#include "topics/_rows.h"

#ifdef AS_MSVC
#include <intrin.h>
#define _MSC_VER 1929
#endif
#include "threads/_team.h"
#undef _MSC_VER

enum { PADDED = 48, WORDS = 11, MOST_TOKENS = 256, SIZE = 4096 };

/* Topics and tokens, which the compiler does not know. */
static int n, n_tokens;

static uint64_t state;

/* Uniform on (0, 1), of 24 bits, which a float has as well. */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 40) + 0.5) / 16777216.0;
}

static double in[8][SIZE], out[8][SIZE];
static float in_float[8][SIZE], out_float[8][SIZE];
static int32_t words[SIZE], cells[SIZE], z[SIZE], members[SIZE];

/* The same numbers for each loop: those of in are in (0, 1), and so are those that loops change. */
static void begin(uint64_t seed)
{
    int i, j;
    state = seed;
    for (i = 0; i < 8; i++)
        for (j = 0; j < SIZE; j++) {
            in[i][j] = in_float[i][j] = (float)uniform();
            out[i][j] = out_float[i][j] = (float)uniform();
        }
    for (j = 0; j < SIZE; j++) {
        words[j] = (int32_t)(uniform() * WORDS);
        cells[j] = (int32_t)(uniform() * WORDS);
        members[j] = z[j] = 0;
    }
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define SHOW(NAME, TYPE, FORMAT, SHOWN)                                                                      \
    static void NAME(const char *how, const char *name, const TYPE *x, int size)                             \
    {                                                                                                        \
        int i;                                                                                               \
        printf("%s %s", how, name);                                                                          \
        for (i = 0; i < size; i++)                                                                           \
            printf(FORMAT, SHOWN);                                                                           \
        printf("\n");                                                                                        \
    }
SHOW(show, double, " %016" PRIx64, bits_of(x[i]))
SHOW(show_float, float, " %016" PRIx64, bits_of(x[i]))
SHOW(show_integers, int32_t, " %d", (int)x[i])

static void special_functions(void)
{
    int i;
    begin(1);
    fill_exp_digamma(in[0], n, out[0], out[1]);
    show("near", "fill_exp_digamma", out[1], n);
    out[1][n] = fill_geometric_row(in[0], in[1], n, out[0], out[1]);
    show("near", "fill_geometric_row", out[1], n + 1);
    out[0][n] = fill_digamma_row(in[0], 0.25, n, out[0]);
    show("near", "fill_digamma_row", out[0], n + 1);
    out[0][0] = sum_digamma_row(in[0], in[1], 0.5, n);
    show("near", "sum_digamma_row", out[0], 1);
    begin(2);
    normals_from_uniforms(out[0], out[1], n);
    show("near", "normals_from_uniforms", out[0], n);
    show("near", "normals_from_uniforms", out[1], n);
    for (i = 0; i < 2; i++) {
        langevin_row(out[2], i ? in[0] : NULL, 2.0, 0.1, in[1], 0.01, in[2], n);
        show("near", "langevin_row", out[2], n);
    }
}

static void products(void)
{
    begin(3);
    out[0][n] = fill_ratios(in[0], in[1], in[2], 0.25, n, out[0], out[1]);
    show("near", "fill_ratios", out[0], n + 1);
    out[2][0] = fill_own_ratios(in[0], in[1], in[2], in[3], n, out[0], out[1]);
    show("near", "fill_own_ratios", out[0], n);
    show("near", "fill_own_ratios", out[1], (n + 15) / 16);
    weigh_cells_float(n_tokens, words, in[0], in_float[1], n, in_float[2], out_float[0], out[0]);
    show_float("near", "weigh_cells_float", out_float[0], n);
    weigh_cells_double(n_tokens + 1, words, in[0], in[1], n, in[2], out[1], out[0]);
    show("near", "weigh_cells_double", out[1], n);
    show("near", "weigh_cells_double", out[0], n_tokens + 1);
    out_float[0][0] = dot_float(in_float[0], in_float[1], n);
    show_float("near", "dot_float", out_float[0], 1);
    out[0][0] = dot_double(in[0], in[1], n);
    show("near", "dot_double", out[0], 1);
    add_row_float(in_float[0], in[0], n, out[0], out_float[1]);
    show_float("near", "add_row_float", out_float[1], n);
    add_row_double(in[0], in[1], n, out[0], out[1]);
    show("near", "add_row_double", out[1], n);
    visit_word_float(in_float[0], in[0], 0.25, 7.0, n, out[2]);
    visit_word_double(in[1], in[0], 0.25, 7.0, n, out[2]);
    show("near", "visit_word", out[2], n);
    fill_bounds(in[0], in[1], 0.5, -0.25, 1e-9, n, out[0], out[1]);
    show("near", "fill_bounds", out[0], n);
    show("near", "fill_bounds", out[1], (n + 15) / 16);
}

static void variational(void)
{
    begin(4);
    fill_log_row(in[0], 2.0, 0.1, in[1], n, out[0], out_float[0]);
    show("near", "fill_log_row", out[0], n);
    show_float("near", "fill_log_row_float", out_float[0], n);
    add_log_rows(n_tokens + 2, words, in[0], in[1], n, out[1]);
    show("near", "add_log_rows", out[1], n);
    dot_log_rows(n_tokens + 3, words, in[0], n, in[1], 2, out[2]);
    show("near", "dot_log_rows", out[2], 2 * n_tokens);
    fill_softmax(5, n, in[0], in[1], out[3], out[4]);
    show("near", "fill_softmax", out[3], 5 * n);
    show("near", "fill_softmax", out[4], 5);
    add_twice(0.3, in[0], n, out[5], out[6]);
    show("near", "add_twice", out[5], n);
}

static void moments(void)
{
    int i;
    for (i = 0; i < 6; i++) { /* each match with each weight */
        const int match = FIRST + i / 2, odd = i % 2;
        const double weight = odd ? 2.5 : 1.0;
        begin(5);
        out[0][n] = update_topics(out[0], out[1], odd, weight, match, n, in[0], out[2], out[3], out[5]);
        show("near", "update_topics", out[0], n + 1);
        show("near", "update_topics", out[2], n);
        show("near", "update_topics", out[3], n);
        begin(6);
        out[0][n] = observe_fixed(out[0], in[0], weight, match, n, out[1]);
        show("near", "observe_fixed", out[0], n + 1);
        memset(out[2], 0, sizeof out[2]);
        out[1][n] = observe_degenerate(out[0], out[1], out[2], in[0], weight, match, 1, n, out[3], out[5]);
        show("near", "observe_degenerate", out[0], n);
        show("near", "observe_degenerate", out[1], n + 1);
        begin(7);
        memset(out[2], 0, sizeof out[2]);
        out[1][n] = observe_triangular(out[0], out[1], out[2], in[0], weight, match, 1, n, out[3], out[5]);
        show("near", "observe_triangular", out[0], n *(n + 1) / 2);
        show("near", "observe_triangular", out[1], n + 1);
    }
}

static void topic_rows(void)
{
    begin(8);
    out[2][0] = fill_row_float(in[0], in[4], in[1], in[2], in_float[3], n, out_float[0], out_float[1]);
    show_float("same", "fill_row_float", out_float[0], n);
    show_float("same", "fill_row_float", out_float[1], (n + 15) / 16);
    out[2][1] = fill_row_double(in[0], in[4], in[1], in[2], in[3], n, out[0], out[1]);
    show("same", "fill_row_double", out[0], n);
    show("same", "fill_row_double", out[1], (n + 15) / 16);
    show("same", "fill_row", out[2], 2);
    add_share_float(0.7, in[0], in_float[1], n, out[3], out[4], in[4]);
    add_share_double(0.7, in[0], in[1], n, out[3], out[4], in[4]);
    show("same", "add_share", out[3], n);
    show("same", "add_share", out[4], n);
    add_word(0.3, out[0], n, out[3], out[4], out[5], in[0]);
    add_word(0.3, out[1], n, out[3], out[4], NULL, NULL);
    show("same", "add_word", out[3], n);
    show("same", "add_word", out[5], n);
    add_row(0.3, in[0], n, out[3], out[4], in[1]);
    show("same", "add_row", out[3], n);
    show("same", "add_row", out[4], n);
    out[6][n] = (double)take_change(in[0], 0.3, 1.7, n, out[6], out[4]);
    show("same", "take_change", out[6], n + 1);
    show("same", "take_change", out[4], n);
    begin(9);
    add_cell_float(0.3, in_float[0], n, out[0]);
    add_cell_double(0.3, in[0], n, out[0]);
    show("near", "add_cell", out[0], n);
    multiply_row_float(out_float[1], n, 0.3f);
    multiply_row_double(out[1], n, 0.3);
    show_float("same", "multiply_row_float", out_float[1], n);
    show("same", "multiply_row_double", out[1], n);
}

/* Three sweeps over the tokens of a document. */
#define DRAW_TOKENS(NAME, REAL, LOOP, SHOW)                                                                  \
    static void NAME(int to_counts)                                                                          \
    {                                                                                                        \
        static REAL mass[4 * PADDED], rows[WORDS * PADDED], counts[WORDS * PADDED], uniforms[3 * MOST_TOKENS]; \
        int sweep, i, k;                                                                                     \
        begin(10);                                                                                           \
        memset(mass, 0, sizeof mass);                                                                        \
        memset(counts, 0, sizeof counts);                                                                    \
        memset(out, 0, sizeof out);                                                                          \
        memset(z, -1, sizeof z);                                                                             \
        for (k = 0; k < n; k++)                                                                              \
            mass[k] = (REAL)in[0][k];                                                                        \
        for (i = 0; i < WORDS; i++)                                                                          \
            for (k = 0; k < n; k++)                                                                          \
                rows[i * PADDED + k] = (REAL)in[1][i * n + k];                                               \
        for (i = 0; i < 3 * n_tokens; i++)                                                                     \
            uniforms[i] = (REAL)in[2][i];                                                                    \
        for (sweep = 0; sweep < 3; sweep++)                                                                  \
            LOOP(PADDED, in[0], out[0], members, mass, n_tokens, cells, in[3], rows, uniforms + sweep * n_tokens, \
                 z, to_counts ? counts : NULL, to_counts ? NULL : out[1]);                                   \
        show_integers("same", #LOOP, z, n_tokens);                                                             \
        show("same", #LOOP, out[0], n);                                                                      \
        SHOW("same", #LOOP, counts, WORDS *PADDED);                                                          \
        show("same", #LOOP, out[1], n);                                                                      \
    }
DRAW_TOKENS(draw_by_floats, float, draw_tokens_float, show_float)
DRAW_TOKENS(draw_by_doubles, double, draw_tokens_double, show)

/* Draws with numbers of which some lead to no entry. */
#define DRAW_ENTRIES(NAME, REAL, LOOP, SHOW)                                                                 \
    static void NAME(void)                                                                                   \
    {                                                                                                        \
        static REAL row[PADDED], mass[PADDED], product[PADDED], running[PADDED], sums[PADDED], found[2 * 16]; \
        static int32_t entries[16];                                                                          \
        int i, k;                                                                                            \
        begin(12);                                                                                           \
        memset(row, 0, sizeof row);                                                                          \
        memset(mass, 0, sizeof mass);                                                                        \
        memset(sums, 0, sizeof sums);                                                                        \
        for (k = 0; k < n; k++) {                                                                            \
            row[k] = (REAL)in[0][k];                                                                         \
            mass[k] = (REAL)in[1][k];                                                                        \
        }                                                                                                    \
        for (i = 0; i < 16; i++)                                                                             \
            entries[i] = LOOP(PADDED, row, mass, product, running, (REAL)(i / 16.0), i % 2 ? sums : NULL,    \
                              0.3, found + 2 * i, found + 2 * i + 1);                                        \
        show_integers("same", #LOOP, entries, 16);                                                           \
        SHOW("same", #LOOP, found, 2 * 16);                                                                  \
        SHOW("same", #LOOP, sums, n);                                                                        \
    }
DRAW_ENTRIES(draw_entry_of_floats, float, draw_entry_float, show_float)
DRAW_ENTRIES(draw_entry_of_doubles, double, draw_entry_double, show)

/* Three sweeps over the tokens of a word, in as many documents as there are rows. */
static void draw_by_words(void)
{
    static float rows[WORDS * PADDED], q[PADDED], running[PADDED], prior[PADDED];
    const WordDraws word = {PADDED, (int32_t)n, in[0], in[1], prior, out[0], out[1], q, running};
    int sweep, k;
    begin(11);
    memset(z, -1, sizeof z);
    for (k = 0; k < n; k++) {
        prior[k] = in_float[2][k];
        out[0][k] += 100.0;
    }
    for (sweep = 0; sweep < 3; sweep++) {
        fill_word(&word);
        draw_word(&word, n_tokens, rows, cells, in_float[3], in_float[4] + 2 * sweep * n_tokens, z);
        show_integers("same", "draw_word", z, n_tokens);
    }
    show_float("same", "draw_word", rows, WORDS *PADDED);
    show("same", "draw_word", out[0], n);
    show("same", "draw_word", out[1], n);
}

static void shared_numbers(void)
{
    static THREAD_LOCAL int of_thread;
    int x = 5, seen[6];
    seen[0] = add(&x, 3);
    seen[1] = load(&x);
    seen[2] = exchange(&x, -7);
    seen[3] = add(&x, -1);
    seen[4] = is_over(clock_now(), INT64_C(3600000000000)) + 2 * is_over(clock_now() - 10, 10);
    seen[5] = of_thread;
    watch(&x, x, 1000);
    watch(&x, x + 1, INT64_C(3600000000000));
    show_integers("same", "shared_numbers", seen, 6);
}

int main(int argc, char **argv)
{
    (void)argv;
    n = 36 + argc;
    n_tokens = 199 + argc;
    special_functions();
    products();
    variational();
    moments();
    topic_rows();
    draw_entry_of_floats();
    draw_entry_of_doubles();
    draw_by_floats(0);
    draw_by_floats(1);
    draw_by_doubles(0);
    draw_by_doubles(1);
    draw_by_words();
    shared_numbers();
    return 0;
}
