/* The conformance guest in C: README.md one folder up says what it does. */
#include "reshost.h"

/* greeting is parsed once, and is there in every call; calls counts those of this memory, so it is 1 under reset. */
static rh_str greeting;
static uint32_t calls;

static rh_status initialize(void)
{
    greeting = rh_config("/greeting", RH_STR("hello"));
    if (rh_equal(greeting, RH_STR("hello")) || rh_equal(greeting, RH_STR("servus")))
        return RH_OK;
    rh_json got = {0};
    rh_append(&got.text, RH_STR("config /greeting: got "));
    rh_json_string(&got, greeting);
    rh_append(&got.text, RH_STR(", want one of \"hello\" \"servus\""));
    return rh_fail(RH_INVALID, rh_bytes_of(&got.text));
}

static rh_status read_hello(const rh_read_request *req, rh_response *out)
{
    (void)req;
    rh_json j = {0};
    rh_json_begin_object(&j);
    rh_json_key(&j, "greeting");
    rh_json_string(&j, greeting);
    rh_json_key(&j, "calls");
    rh_json_uint(&j, ++calls);
    rh_json_end_object(&j);
    return rh_json_body(out, &j);
}

static rh_str hello_uri(void)
{
    rh_buf b = {0};
    rh_append(&b, rh_scheme("sdk"));
    rh_append(&b, RH_STR("://hello"));
    return rh_bytes_of(&b);
}

static rh_status parts(rh_response *out)
{
    rh_set_ttl(out, 1500);
    rh_set_etag(out, RH_STR("v1"));
    rh_status s = rh_part(out, &(rh_part_info){
        .uri = hello_uri(), .mime = "text/x-test", .text = true, .meta = RH_STR("{\"test.example/a\":1}")});
    for (int i = 0; i < 3 && s == RH_OK; i++)
        s = rh_write(out, RH_STR("\xC3\xA9"));
    if (s == RH_OK)
        s = rh_part(out, &(rh_part_info){.mime = "application/octet-stream"});
    return s == RH_OK ? rh_write(out, (rh_str){"\0\xFF", 2}) : s;
}

static rh_status flood(rh_response *out)
{
    rh_str zeros = {rh_alloc(65536), 65536};
    rh_status s = rh_part(out, &(rh_part_info){0});
    while (s == RH_OK)
        s = rh_write(out, zeros);
    return s;
}

static rh_status large(rh_response *out)
{
    rh_buf b = {0};
    for (int i = 0; i < 4096; i++)
        rh_append(&b, RH_STR("0123456789abcdef"));
    rh_status s = rh_part(out, &(rh_part_info){.text = true});
    for (int i = 0; i < 16 && s == RH_OK; i++)
        s = rh_write(out, rh_bytes_of(&b));
    return s;
}

static rh_status etag(const rh_read_request *req, rh_response *out)
{
    if (rh_equal(rh_if_etag(req), RH_STR("v1")))
        return RH_NOT_MODIFIED;
    rh_set_etag(out, RH_STR("v1"));
    rh_set_public(out);
    return rh_text(out, RH_STR("tagged"));
}

static rh_status ask(const rh_read_request *req, rh_response *out)
{
    rh_str answer = rh_answer(req, "k");
    if (answer.ptr) {
        rh_buf b = {0};
        rh_append(&b, answer);
        rh_append(&b, rh_state(req));
        return rh_text(out, rh_bytes_of(&b));
    }
    if (!rh_can_ask(req, "elicitation/create"))
        return rh_fail(RH_UNSUPPORTED, RH_STR("this client cannot be asked"));
    rh_status s = rh_ask(out, RH_STR("k"), RH_STR("elicitation/create"),
                         RH_STR("{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"));
    return s == RH_OK ? rh_input_required(out, RH_STR("s")) : s;
}

static rh_status changed(const rh_read_request *req, rh_response *out)
{
    rh_updated(hello_uri());
    rh_list_changed();
    rh_progress(1, 2, RH_STR("half"));
    rh_log(RH_LEVEL_WARNING, RH_STR("a line"));
    rh_str n = rh_var(req, "n");
    return rh_text(out, n.ptr ? n : RH_STR("none"));
}

/* fail_as has a case for each code. */
static rh_status fail_as(rh_str what, rh_str uri)
{
    static const struct {
        const char *name;
        rh_status code;
    } cases[] = {
        {"invalid", RH_INVALID},     {"denied", RH_DENIED},       {"internal", RH_INTERNAL},
        {"too-large", RH_TOO_LARGE}, {"unsupported", RH_UNSUPPORTED},
    };
    if (rh_equal(what, RH_STR("unavailable")))
        return rh_unavailable(RH_STR("later"), 1500);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rh_equal(what, rh_cstr(cases[i].name)))
            return rh_fail(cases[i].code, RH_STR("the reason"));
    return rh_fail(RH_NOT_FOUND, uri);
}

static rh_status read_do(const rh_read_request *req, rh_response *out)
{
    rh_str what = rh_var(req, "what");
    if (rh_equal(what, RH_STR("parts")))
        return parts(out);
    if (rh_equal(what, RH_STR("flood")))
        return flood(out);
    if (rh_equal(what, RH_STR("large")))
        return large(out);
    if (rh_equal(what, RH_STR("empty")))
        return rh_text(out, RH_STR(""));
    if (rh_equal(what, RH_STR("nothing")))
        return RH_OK;
    if (rh_equal(what, RH_STR("etag")))
        return etag(req, out);
    if (rh_equal(what, RH_STR("typing")))
        return rh_text(out, rh_var(req, "waht"));
    if (rh_equal(what, RH_STR("trap"))) {
        rh_log(RH_LEVEL_ERROR, RH_STR("on purpose"));
        __builtin_trap();
    }
    if (rh_equal(what, RH_STR("ask")))
        return ask(req, out);
    if (rh_equal(what, RH_STR("changed")))
        return changed(req, out);
    return fail_as(what, rh_uri(req));
}

static rh_status read_pair(const rh_read_request *req, rh_response *out)
{
    rh_buf b = {0};
    rh_append(&b, rh_var(req, "first"));
    rh_append_byte(&b, '|');
    rh_append(&b, rh_var(req, "second"));
    return rh_text(out, rh_bytes_of(&b));
}

static rh_status complete_second(const rh_complete_request *req, rh_completion *out)
{
    rh_str first = rh_known(req, "first");
    rh_buf b = {0};
    rh_append(&b, first.ptr ? first : RH_STR("?"));
    rh_append_byte(&b, '-');
    rh_append(&b, rh_value(req));
    for (int i = 0; i < 3; i++)
        rh_propose(out, rh_bytes_of(&b));
    rh_set_total(out, 7);
    return RH_OK;
}

static rh_status read_late(const rh_read_request *req, rh_response *out)
{
    rh_buf b = {0};
    rh_append(&b, rh_uri_template(req));
    rh_append_byte(&b, ' ');
    rh_append(&b, rh_var(req, "key"));
    return rh_text(out, rh_bytes_of(&b));
}

static rh_status read_file(const rh_read_request *req, rh_response *out)
{
    rh_buf path = {0};
    rh_append(&path, RH_STR("main/"));
    rh_append(&path, rh_var(req, "path"));
    rh_status s = rh_part(out, &(rh_part_info){0});
    return s == RH_OK ? rh_fs_copy(out, rh_bytes_of(&path)) : s;
}

/* zero_terminated copies a string for a field of rh_resource. */
static const char *zero_terminated(rh_str s)
{
    rh_buf b = {0};
    rh_append(&b, s);
    rh_append_byte(&b, 0);
    return b.ptr;
}

static bool add_file(rh_page *out, const rh_file_info *info)
{
    rh_buf uri = {0};
    rh_append(&uri, rh_scheme("sdk"));
    rh_append(&uri, RH_STR("://files/"));
    rh_escape_path(&uri, info->name);
    rh_append_byte(&uri, 0);
    return rh_add(out, &(rh_resource){
        .uri = uri.ptr, .name = zero_terminated(info->name), .size_plus_1 = RH_SIZE(info->size)}, info->name);
}

static rh_status list(const rh_list_request *req, rh_page *out)
{
    rh_buf room = {0}, after = {0};
    rh_append(&after, rh_cursor(req));
    for (;;) {
        rh_str listing;
        rh_file_info info;
        rh_status s = rh_fs_list(RH_STR("main"), rh_bytes_of(&after), &room, &listing);
        if (s != RH_OK || !listing.len)
            return s;
        while (rh_next_entry(&listing, &info)) {
            if (!add_file(out, &info))
                return RH_OK;
            after.len = 0;
            rh_append(&after, info.name);
        }
    }
}

static rh_status complete_file(const rh_complete_request *req, rh_completion *out)
{
    (void)req;
    rh_buf room = {0};
    rh_str listing;
    rh_file_info info;
    rh_status s = rh_fs_list(RH_STR("main"), RH_STR(""), &room, &listing);
    while (s == RH_OK && rh_next_entry(&listing, &info))
        rh_propose(out, info.name);
    return s;
}

/* poll counts in its state, and reports everything that is watched. */
static rh_status poll(const rh_poll_request *req, rh_poll_result *out)
{
    rh_str rest = req->message, uri, state = rh_poll_state(req);
    while (rh_next_watched(&rest, &uri))
        rh_updated(uri);
    if (state.len == 2)
        rh_list_changed();
    rh_buf b = {0};
    rh_append(&b, state);
    rh_append_byte(&b, 'x');
    return rh_set_state(out, rh_bytes_of(&b));
}

static rh_status describe(rh_description *d)
{
    rh_add_template(d, &(rh_template){
        .uri_template = "sdk://late/{key}", .name = "late", .vars = RH_LIST(rh_var_decl, {.name = "key"})});
    return RH_OK;
}

RH_PLUGIN(
    .name = "sdk",
    .version = "1",
    .schemes = RH_NAMES("sdk"),
    .resources = RH_LIST(rh_resource, {.uri = "sdk://hello", .name = "hello", .title = "Hello \"you\"", .read = read_hello}),
    .templates = RH_LIST(rh_template,
        {
            .uri_template = "sdk://do/{what}{?n}", .name = "do", .mime = "text/plain",
            .vars = RH_LIST(rh_var_decl, {.name = "what"}, {.name = "n"}), .read = read_do,
        },
        {
            .uri_template = "sdk://files/{+path}", .name = "files",
            .vars = RH_LIST(rh_var_decl, {.name = "path", .complete = complete_file}), .read = read_file,
        },
        {
            .uri_template = "sdk://pair/{first}/{second}", .name = "pair", .mime = "text/plain",
            .vars = RH_LIST(rh_var_decl, {.name = "first", .slash = true}, {.name = "second", .complete = complete_second}),
            .read = read_pair,
        }),
    .list = list,
    .init = initialize,
    .poll = poll,
    .poll_ms = 100,
    .describe = describe,
    .dynamic_read = read_late,
    .capabilities = RH_LIST(rh_capability, {.name = "fs", .reason = "reads the files"}))
