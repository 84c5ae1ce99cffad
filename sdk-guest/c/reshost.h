/*
 * reshost.h: the SDK for plugins in C. A plugin serves resources to a reshost host, from inside a WebAssembly sandbox.
 * README.md beside this file leads from nothing to a loaded plugin; the contract is abi/README.md of the same project.
 *
 *     #include "reshost.h"
 *
 *     static rh_status greet(const rh_read_request *req, rh_response *out)
 *     {
 *         rh_buf text = {0};
 *         rh_append(&text, RH_STR("Hello, "));
 *         rh_append(&text, rh_var(req, "name"));
 *         return rh_text(out, rh_bytes_of(&text));
 *     }
 *
 *     RH_PLUGIN(
 *         .name = "greeter",
 *         .version = "1.0.0",
 *         .schemes = RH_NAMES("greet"),
 *         .templates = RH_LIST(rh_template, {
 *             .uri_template = "greet://{name}",
 *             .name = "greeting",
 *             .vars = RH_LIST(rh_var_decl, {.name = "name"}),
 *             .read = greet,
 *         }))
 *
 * Build it, without a C library, and write its manifest into it:
 *
 *     clang --target=wasm32 -mbulk-memory -Oz -nostdlib -Wl,--no-entry -Wl,--stack-first -o greeter.wasm greeter.c
 *     reshost plugin pack greeter.wasm -o greeter.wasm
 *
 * Memory: rh_alloc gives memory that lives until the call ends, and what rh_init took lives on. There is no free. Everything that a
 * request points to lives until the call ends, too. By default the host puts the whole memory back after each call, so
 * that a variable set in a call is gone in the next; under `shared` isolation it is a cache at best.
 *
 * One file of a plugin has RH_PLUGIN; others may include this header as well.
 */
#ifndef RESHOST_H
#define RESHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Numbers of the ABI; sdk-guest/c's test compares them with abi's golden file. ---- */

/* What a handler returns, and what a capability answers (negated). */
typedef enum rh_status {
    RH_OK = 0,
    RH_NOT_FOUND = 1,      /* no such resource, file or value */
    RH_INVALID = 2,        /* the request cannot be served as it was asked; the message reaches the client */
    RH_DENIED = 3,         /* the caller may not; the client cannot tell it from RH_NOT_FOUND */
    RH_UNAVAILABLE = 4,    /* not now; the message reaches the client */
    RH_INTERNAL = 5,       /* the plugin is at fault */
    RH_TOO_LARGE = 6,      /* a limit on size was met; the message reaches the client */
    RH_UNSUPPORTED = 7,    /* this is not done here; the message reaches the client */
    RH_INPUT_REQUIRED = 8, /* see rh_input_required */
    RH_NOT_MODIFIED = 9,   /* what rh_if_etag gives still holds */
} rh_status;

typedef enum rh_kind {
    RH_KIND_RESOURCE = 1,
    RH_KIND_CURSOR = 3,
    RH_KIND_CONTENT = 4,
    RH_KIND_VALUE = 5,
    RH_KIND_ERROR = 6,
    RH_KIND_INPUT = 7,
    RH_KIND_STATE = 8,
    RH_KIND_UPDATED = 9,
    RH_KIND_LIST_CHANGED = 10,
    RH_KIND_INFO = 11,
    RH_KIND_MANIFEST = 12,
    RH_KIND_PROGRESS = 13,
} rh_kind;

typedef enum rh_reply { RH_REPLY_CONTINUE = 0, RH_REPLY_STOP = 1, RH_REPLY_UNKNOWN = 2, RH_REPLY_REJECTED = 3 } rh_reply;

/* Severities of a log line (RFC 5424). */
typedef enum rh_level { RH_LEVEL_ERROR = 3, RH_LEVEL_WARNING = 4, RH_LEVEL_INFO = 6, RH_LEVEL_DEBUG = 7 } rh_level;

enum {
    RH_MAX_RECORD = 65536,
    RH_MAX_STATE = 8192,
    RH_MAX_ERROR_MESSAGE = 1024,
    RH_MAX_VALUES = 100, /* so many values of a completion reach the client */
};

/* ---- The host's functions. A module imports those it calls. ---- */

/* Functions that are called from many places are not inlined, so that a guest stays small. */
#define RH_SHARED __attribute__((noinline, unused)) static
#define RH_IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

RH_IMPORT("reshost_v1", "req") int32_t rh_host_req(void *buf, uint32_t cap);
RH_IMPORT("reshost_v1", "emit") int32_t rh_host_emit(int32_t kind, const void *ptr, uint32_t len);
RH_IMPORT("reshost_v1", "write") int32_t rh_host_write(const void *ptr, uint32_t len);
RH_IMPORT("reshost_v1", "log") void rh_host_log(int32_t level, const void *ptr, uint32_t len);
RH_IMPORT("reshost_config_v1", "get") int32_t rh_host_config_get(const void *path, uint32_t plen, void *buf, uint32_t cap);
RH_IMPORT("reshost_fs_v1", "stat") int32_t rh_host_fs_stat(const void *path, uint32_t plen, void *buf, uint32_t cap);
RH_IMPORT("reshost_fs_v1", "open") int32_t rh_host_fs_open(const void *path, uint32_t plen);
RH_IMPORT("reshost_fs_v1", "read") int32_t rh_host_fs_read(int32_t handle, int64_t off, void *buf, uint32_t cap);
RH_IMPORT("reshost_fs_v1", "list")
int32_t rh_host_fs_list(const void *path, uint32_t plen, const void *after, uint32_t alen, void *buf, uint32_t cap);
RH_IMPORT("reshost_fs_v1", "close") int32_t rh_host_fs_close(int32_t handle);
RH_IMPORT("reshost_http_v1", "send") int32_t rh_host_http_send(const void *ptr, uint32_t len);
RH_IMPORT("reshost_http_v1", "head") int32_t rh_host_http_head(int32_t handle, void *buf, uint32_t cap);
RH_IMPORT("reshost_http_v1", "read") int32_t rh_host_http_read(int32_t handle, void *buf, uint32_t cap);
RH_IMPORT("reshost_http_v1", "close") int32_t rh_host_http_close(int32_t handle);
RH_IMPORT("reshost_kv_v1", "get") int32_t rh_host_kv_get(const void *key, uint32_t klen, void *buf, uint32_t cap);
RH_IMPORT("reshost_kv_v1", "put")
int32_t rh_host_kv_put(const void *key, uint32_t klen, const void *val, uint32_t vlen, int64_t ttl_ms);
RH_IMPORT("reshost_kv_v1", "del") int32_t rh_host_kv_del(const void *key, uint32_t klen);

/* ---- Strings: a pointer and a length, no zero at the end. ---- */

typedef struct rh_str {
    const char *ptr;
    uint32_t len;
} rh_str;

/* RH_STR("text") is a string literal as an rh_str. */
#define RH_STR(literal) ((rh_str){("" literal), sizeof(literal) - 1})

/* RH_LIST(type, a, b), and RH_NAMES("a", "b") for strings, are arrays that a zero element ends: the form of every list in
 * rh_plugin. */
#define RH_LIST(type, ...) ((type const[]){__VA_ARGS__, {0}})
#define RH_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* rh_cstr returns a zero-terminated string, NULL as the empty one. */
static inline rh_str rh_cstr(const char *s)
{
    rh_str r = {s, 0};
    while (s && s[r.len])
        r.len++;
    return r;
}

static inline bool rh_has_prefix(rh_str s, rh_str prefix)
{
    if (prefix.len > s.len)
        return false;
    for (uint32_t i = 0; i < prefix.len; i++)
        if (s.ptr[i] != prefix.ptr[i])
            return false;
    return true;
}

RH_SHARED bool rh_equal(rh_str a, rh_str b) { return a.len == b.len && rh_has_prefix(a, b); }

/* ---- Memory of a call. ---- */

extern unsigned char __heap_base;

/* Where the next allocation begins, and where it begins in a new call. Zero: not used yet. */
__attribute__((weak)) uintptr_t rh_heap_next, rh_heap_start;

/* rh_alloc returns n bytes, aligned to 16, that live until the call ends (for ever, in init). Without memory it traps. */
RH_SHARED void *rh_alloc(uint32_t n)
{
    if (!rh_heap_next)
        rh_heap_next = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uintptr_t p = rh_heap_next;
    uint64_t end = (uint64_t)p + (((uint64_t)n + 15) & ~(uint64_t)15);
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    if (end > have && __builtin_wasm_memory_grow(0, (uint32_t)((end - have + 65535) >> 16)) == (size_t)-1)
        __builtin_trap();
    rh_heap_next = (uintptr_t)end;
    return (void *)p;
}

/* A text that grows in the call's memory. {0} is empty. */
typedef struct rh_buf {
    char *ptr;
    uint32_t len, cap;
} rh_buf;

static inline rh_str rh_bytes_of(const rh_buf *b) { return (rh_str){b->ptr, b->len}; }

/* rh_reserve makes room for n more bytes and returns where they go; the caller adds to len what it used. */
RH_SHARED char *rh_reserve(rh_buf *b, uint32_t n)
{
    if (n > b->cap - b->len) {
        uint32_t want = b->cap * 2 > b->len + n ? b->cap * 2 : b->len + n;
        if (want < b->len)
            __builtin_trap();
        bool last = b->ptr && (uintptr_t)b->ptr + b->cap == rh_heap_next;
        want = (want + 15) & ~15u;
        if (last) {
            rh_alloc(want - b->cap);
        } else {
            char *p = rh_alloc(want);
            if (b->len)
                __builtin_memcpy(p, b->ptr, b->len);
            b->ptr = p;
        }
        b->cap = want;
    }
    return b->ptr + b->len;
}

RH_SHARED void rh_append(rh_buf *b, rh_str s)
{
    if (s.len) {
        __builtin_memcpy(rh_reserve(b, s.len), s.ptr, s.len);
        b->len += s.len;
    }
}

RH_SHARED void rh_append_byte(rh_buf *b, char c)
{
    *rh_reserve(b, 1) = c;
    b->len++;
}

/* rh_append_uint appends a number in decimal. */
static inline void rh_append_uint(rh_buf *b, uint64_t n)
{
    char digits[20];
    uint32_t i = sizeof digits;
    do
        digits[--i] = (char)('0' + n % 10);
    while (n /= 10);
    rh_append(b, (rh_str){digits + i, sizeof digits - i});
}

/* ---- URIs. ---- */

/* rh_escape appends s percent-encoded: all but letters, digits and "-._~", and the bytes of keep. */
static inline void rh_escape(rh_buf *b, rh_str s, rh_str keep)
{
    for (uint32_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool plain = (unsigned char)((c | 32) - 'a') < 26 || (unsigned char)(c - '0') < 10 || c == '-' || c == '.' || c == '_' ||
                     c == '~';
        for (uint32_t k = 0; !plain && k < keep.len; k++)
            plain = (unsigned char)keep.ptr[k] == c;
        if (plain) {
            rh_append_byte(b, (char)c);
        } else {
            rh_append_byte(b, '%');
            rh_append_byte(b, "0123456789ABCDEF"[c >> 4]);
            rh_append_byte(b, "0123456789ABCDEF"[c & 15]);
        }
    }
}

/* rh_escape_segment escapes for one segment of a URI, as a template's {name} does. */
static inline void rh_escape_segment(rh_buf *b, rh_str s) { rh_escape(b, s, (rh_str){0}); }

/* rh_escape_path escapes for a path of several segments, as a template's {+name} takes it. */
static inline void rh_escape_path(rh_buf *b, rh_str s) { rh_escape(b, s, RH_STR("!$&'()*+,;=:@/")); }

/* ---- JSON: a writer that puts the commas. {0} is empty. ---- */

typedef struct rh_json {
    rh_buf text;
    bool more; /* a value ended last, so that the next one needs a comma */
} rh_json;

RH_SHARED void rh_json_raw(rh_json *j, rh_str value)
{
    if (j->more)
        rh_append_byte(&j->text, ',');
    j->more = true;
    rh_append(&j->text, value);
}

static inline void rh_json_begin(rh_json *j, char bracket)
{
    rh_json_raw(j, (rh_str){&bracket, 1});
    j->more = false;
}

static inline void rh_json_end(rh_json *j, char bracket)
{
    rh_append_byte(&j->text, bracket);
    j->more = true;
}

static inline void rh_json_begin_object(rh_json *j) { rh_json_begin(j, '{'); }
static inline void rh_json_end_object(rh_json *j) { rh_json_end(j, '}'); }
static inline void rh_json_begin_array(rh_json *j) { rh_json_begin(j, '['); }
static inline void rh_json_end_array(rh_json *j) { rh_json_end(j, ']'); }

/* rh_json_string writes a string. It must be UTF-8. */
RH_SHARED void rh_json_string(rh_json *j, rh_str s)
{
    rh_json_raw(j, RH_STR("\""));
    for (uint32_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20) {
            rh_append(&j->text, RH_STR("\\u00"));
            rh_append_byte(&j->text, (char)('0' + (c >> 4)));
            c = (unsigned char)"0123456789ABCDEF"[c & 15];
        } else if (c == '"' || c == '\\') {
            rh_append_byte(&j->text, '\\');
        }
        rh_append_byte(&j->text, (char)c);
    }
    rh_append_byte(&j->text, '"');
}

/* rh_json_key writes the name of an object's member; its value comes next. */
RH_SHARED void rh_json_key(rh_json *j, const char *name)
{
    rh_json_string(j, rh_cstr(name));
    rh_append_byte(&j->text, ':');
    j->more = false;
}

static inline void rh_json_uint(rh_json *j, uint64_t n)
{
    rh_json_raw(j, (rh_str){0});
    rh_append_uint(&j->text, n);
}

static inline void rh_json_bool(rh_json *j, bool b) { rh_json_raw(j, b ? RH_STR("true") : RH_STR("false")); }

/* ---- Messages: protobuf wire format, varint and bytes. ---- */

RH_SHARED void rh_put_varint(rh_buf *b, uint64_t v)
{
    while (v >= 0x80) {
        rh_append_byte(b, (char)(v | 0x80));
        v >>= 7;
    }
    rh_append_byte(b, (char)v);
}

/* rh_put_uint appends a number field unless it is 0. */
RH_SHARED void rh_put_uint(rh_buf *b, uint32_t field, uint64_t v)
{
    if (v) {
        rh_put_varint(b, field << 3);
        rh_put_varint(b, v);
    }
}

/* rh_put_item appends a bytes field, empty or not. */
RH_SHARED void rh_put_item(rh_buf *b, uint32_t field, rh_str s)
{
    rh_put_varint(b, field << 3 | 2);
    rh_put_varint(b, s.len);
    rh_append(b, s);
}

/* rh_put_str appends a bytes field unless it is empty. */
static inline void rh_put_str(rh_buf *b, uint32_t field, rh_str s)
{
    if (s.len)
        rh_put_item(b, field, s);
}

static inline bool rh_take_varint(rh_str *m, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; shift < 64 && m->len; shift += 7) {
        unsigned char c = (unsigned char)*m->ptr;
        m->ptr++, m->len--;
        *v |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

/* A field of a message: bytes in text, or a number in num. */
typedef struct rh_field {
    uint32_t number;
    rh_str text;
    uint64_t num;
} rh_field;

/* rh_next_field takes the next field off m; false at the end, and at what is malformed. */
RH_SHARED bool rh_next_field(rh_str *m, rh_field *f)
{
    uint64_t tag;
    if (!rh_take_varint(m, &tag) || !rh_take_varint(m, &f->num))
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->text = (rh_str){m->ptr, 0};
    if ((tag & 7) == 0)
        return true;
    if ((tag & 7) != 2 || f->num > m->len)
        return false;
    f->text.len = (uint32_t)f->num;
    m->ptr += f->text.len, m->len -= f->text.len;
    return true;
}

/* rh_next_item finds the next element of a list in *rest, which begins as the whole message; false at the end. */
static inline bool rh_next_item(rh_str *rest, uint32_t field, rh_str *item)
{
    rh_field f;
    while (rh_next_field(rest, &f))
        if (f.number == field) {
            *item = f.text;
            return true;
        }
    return false;
}

/* rh_find finds a field that is no list; empty and 0 when absent, and the last one when it repeats. */
RH_SHARED void rh_find(rh_str message, uint32_t field, rh_field *found)
{
    rh_field f;
    *found = (rh_field){0};
    while (rh_next_field(&message, &f))
        if (f.number == field)
            *found = f;
}

RH_SHARED rh_str rh_get(rh_str message, uint32_t field)
{
    rh_field f;
    rh_find(message, field, &f);
    return f.text;
}

RH_SHARED uint64_t rh_get_uint(rh_str message, uint32_t field)
{
    rh_field f;
    rh_find(message, field, &f);
    return f.num;
}

/* rh_get_pair returns the value beside a name in paired lists, {NULL, 0} when the name is not there. */
RH_SHARED rh_str rh_get_pair(rh_str message, uint32_t names, uint32_t values, rh_str name)
{
    rh_str n = message, v = message, item, value;
    while (rh_next_item(&n, names, &item) && rh_next_item(&v, values, &value))
        if (rh_equal(item, name))
            return value;
    return (rh_str){0};
}

/* ---- What a plugin registers. ---- */

typedef struct rh_response rh_response;
typedef struct rh_page rh_page;
typedef struct rh_completion rh_completion;
typedef struct rh_poll_result rh_poll_result;
typedef struct rh_description rh_description;

typedef struct rh_var_decl rh_var_decl;

/* Requests are read where they lie: an accessor looks its field up. */
typedef struct rh_read_request {
    rh_str message;
    const rh_var_decl *declared;
} rh_read_request;

typedef struct rh_list_request {
    rh_str message;
    uint32_t page_size; /* the most resources wanted; rh_add counts */
} rh_list_request;

typedef struct rh_complete_request {
    rh_str message;
} rh_complete_request;

/* A tick of the watch, a change that the host saw, or a webhook. */
typedef struct rh_poll_request {
    rh_str message;
} rh_poll_request;

/* Of every request: the time, in milliseconds since 1970 in UTC; how long the call may take, from its start (0: unsaid). */
#define rh_now_ms(req) rh_get_uint((req)->message, 17)
#define rh_deadline_ms(req) rh_get_uint((req)->message, 8)

/* Who asks: each is empty unless the operator granted it. Claims and the granted keys of `_meta` are JSON objects;
 * rh_next_scope goes through the scopes, with rest = req->message at first. */
#define rh_issuer(req) rh_get((req)->message, 13)
#define rh_subject(req) rh_get((req)->message, 11)
#define rh_tenant(req) rh_get((req)->message, 14)
#define rh_claims(req) rh_get((req)->message, 16)
#define rh_meta(req) rh_get((req)->message, 12)
static inline bool rh_next_scope(rh_str *rest, rh_str *scope) { return rh_next_item(rest, 15, scope); }

/* Of a read: the URI, normalised, with the scheme's effective name; the template that matched, empty for a direct resource; what
 * rh_input_required was given in the first attempt; the etag that the host still holds (if it is right return
 * RH_NOT_MODIFIED); what bounds the sum of all bodies, 0: unsaid. */
static inline rh_str rh_uri(const rh_read_request *req) { return rh_get(req->message, 1); }
static inline rh_str rh_uri_template(const rh_read_request *req) { return rh_get(req->message, 20); }
static inline rh_str rh_state(const rh_read_request *req) { return rh_get(req->message, 5); }
static inline rh_str rh_if_etag(const rh_read_request *req) { return rh_get(req->message, 10); }
static inline uint64_t rh_max_bytes(const rh_read_request *req) { return rh_get_uint(req->message, 9); }

/* Of a list: the `after` of the last resource on the page before; empty for the first page. */
static inline rh_str rh_cursor(const rh_list_request *req) { return rh_get(req->message, 1); }

/* Of a completion: the template, the variable, what was typed so far, and another variable that the client knows already
 * ({NULL, 0}: it does not). */
static inline rh_str rh_complete_template(const rh_complete_request *req) { return rh_get(req->message, 20); }
static inline rh_str rh_argument(const rh_complete_request *req) { return rh_get(req->message, 2); }
static inline rh_str rh_value(const rh_complete_request *req) { return rh_get(req->message, 3); }
static inline rh_str rh_known(const rh_complete_request *req, const char *name)
{
    return rh_get_pair(req->message, 4, 5, rh_cstr(name));
}

/* Of a poll: what the last one gave to rh_set_state, on whatever instance; the body and a header of a webhook that the host
 * verified; what is watched, and the paths that changed (an empty one: anything may have), with rest = req->message at first. */
static inline rh_str rh_poll_state(const rh_poll_request *req) { return rh_get(req->message, 5); }
static inline rh_str rh_body(const rh_poll_request *req) { return rh_get(req->message, 7); }
static inline rh_str rh_header(const rh_poll_request *req, const char *name)
{
    return rh_get_pair(req->message, 21, 22, rh_cstr(name));
}
static inline bool rh_next_watched(rh_str *rest, rh_str *uri) { return rh_next_item(rest, 1, uri); }
static inline bool rh_next_changed(rh_str *rest, rh_str *path) { return rh_next_item(rest, 6, path); }

typedef rh_status (*rh_read_fn)(const rh_read_request *req, rh_response *out);
typedef rh_status (*rh_list_fn)(const rh_list_request *req, rh_page *out);
typedef rh_status (*rh_complete_fn)(const rh_complete_request *req, rh_completion *out);
typedef rh_status (*rh_poll_fn)(const rh_poll_request *req, rh_poll_result *out);

struct rh_var_decl {
    const char *name;
    rh_complete_fn complete; /* proposes values; NULL: none */
    bool slash;              /* values may hold '/', '\', ".." and control characters */
};

/* A direct resource (read is required then), or an item of a list (read is not used). */
typedef struct rh_resource {
    const char *uri, *name, *title, *description, *mime;
    uint64_t size_plus_1;    /* RH_SIZE(n); 0: unknown */
    const char *annotations; /* JSON objects, such as {"priority":0.5,"audience":["user"]}; NULL: none */
    const char *icons;       /* a JSON array */
    const char *meta;
    rh_read_fn read;
} rh_resource;

#define RH_SIZE(bytes) ((uint64_t)(bytes) + 1)

/* A set of resources by an RFC 6570 template. vars are exactly the template's variables. */
typedef struct rh_template {
    const char *uri_template, *name, *title, *description, *mime;
    const char *annotations, *icons, *meta;
    const rh_var_decl *vars;
    rh_read_fn read;
} rh_template;

/* Something outside the sandbox that the plugin asks for: "fs", "http", "kv". */
typedef struct rh_capability {
    const char *name, *reason;
    bool optional; /* without the grant the plugin loads, and the functions answer RH_DENIED */
} rh_capability;

/* The plugin. Lists end with a zero element: RH_LIST. */
typedef struct rh_plugin {
    const char *name, *version;
    const char *const *schemes;
    const rh_resource *resources;
    const rh_template *templates;
    rh_list_fn list;         /* resources beside the direct ones */
    rh_status (*init)(void); /* once, before the memory is kept: parse the config here; only config and log work */
    rh_poll_fn poll;         /* looks for changes every poll_ms while somebody watches */
    uint64_t poll_ms;
    const rh_capability *capabilities;
    const char *config_schema; /* a JSON Schema */
    const char *isolation;     /* a need: "reset" (default), "fresh", "shared" */
    uint64_t memory_bytes, timeout_ms;
    /* What is known at load only: describe adds with rh_add_resource and rh_add_template, and their reads and completions
     * come to the two below. */
    rh_status (*describe)(rh_description *d);
    rh_read_fn dynamic_read;
    rh_complete_fn dynamic_complete;
} rh_plugin;

extern const rh_plugin rh_registered;

/* ---- Inside a call. ---- */

/* The record that is being built; the export that runs, by its name's third letter and on. */
__attribute__((weak)) rh_buf rh_record;
__attribute__((weak)) char rh_running;
__attribute__((weak)) const char *rh_misused;

static inline void rh_log(rh_level level, rh_str line) { rh_host_log(level, line.ptr, line.len); }

static inline rh_buf *rh_begin_record(void)
{
    rh_record.len = 0;
    return &rh_record;
}

static inline rh_reply rh_emit(rh_kind kind) { return (rh_reply)rh_host_emit(kind, rh_record.ptr, rh_record.len); }

/* rh_fail_with is rh_fail with a JSON object for the error's data (or {0}), and with when to try again (0: unsaid). */
RH_SHARED rh_status rh_fail_with(rh_status code, rh_str message, rh_str detail, uint64_t retry_after_ms)
{
    if (rh_running == 'p' || rh_running == 'd') { /* an ERROR record is not legal there */
        rh_log(RH_LEVEL_ERROR, message);
        return code;
    }
    if (message.len > RH_MAX_ERROR_MESSAGE) { /* between characters */
        message.len = RH_MAX_ERROR_MESSAGE;
        while (message.len && (message.ptr[message.len] & 0xC0) == 0x80)
            message.len--;
    }
    rh_buf *b = rh_begin_record();
    rh_put_str(b, 1, message);
    rh_put_str(b, 2, detail);
    rh_put_uint(b, 3, retry_after_ms);
    rh_emit(RH_KIND_ERROR);
    return code;
}

/* rh_fail says why a call fails. Return its result: return rh_fail(RH_INVALID, RH_STR("a date is YYYY-MM-DD")). */
RH_SHARED rh_status rh_fail(rh_status code, rh_str message) { return rh_fail_with(code, message, (rh_str){0}, 0); }

/* rh_unavailable is rh_fail for what may work after a while. */
static inline rh_status rh_unavailable(rh_str message, uint64_t retry_after_ms)
{
    return rh_fail_with(RH_UNAVAILABLE, message, (rh_str){0}, retry_after_ms);
}

/* rh_updated says that the resource at uri, or something below it, changed. */
static inline void rh_updated(rh_str uri)
{
    rh_put_str(rh_begin_record(), 1, uri);
    rh_emit(RH_KIND_UPDATED);
}

/* rh_list_changed says that the list, or what describe adds, changed. */
static inline void rh_list_changed(void)
{
    rh_begin_record();
    rh_emit(RH_KIND_LIST_CHANGED);
}

/* rh_fetch calls a host function that answers with a length, in a buffer that fits; -1 when it fails. */
#define RH_FETCH(out, call)                                                                                                    \
    do {                                                                                                                       \
        rh_str *rh_out = (out);                                                                                                \
        uint32_t cap = 256;                                                                                                    \
        for (;;) {                                                                                                             \
            char *buf = rh_alloc(cap);                                                                                         \
            int32_t n = (call);                                                                                                \
            if (n < 0)                                                                                                         \
                return (rh_status)-n;                                                                                          \
            if ((uint32_t)n <= cap) {                                                                                          \
                *rh_out = (rh_str){buf, (uint32_t)n};                                                                          \
                return RH_OK;                                                                                                  \
            }                                                                                                                  \
            cap = (uint32_t)n;                                                                                                 \
        }                                                                                                                      \
    } while (0)

/* ---- Config: a value is named by a JSON Pointer (RFC 6901) such as "/title" or "/sources/0/url". ---- */

/* rh_config_raw gets a value: a string, number, boolean or null as plain text, an array or object as JSON text. It fails
 * with RH_NOT_FOUND when there is none. */
RH_SHARED rh_status rh_config_raw(rh_str pointer, rh_str *value)
{
    RH_FETCH(value, rh_host_config_get(pointer.ptr, pointer.len, buf, cap));
}

/* rh_config returns a value as text, def when it is absent. */
static inline rh_str rh_config(const char *pointer, rh_str def)
{
    rh_str value;
    return rh_config_raw(rh_cstr(pointer), &value) == RH_OK ? value : def;
}

static inline rh_status rh_config_fault(const char *pointer, rh_str want)
{
    rh_buf b = {0};
    rh_append(&b, RH_STR("config "));
    rh_append(&b, rh_cstr(pointer));
    rh_append(&b, RH_STR(": want "));
    rh_append(&b, want);
    return rh_fail(RH_INVALID, rh_bytes_of(&b));
}

/* rh_config_uint gets a whole number from 0 on. For another value it fails, saying so: return the status from init. */
static inline rh_status rh_config_uint(const char *pointer, uint64_t def, uint64_t *value)
{
    rh_str s;
    *value = def;
    if (rh_config_raw(rh_cstr(pointer), &s) != RH_OK)
        return RH_OK;
    uint64_t n = 0;
    bool ok = s.len > 0 && s.len < 20;
    for (uint32_t i = 0; ok && i < s.len; i++) {
        ok = s.ptr[i] >= '0' && s.ptr[i] <= '9';
        n = n * 10 + (uint64_t)(s.ptr[i] - '0');
    }
    if (!ok)
        return rh_config_fault(pointer, RH_STR("a whole number from 0 on"));
    *value = n;
    return RH_OK;
}

/* rh_config_bool gets true or false. */
static inline rh_status rh_config_bool(const char *pointer, bool def, bool *value)
{
    rh_str s;
    *value = def;
    if (rh_config_raw(rh_cstr(pointer), &s) != RH_OK)
        return RH_OK;
    *value = rh_equal(s, RH_STR("true"));
    if (*value || rh_equal(s, RH_STR("false")))
        return RH_OK;
    return rh_config_fault(pointer, RH_STR("true or false"));
}

RH_SHARED bool rh_host_name(const char *prefix, rh_str name, rh_str *value)
{
    rh_buf b = {0};
    rh_append(&b, rh_cstr(prefix));
    rh_append(&b, name); /* names of schemes and of roots hold no '~' and no '/' */
    return rh_config_raw(rh_bytes_of(&b), value) == RH_OK;
}

/* rh_scheme returns the name that the operator gave to a scheme of the plugin, or name itself. */
static inline rh_str rh_scheme(const char *name)
{
    rh_str value;
    return rh_host_name("/$schemes/", rh_cstr(name), &value) ? value : rh_cstr(name);
}

/* rh_root gets what the path of a granted folder's URIs begins with, such as "/srv/docs"; false: it is not granted. */
static inline bool rh_root(const char *name, rh_str *prefix) { return rh_host_name("/$roots/", rh_cstr(name), prefix); }

/* ---- Reads. ---- */

struct rh_response {
    const char *mime; /* of the resource or template */
    rh_str etag;
    uint64_t ttl_plus_1;
    bool is_public;
    bool stopped, asked;
    uint32_t parts;
};

/* rh_var returns a variable, percent-decoded; {NULL, 0} when the URI does not define it. Asking for one that the template
 * does not declare fails the read. */
static inline rh_str rh_var(const rh_read_request *req, const char *name)
{
    rh_str value = rh_get_pair(req->message, 3, 4, rh_cstr(name));
    if (!value.ptr && req->declared) {
        const rh_var_decl *v = req->declared;
        while (v->name && !rh_equal(rh_cstr(v->name), rh_cstr(name)))
            v++;
        if (!v->name)
            rh_misused = name;
    }
    return value;
}

/* rh_answer returns the client's answer to the question of that key, a JSON object (decline and cancel too); {NULL, 0}: none. */
static inline rh_str rh_answer(const rh_read_request *req, const char *key)
{
    return rh_get_pair(req->message, 6, 7, rh_cstr(key));
}

/* rh_can_ask reports whether the client can be asked by a method such as "elicitation/create". */
static inline bool rh_can_ask(const rh_read_request *req, const char *method)
{
    rh_str rest = req->message, m;
    while (rh_next_item(&rest, 18, &m))
        if (rh_equal(m, rh_cstr(method)))
            return true;
    return false;
}

/* rh_progress tells the client how far the read is: done only grows, total is 0 when unknown. */
static inline void rh_progress(uint64_t done, uint64_t total, rh_str message)
{
    rh_buf *b = rh_begin_record();
    rh_put_uint(b, 1, done);
    rh_put_uint(b, 2, total ? total + 1 : 0);
    rh_put_str(b, 3, message);
    rh_emit(RH_KIND_PROGRESS);
}

/* For the parts that follow: how long they may be reused; that every caller gets the same bytes (it counts only where the
 * operator allows it); what names the state of the content (printable ASCII up to 256 bytes). */
static inline void rh_set_ttl(rh_response *out, uint64_t ms) { out->ttl_plus_1 = ms + 1; }
static inline void rh_set_public(rh_response *out) { out->is_public = true; }
static inline void rh_set_etag(rh_response *out, rh_str etag) { out->etag = etag; }

static inline rh_status rh_replied(rh_response *out, rh_reply r)
{
    if (r == RH_REPLY_CONTINUE)
        return RH_OK;
    if (r == RH_REPLY_STOP) {
        out->stopped = true;
        return RH_TOO_LARGE;
    }
    return rh_fail(RH_INTERNAL, RH_STR("the host rejected a record of the read; its log says why"));
}

/* A part that rh_write fills. */
typedef struct rh_part_info {
    rh_str uri;       /* the part's own, below the one that was asked for; empty: that one */
    const char *mime; /* NULL: the resource's or template's, else text/plain or application/octet-stream */
    bool text;        /* the whole body is valid UTF-8 */
    uint64_t size;    /* a hint */
    rh_str meta;      /* a JSON object */
} rh_part_info;

/* rh_part begins a part. Its body is what rh_write is given until the next part begins. */
RH_SHARED rh_status rh_part(rh_response *out, const rh_part_info *p)
{
    const char *mime = p->mime;
    if (!mime && !p->uri.len)
        mime = out->mime;
    if (!mime)
        mime = p->text ? "text/plain" : "application/octet-stream";
    rh_buf *b = rh_begin_record();
    rh_put_str(b, 1, p->uri);
    rh_put_str(b, 2, rh_cstr(mime));
    rh_put_uint(b, 3, p->text);
    rh_put_uint(b, 4, p->size);
    rh_put_str(b, 5, p->meta);
    rh_put_str(b, 6, out->etag);
    rh_put_uint(b, 7, out->ttl_plus_1);
    rh_put_uint(b, 8, out->is_public);
    out->parts++;
    return rh_replied(out, rh_emit(RH_KIND_CONTENT));
}

/* rh_write appends to the part that began last. A status other than RH_OK ends the read: return it. */
static inline rh_status rh_write(rh_response *out, rh_str bytes)
{
    return rh_replied(out, (rh_reply)rh_host_write(bytes.ptr, bytes.len));
}

RH_SHARED rh_status rh_whole(rh_response *out, rh_str body, bool text, const char *mime)
{
    rh_part_info p = {.mime = mime, .text = text, .size = body.len};
    rh_status s = rh_part(out, &p);
    return s == RH_OK ? rh_write(out, body) : s;
}

/* rh_text, rh_bytes and rh_json_body write a part in one go: text that is UTF-8, bytes, JSON text. */
static inline rh_status rh_text(rh_response *out, rh_str body) { return rh_whole(out, body, true, NULL); }
static inline rh_status rh_bytes(rh_response *out, rh_str body) { return rh_whole(out, body, false, NULL); }
static inline rh_status rh_json_body(rh_response *out, const rh_json *j)
{
    return rh_whole(out, rh_bytes_of(&j->text), true, out->mime ? out->mime : "application/json");
}

/* rh_ask asks the client something: method is such as "elicitation/create", params its parameters as MCP 2026-07-28 has them, a
 * JSON object. A form is flat and never asks for a secret; the page of mode "url" is https. The host rejects others. Then return
 * rh_input_required. No part may have begun. */
static inline rh_status rh_ask(rh_response *out, rh_str key, rh_str method, rh_str params)
{
    rh_buf *b = rh_begin_record();
    rh_put_str(b, 1, key);
    rh_put_str(b, 2, method);
    rh_put_str(b, 3, params);
    out->asked = true;
    return rh_replied(out, rh_emit(RH_KIND_INPUT));
}

/* rh_input_required ends the attempt: the read comes again with the answers and with state, at most 8 KiB, which the host
 * seals on its way through the client. */
static inline rh_status rh_input_required(rh_response *out, rh_str state)
{
    if (state.len || !out->asked) {
        rh_put_str(rh_begin_record(), 1, state);
        rh_status s = rh_replied(out, rh_emit(RH_KIND_STATE));
        if (s != RH_OK)
            return s;
    }
    out->asked = true;
    return RH_INPUT_REQUIRED;
}

/* ---- Lists. ---- */

struct rh_page {
    uint32_t left;
    bool full, added, broken;
    rh_buf after;
    uint64_t ttl_plus_1;
    bool is_public;
};

/* rh_add adds a resource. after is the cursor from which the list goes on behind it, never empty. false: the page is full, r
 * was not taken, the next page begins with it; return. A resource that the host rejects is left out. */
RH_SHARED bool rh_add(rh_page *out, const rh_resource *r, rh_str after)
{
    if (out->full || !out->left) {
        out->full = true;
        return false;
    }
    rh_buf *b = rh_begin_record();
    const char *const text[] = {r->uri, r->name, r->title, r->description, r->mime};
    for (uint32_t i = 0; i < 5; i++)
        rh_put_str(b, i + 1, rh_cstr(text[i]));
    rh_put_uint(b, 6, r->size_plus_1);
    const char *const json[] = {r->annotations, r->icons, r->meta};
    for (uint32_t i = 0; i < 3; i++)
        rh_put_str(b, i + 7, rh_cstr(json[i]));
    if (rh_emit(RH_KIND_RESOURCE) == RH_REPLY_STOP) {
        out->full = true;
        return false;
    }
    out->left--;
    out->added = true;
    out->broken |= !after.len;
    out->after.len = 0;
    rh_append(&out->after, after);
    return true;
}

static inline void rh_set_list_ttl(rh_page *out, uint64_t ms) { out->ttl_plus_1 = ms + 1; }
static inline void rh_set_list_public(rh_page *out) { out->is_public = true; }

/* ---- Completions. ---- */

struct rh_completion {
    uint32_t count;
    bool more;
    uint64_t total_plus_1, ttl_plus_1;
    bool is_public;
};

/* rh_propose proposes a value, raw (not percent-encoded), best first. false: no more are wanted. */
static inline bool rh_propose(rh_completion *out, rh_str value)
{
    if (out->count < RH_MAX_VALUES) {
        rh_put_str(rh_begin_record(), 1, value);
        rh_reply r = rh_emit(RH_KIND_VALUE);
        out->count += r == RH_REPLY_CONTINUE;
        if (r != RH_REPLY_STOP)
            return true;
    }
    out->more = true;
    return false;
}

static inline void rh_set_total(rh_completion *out, uint64_t n) { out->total_plus_1 = n + 1; }

/* ---- Polls. ---- */

struct rh_poll_result {
    uint64_t next_ms;
};

/* rh_set_state keeps at most 8 KiB for the next poll. */
static inline rh_status rh_set_state(rh_poll_result *out, rh_str state)
{
    (void)out;
    rh_put_str(rh_begin_record(), 1, state);
    return rh_emit(RH_KIND_STATE) == RH_REPLY_CONTINUE
               ? RH_OK
               : rh_fail(RH_INTERNAL, RH_STR("the host rejected the poll's state; its log says why"));
}

/* rh_set_next_poll asks for the next poll after so many milliseconds, in place of poll_ms. */
static inline void rh_set_next_poll(rh_poll_result *out, uint64_t ms) { out->next_ms = ms; }

/* ---- Files: capability "fs". A path begins with the name of a granted root: "main/guide/a.md". ---- */

typedef struct rh_file_info {
    rh_str name;       /* the last element of the path */
    bool dir, link;    /* link: the name is one, all else is what it leads to. Do not enter linked folders. */
    uint64_t size;     /* bytes */
    uint64_t mtime_ns; /* nanoseconds since 1970; 0: unknown */
    rh_str version;    /* changes with the content: fit for rh_set_etag */
} rh_file_info;

static inline rh_file_info rh_file_entry(rh_str entry)
{
    return (rh_file_info){
        .name = rh_get(entry, 1),
        .dir = rh_get_uint(entry, 2) == 2,
        .size = rh_get_uint(entry, 3),
        .mtime_ns = rh_get_uint(entry, 4),
        .version = rh_get(entry, 5),
        .link = rh_get_uint(entry, 6) != 0,
    };
}

static inline rh_status rh_fs_stat_raw(rh_str path, rh_str *entry)
{
    RH_FETCH(entry, rh_host_fs_stat(path.ptr, path.len, buf, cap));
}

/* rh_fs_stat describes a file or folder. */
static inline rh_status rh_fs_stat(rh_str path, rh_file_info *info)
{
    rh_str entry;
    rh_status s = rh_fs_stat_raw(path, &entry);
    if (s == RH_OK)
        *info = rh_file_entry(entry);
    return s;
}

/* rh_fs_list gets entries of a folder in byte order, those behind the name after; listing is empty at the end. Go through
 * them with rh_next_entry. The same buffer serves again when it is given again: start with {0}. */
static inline rh_status rh_fs_list(rh_str path, rh_str after, rh_buf *room, rh_str *listing)
{
    if (!room->cap)
        rh_reserve(room, 16384);
    for (;;) {
        int32_t n = rh_host_fs_list(path.ptr, path.len, after.ptr, after.len, room->ptr, room->cap);
        if (n < 0)
            return (rh_status)-n;
        if ((uint32_t)n <= room->cap) {
            *listing = (rh_str){room->ptr, (uint32_t)n};
            return RH_OK;
        }
        rh_reserve(room, (uint32_t)n);
    }
}

static inline bool rh_next_entry(rh_str *listing, rh_file_info *info)
{
    uint64_t n;
    if (!rh_take_varint(listing, &n) || n > listing->len)
        return false;
    *info = rh_file_entry((rh_str){listing->ptr, (uint32_t)n});
    listing->ptr += n, listing->len -= (uint32_t)n;
    return true;
}

/* rh_fs_read_file reads a whole file of at most limit bytes. */
static inline rh_status rh_fs_read_file(rh_str path, uint32_t limit, rh_str *content)
{
    int32_t h = rh_host_fs_open(path.ptr, path.len);
    if (h < 0)
        return (rh_status)-h;
    rh_buf b = {0};
    int32_t n;
    do {
        rh_reserve(&b, 16384);
        n = rh_host_fs_read(h, b.len, b.ptr + b.len, b.cap - b.len);
        if (n > 0)
            b.len += (uint32_t)n;
    } while (n > 0 && b.len <= limit);
    rh_host_fs_close(h);
    if (n < 0)
        return (rh_status)-n;
    *content = rh_bytes_of(&b);
    return b.len > limit ? RH_TOO_LARGE : RH_OK;
}

/* rh_fs_copy writes a file's content to the part that began last, in pieces. */
static inline rh_status rh_fs_copy(rh_response *out, rh_str path)
{
    int32_t h = rh_host_fs_open(path.ptr, path.len), n;
    if (h < 0)
        return (rh_status)-h;
    char *buf = rh_alloc(65536);
    int64_t off = 0;
    rh_status s = RH_OK;
    while (s == RH_OK && (n = rh_host_fs_read(h, off, buf, 65536)) != 0) {
        s = n < 0 ? (rh_status)-n : rh_write(out, (rh_str){buf, (uint32_t)n});
        off += n;
    }
    rh_host_fs_close(h);
    return s;
}

/* ---- HTTP: capability "http". ---- */

typedef struct rh_http_request {
    rh_str method; /* empty: GET */
    rh_str url;
    rh_str headers[16]; /* name, value, name, value; an empty name ends them */
    rh_str body;
    uint64_t timeout_ms; /* 0: the call's deadline alone */
} rh_http_request;

typedef struct rh_http_response {
    rh_str message; /* rh_http_header reads headers from it */
    uint32_t status;
    rh_str url; /* after redirects */
} rh_http_response;

/* rh_http_send starts a request and does not wait, so that several run side by side: handle, or minus a status. */
static inline int32_t rh_http_send(const rh_http_request *r)
{
    rh_buf *b = rh_begin_record();
    rh_put_str(b, 1, r->method.len ? r->method : RH_STR("GET"));
    rh_put_str(b, 2, r->url);
    for (uint32_t i = 0; i < 16 && r->headers[i].len; i += 2) {
        rh_put_item(b, 3, r->headers[i]);
        rh_put_item(b, 4, r->headers[i + 1]);
    }
    rh_put_str(b, 5, r->body);
    rh_put_uint(b, 6, r->timeout_ms);
    return rh_host_http_send(b->ptr, b->len);
}

static inline rh_status rh_http_head_raw(int32_t handle, rh_str *message)
{
    RH_FETCH(message, rh_host_http_head(handle, buf, cap));
}

/* rh_http_head waits for the response's head. */
static inline rh_status rh_http_head(int32_t handle, rh_http_response *r)
{
    rh_status s = rh_http_head_raw(handle, &r->message);
    if (s == RH_OK) {
        r->status = (uint32_t)rh_get_uint(r->message, 1);
        r->url = rh_get(r->message, 4);
    }
    return s;
}

/* rh_http_header returns the header of that name, as the host spells it; {NULL, 0}: none. */
static inline rh_str rh_http_header(const rh_http_response *r, const char *name)
{
    return rh_get_pair(r->message, 2, 3, rh_cstr(name));
}

/* rh_http_body reads the rest of the body, at most limit bytes, and closes the handle. */
static inline rh_status rh_http_body(int32_t handle, uint32_t limit, rh_str *body)
{
    rh_buf b = {0};
    int32_t n;
    do {
        rh_reserve(&b, 16384);
        n = rh_host_http_read(handle, b.ptr + b.len, b.cap - b.len);
        if (n > 0)
            b.len += (uint32_t)n;
    } while (n > 0 && b.len <= limit);
    rh_host_http_close(handle);
    if (n < 0)
        return (rh_status)-n;
    *body = rh_bytes_of(&b);
    return b.len > limit ? RH_TOO_LARGE : RH_OK;
}

/* ---- Values that outlive a call: capability "kv". ---- */

/* rh_kv_get gets a value: one of the caller's own, else one that poll wrote. */
static inline rh_status rh_kv_get(rh_str key, rh_str *value)
{
    RH_FETCH(value, rh_host_kv_get(key.ptr, key.len, buf, cap));
}

/* rh_kv_put keeps a value for ttl_ms, 0: until it is deleted. */
static inline rh_status rh_kv_put(rh_str key, rh_str value, uint64_t ttl_ms)
{
    return (rh_status)-rh_host_kv_put(key.ptr, key.len, value.ptr, value.len, (int64_t)ttl_ms);
}

static inline rh_status rh_kv_del(rh_str key) { return (rh_status)-rh_host_kv_del(key.ptr, key.len); }

/* ---- The manifest. ---- */

struct rh_description {
    rh_json *resources, *templates;
};

static inline void rh_member(rh_json *j, const char *key, const char *value)
{
    if (value) {
        rh_json_key(j, key);
        rh_json_string(j, rh_cstr(value));
    }
}

static inline void rh_member_raw(rh_json *j, const char *key, const char *value)
{
    if (value) {
        rh_json_key(j, key);
        rh_json_raw(j, rh_cstr(value));
    }
}

static inline void rh_member_uint(rh_json *j, const char *key, uint64_t n)
{
    if (n) {
        rh_json_key(j, key);
        rh_json_uint(j, n);
    }
}

static inline void rh_member_true(rh_json *j, const char *key, bool b) { rh_member_raw(j, key, b ? "true" : NULL); }

RH_SHARED void rh_members(rh_json *j, const char *name, const char *title, const char *description,
                                                 const char *mime, const char *annotations, const char *icons, const char *meta)
{
    rh_member(j, "name", name);
    rh_member(j, "title", title);
    rh_member(j, "description", description);
    rh_member(j, "mimeType", mime);
    rh_member_raw(j, "annotations", annotations);
    rh_member_raw(j, "icons", icons);
    rh_member_raw(j, "_meta", meta);
}

/* rh_add_resource adds a direct resource in describe. */
RH_SHARED void rh_add_resource(rh_description *d, const rh_resource *r)
{
    rh_json *j = d->resources;
    rh_json_begin_object(j);
    rh_member(j, "uri", r->uri);
    rh_members(j, r->name, r->title, r->description, r->mime, r->annotations, r->icons, r->meta);
    if (r->size_plus_1) {
        rh_json_key(j, "size");
        rh_json_uint(j, r->size_plus_1 - 1);
    }
    rh_json_end_object(j);
}

/* rh_add_template adds a template in describe. */
RH_SHARED void rh_add_template(rh_description *d, const rh_template *t)
{
    rh_json *j = d->templates;
    rh_json_begin_object(j);
    rh_member(j, "uriTemplate", t->uri_template);
    rh_members(j, t->name, t->title, t->description, t->mime, t->annotations, t->icons, t->meta);
    rh_json_key(j, "vars");
    rh_json_begin_object(j);
    for (const rh_var_decl *v = t->vars; v && v->name; v++) {
        rh_json_key(j, v->name);
        rh_json_begin_object(j);
        rh_member_true(j, "slash", v->slash);
        rh_member_true(j, "complete", v->complete != NULL);
        rh_json_end_object(j);
    }
    rh_json_end_object(j);
    rh_json_end_object(j);
}

static inline void rh_members_of_plugin(rh_json *j, const rh_plugin *p)
{
    rh_member(j, "abi", "reshost_v1");
    rh_member(j, "name", p->name);
    rh_member(j, "version", p->version);
    rh_json_key(j, "schemes");
    rh_json_begin_array(j);
    for (const char *const *s = p->schemes; s && *s; s++)
        rh_json_string(j, rh_cstr(*s));
    rh_json_end_array(j);
    rh_member_true(j, "list", p->list != NULL);
    rh_json_key(j, "capabilities");
    rh_json_begin_array(j);
    for (const rh_capability *c = p->capabilities; c && c->name; c++) {
        rh_json_begin_object(j);
        rh_member(j, "name", c->name);
        rh_member(j, "reason", c->reason);
        rh_member_true(j, "optional", c->optional);
        rh_json_end_object(j);
    }
    rh_json_end_array(j);
    rh_member(j, "isolation", p->isolation);
    rh_json_key(j, "limits");
    rh_json_begin_object(j);
    rh_member_uint(j, "memory", p->memory_bytes);
    rh_member_uint(j, "timeout_ms", p->timeout_ms);
    rh_json_end_object(j);
    rh_member_true(j, "dynamic", p->describe != NULL);
    rh_member_uint(j, "poll_ms", p->poll ? p->poll_ms : 0);
    rh_member_raw(j, "config_schema", p->config_schema);
}

/* ---- Behind the exports. ---- */

/* rh_enter begins a call: memory of the last one is free, and the request is fetched. */
RH_SHARED rh_str rh_enter(char export_name)
{
    if (rh_heap_start)
        rh_heap_next = rh_heap_start;
    rh_record = (rh_buf){0};
    rh_running = export_name;
    rh_misused = NULL;
    uint32_t cap = 1024, n;
    char *buf;
    for (;;) {
        buf = rh_alloc(cap);
        n = (uint32_t)rh_host_req(buf, cap);
        if (n <= cap)
            return (rh_str){buf, n};
        cap = n;
    }
}

/* rh_is_effective compares a registered URI or template with one of a request, whose scheme may be another. */
RH_SHARED bool rh_is_effective(const char *registered, rh_str requested)
{
    rh_str all = rh_cstr(registered), name = {registered, 0}, scheme;
    while (name.len < all.len && all.ptr[name.len] != ':')
        name.len++;
    if (!rh_host_name("/$schemes/", name, &scheme))
        scheme = name;
    all.ptr += name.len, all.len -= name.len;
    if (!rh_has_prefix(requested, scheme))
        return false;
    requested.ptr += scheme.len, requested.len -= scheme.len;
    return rh_equal(all, requested);
}

/* rh_template_of finds a registered template by its place, or by its text when the place is unsaid, as of a dynamic plugin. */
RH_SHARED const rh_template *rh_template_of(const rh_plugin *p, uint64_t index, rh_str text)
{
    for (const rh_template *t = p->templates; t && t->uri_template; t++)
        if (index ? --index == 0 : p->describe && rh_is_effective(t->uri_template, text))
            return t;
    return NULL;
}

static inline rh_status rh_export_init(const rh_plugin *p)
{
    rh_str m = rh_enter('i');
    rh_status s = p->init && !rh_get_uint(m, 20) ? p->init() : RH_OK;
    rh_record = (rh_buf){0};
    rh_heap_start = rh_heap_next;
    return s;
}

static inline rh_status rh_export_describe(const rh_plugin *p)
{
    rh_str m = rh_enter('d');
    rh_json resources = {0}, templates = {0}, all = {0};
    rh_description d = {&resources, &templates};
    for (const rh_resource *r = p->resources; r && r->uri; r++)
        rh_add_resource(&d, r);
    for (const rh_template *t = p->templates; t && t->uri_template; t++)
        rh_add_template(&d, t);
    if (p->describe && !rh_get_uint(m, 20)) {
        rh_status s = p->describe(&d);
        if (s != RH_OK)
            return s;
    }
    rh_json_begin_object(&all);
    rh_members_of_plugin(&all, p);
    rh_json_key(&all, "resources");
    rh_json_begin_array(&all);
    rh_json_raw(&all, rh_bytes_of(&resources.text));
    rh_json_end_array(&all);
    rh_json_key(&all, "templates");
    rh_json_begin_array(&all);
    rh_json_raw(&all, rh_bytes_of(&templates.text));
    rh_json_end_array(&all);
    rh_json_end_object(&all);
    return rh_host_emit(RH_KIND_MANIFEST, all.text.ptr, all.text.len) == RH_REPLY_CONTINUE ? RH_OK : RH_INTERNAL;
}

static inline rh_status rh_export_read(const rh_plugin *p)
{
    rh_read_request req = {.message = rh_enter('r')};
    rh_response out = {0};
    rh_read_fn read = p->dynamic_read;
    const rh_template *t = rh_template_of(p, rh_get_uint(req.message, 2), rh_uri_template(&req));
    if (t) {
        read = t->read;
        out.mime = t->mime;
        req.declared = t->vars;
    } else if (!rh_uri_template(&req).len) {
        for (const rh_resource *r = p->resources; r && r->uri; r++)
            if (rh_is_effective(r->uri, rh_uri(&req))) {
                read = r->read;
                out.mime = r->mime;
                break;
            }
    }
    if (!read)
        return rh_fail(RH_NOT_FOUND, RH_STR("no handler for this URI"));
    rh_status s = read(&req, &out);
    if (s != RH_OK)
        return s;
    if (rh_misused)
        return rh_fail(RH_INTERNAL, RH_STR("the handler asked for a variable that its template does not declare"));
    if (out.stopped)
        return RH_TOO_LARGE;
    if (out.asked)
        return RH_INPUT_REQUIRED;
    return out.parts ? RH_OK : rh_fail(RH_INTERNAL, RH_STR("the handler wrote no part"));
}

static inline rh_status rh_info(uint64_t total_plus_1, bool more, uint64_t next_ms, uint64_t ttl_plus_1, bool is_public)
{
    rh_buf *b = rh_begin_record();
    rh_put_uint(b, 1, total_plus_1);
    rh_put_uint(b, 2, more);
    rh_put_uint(b, 3, next_ms);
    rh_put_uint(b, 4, ttl_plus_1);
    rh_put_uint(b, 5, is_public);
    return !b->len || rh_emit(RH_KIND_INFO) == RH_REPLY_CONTINUE ? RH_OK : RH_INTERNAL;
}

static inline rh_status rh_export_list(const rh_plugin *p)
{
    rh_list_request req = {.message = rh_enter('l')};
    uint64_t size = rh_get_uint(req.message, 2);
    req.page_size = size ? (uint32_t)size : 1;
    rh_page out = {.left = req.page_size};
    if (!p->list)
        return rh_fail(RH_UNSUPPORTED, RH_STR("the plugin has no list"));
    rh_status s = p->list(&req, &out);
    if (s != RH_OK)
        return s;
    if (out.broken)
        return rh_fail(RH_INTERNAL, RH_STR("the list gave a resource an empty cursor"));
    if (out.full && !out.added)
        return rh_fail(RH_TOO_LARGE, RH_STR("the list's next resource does not fit into a page"));
    if (out.full) {
        rh_put_str(rh_begin_record(), 1, rh_bytes_of(&out.after));
        if (rh_emit(RH_KIND_CURSOR) != RH_REPLY_CONTINUE)
            return RH_INTERNAL;
    }
    return rh_info(0, false, 0, out.ttl_plus_1, out.is_public);
}

static inline rh_status rh_export_complete(const rh_plugin *p)
{
    rh_complete_request req = {.message = rh_enter('c')};
    rh_completion out = {0};
    rh_complete_fn complete = p->dynamic_complete;
    const rh_template *t = rh_template_of(p, rh_get_uint(req.message, 1), rh_complete_template(&req));
    for (const rh_var_decl *v = t ? t->vars : NULL; v && v->name; v++)
        if (rh_equal(rh_cstr(v->name), rh_argument(&req)))
            complete = v->complete;
    if (!complete)
        return rh_fail(RH_INVALID, RH_STR("nothing completes this variable"));
    rh_status s = complete(&req, &out);
    if (s != RH_OK)
        return s;
    if (!out.total_plus_1 && !out.more)
        out.total_plus_1 = out.count + 1;
    return rh_info(out.total_plus_1, out.more, 0, out.ttl_plus_1, out.is_public);
}

static inline rh_status rh_export_poll(const rh_plugin *p)
{
    rh_poll_request req = {.message = rh_enter('p')};
    rh_poll_result out = {0};
    rh_status s = p->poll ? p->poll(&req, &out) : RH_UNSUPPORTED;
    return s == RH_OK ? rh_info(0, false, out.next_ms, 0, false) : s;
}

/* RH_PLUGIN(.name = …, …) registers the plugin and exports what the host calls. Once a plugin. */
#define RH_EXPORT(export, serve)                                                                                               \
    __attribute__((export_name(export))) int32_t rh_exported_##serve(void) { return (int32_t)rh_export_##serve(&rh_registered); }
#define RH_PLUGIN(...)                                                                                                         \
    const rh_plugin rh_registered = {__VA_ARGS__};                                                                             \
    RH_EXPORT("rh_init", init)                                                                                                 \
    RH_EXPORT("rh_describe", describe)                                                                                         \
    RH_EXPORT("rh_read", read)                                                                                                 \
    RH_EXPORT("rh_list", list)                                                                                                 \
    RH_EXPORT("rh_complete", complete)                                                                                         \
    RH_EXPORT("rh_poll", poll)

#endif
