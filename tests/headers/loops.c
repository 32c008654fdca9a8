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

enum { PADDED = 48, WORDS = 11, SIZE = 2048 };

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

/* What a loop has made of rows first to last - 1. */
#define SHOW(NAME, TYPE, ROWS)                                                                               \
    static void NAME(const char *how, const char *name, int first, int last)                                 \
    {                                                                                                        \
        const TYPE *x = ROWS[first], *end = x + (last - first) * SIZE;                                       \
        printf("%s %s", how, name);                                                                          \
        for (; x < end; x++)                                                                                 \
            printf(" %016" PRIx64, bits_of(*x));                                                             \
        printf("\n");                                                                                        \
    }
SHOW(show, double, out)
SHOW(show_float, float, out_float)

static void show_integers(const char *name, const int32_t *x, int size)
{
    int i;
    printf("same %s", name);
    for (i = 0; i < size; i++)
        printf(" %d", (int)x[i]);
    printf("\n");
}

static void special_functions(void)
{
    int i;
    begin(1);
    fill_exp_digamma(in[0], n, out[0], out[1]);
    show("near", "fill_exp_digamma", 1, 2);
    out[1][n] = fill_geometric_row(in[0], in[1], n, out[0], out[1]);
    show("near", "fill_geometric_row", 1, 2);
    out[0][n] = fill_digamma_row(in[0], 0.25, n, out[0]);
    show("near", "fill_digamma_row", 0, 1);
    out[0][0] = sum_digamma_row(in[0], in[1], 0.5, n);
    show("near", "sum_digamma_row", 0, 1);
    begin(2);
    normals_from_uniforms(out[0], out[1], n);
    show("near", "normals_from_uniforms", 0, 2);
    for (i = 0; i < 2; i++) {
        langevin_row(out[2], i ? in[0] : NULL, 2.0, 0.1, in[1], 0.01, in[2], n);
        show("near", "langevin_row", 2, 3);
    }
}

static void products(void)
{
    begin(3);
    out[0][n] = fill_ratios(in[0], in[1], in[2], 0.25, n, out[0], out[1]);
    show("near", "fill_ratios", 0, 1);
    out[2][0] = fill_own_ratios(in[0], in[1], in[2], in[3], n, out[0], out[1]);
    show("near", "fill_own_ratios", 0, 2);
    weigh_cells_float(n_tokens, words, in[0], in_float[1], n, in_float[2], out_float[0], out[0]);
    show_float("near", "weigh_cells_float", 0, 1);
    weigh_cells_double(n_tokens + 1, words, in[0], in[1], n, in[2], out[1], out[0]);
    show("near", "weigh_cells_double", 0, 2);
    out_float[0][0] = dot_float(in_float[0], in_float[1], n);
    show_float("near", "dot_float", 0, 1);
    out[0][0] = dot_double(in[0], in[1], n);
    show("near", "dot_double", 0, 1);
    add_row_float(in_float[0], in[0], n, out[0], out_float[1]);
    show_float("near", "add_row_float", 1, 2);
    add_row_double(in[0], in[1], n, out[0], out[1]);
    show("near", "add_row_double", 1, 2);
    visit_word_float(in_float[0], in[0], 0.25, 7.0, n, out[2]);
    visit_word_double(in[1], in[0], 0.25, 7.0, n, out[2]);
    show("near", "visit_word", 2, 3);
    fill_bounds(in[0], in[1], 0.5, -0.25, 1e-9, n, out[0], out[1]);
    show("near", "fill_bounds", 0, 2);
}

static void variational(void)
{
    begin(4);
    fill_log_row(in[0], 2.0, 0.1, in[1], n, out[0], out_float[0]);
    show("near", "fill_log_row", 0, 1);
    show_float("near", "fill_log_row_float", 0, 1);
    add_log_rows(n_tokens + 2, words, in[0], in[1], n, out[1]);
    show("near", "add_log_rows", 1, 2);
    dot_log_rows(n_tokens + 3, words, in[0], n, in[1], 2, out[2]);
    show("near", "dot_log_rows", 2, 3);
    fill_softmax(5, n, in[0], in[1], out[3], out[4]);
    show("near", "fill_softmax", 3, 5);
    add_twice(0.3, in[0], n, out[5], out[6]);
    show("near", "add_twice", 5, 6);
}

static void moments(void)
{
    int i;
    for (i = 0; i < 6; i++) { /* each match with each weight */
        const int match = FIRST + i / 2, odd = i % 2;
        const double weight = odd ? 2.5 : 1.0;
        begin(5);
        out[0][n] = update_topics(out[0], out[1], odd, weight, match, n, in[0], out[2], out[3], out[5]);
        show("near", "update_topics", 0, 1);
        show("near", "update_topics", 2, 4);
        begin(6);
        out[0][n] = observe_fixed(out[0], in[0], weight, match, n, out[1]);
        show("near", "observe_fixed", 0, 1);
        memset(out[2], 0, sizeof out[2]);
        out[1][n] = observe_degenerate(out[0], out[1], out[2], in[0], weight, match, 1, n, out[3], out[5]);
        show("near", "observe_degenerate", 0, 2);
        begin(7);
        memset(out[2], 0, sizeof out[2]);
        out[1][n] = observe_triangular(out[0], out[1], out[2], in[0], weight, match, 1, n, out[3], out[5]);
        show("near", "observe_triangular", 0, 2);
    }
}

static void topic_rows(void)
{
    begin(8);
    out[2][0] = fill_row_float(in[0], in[4], in[1], in[2], in_float[3], n, out_float[0], out_float[1]);
    show_float("same", "fill_row_float", 0, 2);
    out[2][1] = fill_row_double(in[0], in[4], in[1], in[2], in[3], n, out[0], out[1]);
    show("same", "fill_row_double", 0, 3);
    add_share_float(0.7, in[0], in_float[1], n, out[3], out[4], in[4]);
    add_share_double(0.7, in[0], in[1], n, out[3], out[4], in[4]);
    show("same", "add_share", 3, 5);
    add_word(0.3, out[0], n, out[3], out[4], out[5], in[0]);
    add_word(0.3, out[1], n, out[3], out[4], NULL, NULL);
    show("same", "add_word", 3, 6);
    add_row(0.3, in[0], n, out[3], out[4], in[1]);
    show("same", "add_row", 3, 5);
    out[6][n] = (double)take_change(in[0], 0.3, 1.7, n, out[6], out[4]);
    show("same", "take_change", 4, 7);
    begin(9);
    multiply_row_float(out_float[1], n, 0.3f);
    show_float("same", "multiply_row_float", 1, 2);
    multiply_row_double(out[1], n, 0.3);
    show("same", "multiply_row_double", 1, 2);
    add_cell_float(0.3, in_float[0], n, out[0]);
    add_cell_double(0.3, in[0], n, out[0]);
    show("near", "add_cell", 0, 1);
}

/* Three sweeps over the tokens of a document. */
#define DRAW_TOKENS(NAME, REAL, LOOP, IN, OUT, SHOW)                                                         \
    static void NAME(int to_counts)                                                                          \
    {                                                                                                        \
        static REAL rows[WORDS * PADDED];                                                                    \
        REAL *mass = OUT[2], *counts = OUT[3];                                                               \
        int sweep, i;                                                                                        \
        begin(10);                                                                                           \
        memset(rows, 0, sizeof rows);                                                                        \
        memset(out, 0, sizeof out);                                                                          \
        memset(out_float, 0, sizeof out_float);                                                              \
        memset(z, -1, sizeof z);                                                                             \
        memcpy(mass, IN[0], n * sizeof(REAL));                                                               \
        for (i = 0; i < WORDS; i++)                                                                          \
            memcpy(rows + i * PADDED, IN[1] + i * n, n * sizeof(REAL));                                      \
        for (sweep = 0; sweep < 3; sweep++)                                                                  \
            LOOP(PADDED, in[0], out[0], members, mass, n_tokens, cells, in[3], rows,                         \
                 IN[2] + sweep * n_tokens, z, to_counts ? counts : NULL, to_counts ? NULL : out[1]);         \
        show_integers(#LOOP, z, n_tokens);                                                                   \
        show("same", #LOOP, 0, 2);                                                                           \
        SHOW("same", #LOOP, 3, 4);                                                                           \
    }
DRAW_TOKENS(draw_by_floats, float, draw_tokens_float, in_float, out_float, show_float)
DRAW_TOKENS(draw_by_doubles, double, draw_tokens_double, in, out, show)

/* Draws with numbers of which some lead to no entry. */
#define DRAW_ENTRIES(NAME, REAL, LOOP, IN, OUT, SHOW)                                                        \
    static void NAME(void)                                                                                   \
    {                                                                                                        \
        static REAL row[PADDED], mass[PADDED], product[PADDED], running[PADDED];                             \
        REAL *sums = OUT[0], *found = OUT[1];                                                                \
        static int32_t entries[16];                                                                          \
        int i;                                                                                               \
        begin(12);                                                                                           \
        memset(sums, 0, PADDED * sizeof(REAL));                                                              \
        memcpy(row, IN[0], n * sizeof(REAL));                                                                \
        memcpy(mass, IN[1], n * sizeof(REAL));                                                               \
        for (i = 0; i < 16; i++)                                                                             \
            entries[i] = LOOP(PADDED, row, mass, product, running, (REAL)(i / 16.0), i % 2 ? sums : NULL,    \
                              0.3, found + 2 * i, found + 2 * i + 1);                                        \
        show_integers(#LOOP, entries, 16);                                                                   \
        SHOW("same", #LOOP, 0, 2);                                                                           \
    }
DRAW_ENTRIES(draw_entry_of_floats, float, draw_entry_float, in_float, out_float, show_float)
DRAW_ENTRIES(draw_entry_of_doubles, double, draw_entry_double, in, out, show)

/* Three sweeps over the tokens of a word, in as many documents as there are rows. */
static void draw_by_words(void)
{
    static float q[PADDED], running[PADDED], prior[PADDED];
    float *rows = out_float[0];
    const WordDraws word = {PADDED, (int32_t)n, in[0], in[1], prior, out[0], out[1], q, running};
    int sweep, k;
    begin(11);
    memset(rows, 0, sizeof out_float[0]);
    memset(z, -1, sizeof z);
    memcpy(prior, in_float[2], n * sizeof(float));
    for (k = 0; k < n; k++)
        out[0][k] += 100.0;
    for (sweep = 0; sweep < 3; sweep++) {
        fill_word(&word);
        draw_word(&word, n_tokens, rows, cells, in_float[3], in_float[4] + 2 * sweep * n_tokens, z);
        show_integers("draw_word", z, n_tokens);
    }
    show_float("same", "draw_word", 0, 1);
    show("same", "draw_word", 0, 2);
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
    show_integers("shared_numbers", seen, 6);
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
