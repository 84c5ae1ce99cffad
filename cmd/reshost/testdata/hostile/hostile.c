/*
 * Guests that do their worst, for the tests of what a neighbour notices. Each function below is one of them; the macro GUEST
 * names the one that rh_read runs. START, LIST and COMPLETE name what the other exports run:
 *
 *     clang --target=wasm32 -mbulk-memory -O1 -nostdlib -Wl,--no-entry -DGUEST=loop …
 */
#include "reshost.h"

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
#define UNUSED __attribute__((unused)) static
#define NOINLINE __attribute__((noinline, unused)) static

WASI(random_get) int32_t random_get(void *buf, uint32_t len);
WASI(proc_exit) void proc_exit(int32_t code);
WASI(poll_oneoff) int32_t poll_oneoff(const void *in, void *out, uint32_t n, void *events);
WASI(fd_write) int32_t fd_write(int32_t fd, const void *iovs, uint32_t n, void *written);

static volatile uint32_t sink;
static unsigned char page[65536];

UNUSED int32_t text(const char *s)
{
    static const unsigned char content[] = {3 << 3, 1}; /* CONTENT, text */
    rh_host_emit(RH_KIND_CONTENT, content, sizeof content);
    rh_host_write(s, rh_cstr(s).len);
    return 0;
}

UNUSED int32_t calm(void) { return text("calm"); }

/* ---- Time. ---- */

UNUSED int32_t loop(void)
{
    for (;;)
        sink++;
}

/* 2^40 calls without a loop: each function calls the next one twice. */
#define NODE(n, next)                                                                                                               \
    NOINLINE void node##n(void) { next(), next(); }
NOINLINE void leaf(void) { sink++; }
NODE(0, leaf) NODE(1, node0) NODE(2, node1) NODE(3, node2) NODE(4, node3) NODE(5, node4) NODE(6, node5) NODE(7, node6)
NODE(8, node7) NODE(9, node8) NODE(10, node9) NODE(11, node10) NODE(12, node11) NODE(13, node12) NODE(14, node13)
NODE(15, node14) NODE(16, node15) NODE(17, node16) NODE(18, node17) NODE(19, node18) NODE(20, node19) NODE(21, node20)
NODE(22, node21) NODE(23, node22) NODE(24, node23) NODE(25, node24) NODE(26, node25) NODE(27, node26) NODE(28, node27)
NODE(29, node28) NODE(30, node29) NODE(31, node30) NODE(32, node31) NODE(33, node32) NODE(34, node33) NODE(35, node34)
NODE(36, node35) NODE(37, node36) NODE(38, node37) NODE(39, node38)

UNUSED int32_t call_tree(void)
{
    node39();
    return 0;
}

#define X4(x) x x x x
#define X64(x) X4(X4(X4(x)))
#define X4096(x) X64(X64(x))

UNUSED int32_t straight_line(void)
{
    for (;;) {
        X4096(sink = sink * 3 + 1;)
    }
}

UNUSED int32_t divisions(void)
{
    for (;;) {
        X4096(sink = sink / 7 + 0x7fffffff;)
    }
}

UNUSED int32_t host_calls(void)
{
    for (;;)
        rh_host_req(NULL, 0);
}

/* ---- Bulk operations and the host's bytes. ---- */

#define MEMORY (60u << 20)

/* room is 60 MiB above everything else. */
UNUSED unsigned char *room(void)
{
    size_t at = __builtin_wasm_memory_grow(0, MEMORY >> 16);
    return at == (size_t)-1 ? NULL : (unsigned char *)(at << 16);
}

UNUSED int32_t fill(void)
{
    unsigned char *p = room();
    while (p)
        __builtin_memset(p, (int)sink++, MEMORY);
    return 5;
}

UNUSED int32_t copy(void)
{
    unsigned char *p = room();
    while (p)
        __builtin_memmove(p, p + 1, MEMORY - 1);
    return 5;
}

UNUSED int32_t random_60mib(void)
{
    unsigned char *p = room();
    while (p)
        random_get(p, MEMORY);
    return 5;
}

/* ---- Stack and memory. ---- */

NOINLINE uint32_t down(uint32_t n) { return n ? down(n - 1) * 3 + sink : sink; }

UNUSED int32_t recursion_of_small_frames(void) { return (int32_t)down(0xffffffff); }

/* Values that all live across the call stand on the engine's stack. */
#define KEEP(i) uint64_t v##i = n * (i + 3) ^ sink;
#define SUM(i) +v##i
#define EACH(m)                                                                                                                     \
    m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) m(18) m(19) m(20) m(21)       \
        m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) m(30) m(31) m(32) m(33) m(34) m(35) m(36) m(37) m(38) m(39)
NOINLINE uint64_t wide(uint64_t n)
{
    EACH(KEEP)
    uint64_t below = n ? wide(n - 1) : 0;
    return below EACH(SUM);
}

UNUSED int32_t recursion_of_large_frames(void)
{
    sink = (uint32_t)wide(0xffffffff);
    return 0;
}

/* Nearly all of the stack, and then a good answer: what was grown for it stays with the instance. */
UNUSED int32_t deep_and_back(void)
{
    sink = down(40000);
    return text("back");
}

UNUSED int32_t memory_growth(void)
{
    for (;;) {
        size_t at = __builtin_wasm_memory_grow(0, 1);
        if (at != (size_t)-1)
            *(volatile unsigned char *)(at << 16) = 1;
    }
}

/* Memory that is below what makes an instance too large to be kept. */
UNUSED int32_t memory_kept(void)
{
    size_t at = __builtin_wasm_memory_grow(0, 60);
    if (at != (size_t)-1)
        __builtin_memset((void *)(at << 16), 0xa5, 60 << 16);
    return text("kept");
}

/* ---- Records. ---- */

UNUSED int32_t records(void)
{
    for (uint32_t i = 0; i < 1000000000; i++)
        rh_host_emit(RH_KIND_CONTENT, NULL, 0);
    return 0;
}

UNUSED int32_t body_of_1gb(void)
{
    rh_host_emit(RH_KIND_CONTENT, NULL, 0);
    for (uint32_t i = 0; i < 16384; i++)
        rh_host_write(page, sizeof page);
    return 0;
}

UNUSED int32_t malformed_records(void)
{
    __builtin_memset(page, 0xff, sizeof page);
    for (int32_t kind = -1;; kind = (kind + 2) % 20 - 1)
        rh_host_emit(kind, page, sizeof page);
}

UNUSED int32_t bad_pointer(void) { return rh_host_emit(RH_KIND_CONTENT, (void *)0xfffffff0, 8); }
UNUSED int32_t lying_length(void) { return rh_host_emit(RH_KIND_CONTENT, page, 0xffffffff); }

UNUSED int32_t updates(void)
{
    static char uri[] = "\x0a\x12" "hostile://00000000";
    for (uint32_t i = 0;; i++) {
        for (uint32_t k = 0; k < 8; k++)
            uri[12 + k] = (char)('a' + (i >> 4 * k & 15));
        rh_host_emit(RH_KIND_UPDATED, uri, sizeof uri - 1);
    }
}

/* ---- Ends, waits, noise. ---- */

UNUSED int32_t trap(void) { __builtin_trap(); }

UNUSED int32_t leave(void)
{
    proc_exit(3);
    return 0;
}

UNUSED int32_t sleep_an_hour(void)
{
    uint64_t subscription[6] = {0, 0, 1 /* monotonic */, 3600000000000}, event[4], n;
    return poll_oneoff(subscription, event, 1, &n);
}

UNUSED int32_t log_flood(void)
{
    __builtin_memset(page, 'x', sizeof page);
    for (;;)
        rh_host_log(RH_LEVEL_ERROR, page, sizeof page);
}

UNUSED int32_t stderr_flood(void)
{
    struct {
        void *ptr;
        uint32_t len;
    } iov = {page, sizeof page};
    __builtin_memset(page, 'x', sizeof page);
    for (uint32_t n;;)
        fd_write(2, &iov, 1, &n);
}

/* ---- Exports. ---- */

#ifndef LIST
#define LIST calm_end
#endif
#ifndef COMPLETE
#define COMPLETE calm_end
#endif

UNUSED int32_t calm_end(void) { return 0; }

__attribute__((export_name("rh_read"))) int32_t rh_read(void) { return GUEST(); }
__attribute__((export_name("rh_list"))) int32_t rh_list(void) { return LIST(); }
__attribute__((export_name("rh_complete"))) int32_t rh_complete(void) { return COMPLETE(); }
#ifdef START
__attribute__((export_name("_initialize"))) void initialize(void) { START(); }
#endif
