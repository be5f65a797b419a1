/* Where the links of a plain HTML page stand: one pass over its bytes, no tree, nothing allocated.

   The tokenizer of the HTML standard (section 13.2.5), as far as tags, attributes, comments and raw text go. Whatever only a
   tree builder can decide (templates, foreign content, framesets, content that a table moves ...) is no plain page: the
   answer is then NOT_PLAIN, and the caller builds the tree. plain.py says what becomes of the answer.

   All reading is below `end`, all writing below `cap` records: the input is whatever the web sends. */

#include <stdint.h>
#include <string.h>

#ifndef SOURCE_CRC32
#define SOURCE_CRC32 0
#endif
const uint32_t plain_source = SOURCE_CRC32; /* native.py loads no library that was made from another text */

enum { NOT_PLAIN = -1, FULL = -2 };
enum { ANCHOR, AREA, TAG, ANYWHERE, TITLE, STYLE };            /* what a record is */
enum { AS_IS, REFERENCES, LOOK };                              /* how far the href of an anchor is understood */
enum { NONE, LINK, MAYBE, RAW, PLAIN_END, ROWS, CELL, SKIP, ISLAND };  /* what a tag means here */
enum { FIELDS = 4, SLOTS = 4096 };

typedef struct { const char *name; uint8_t length, does; } Name;
#define N(text, does) { text, sizeof text - 1, does }

/* MAYBE: of interest when it has attributes. RAW: of interest, and text follows that holds no tags. SKIP: only such text.
   ISLAND: holds no links unless it holds something unusual. */
static const Name names[] = {
    N("a", LINK), N("applet", MAYBE), N("area", LINK), N("audio", MAYBE), N("base", MAYBE), N("bgsound", MAYBE),
    N("blockquote", MAYBE), N("body", ROWS), N("button", MAYBE), N("caption", CELL), N("col", ROWS), N("colgroup", ROWS),
    N("del", MAYBE), N("embed", MAYBE), N("form", MAYBE), N("frame", PLAIN_END), N("frameset", PLAIN_END),
    N("head", ROWS), N("html", MAYBE), N("iframe", RAW), N("image", PLAIN_END), N("img", MAYBE), N("input", MAYBE),
    N("ins", MAYBE), N("isindex", MAYBE), N("link", MAYBE), N("math", PLAIN_END), N("meta", MAYBE),
    N("noembed", PLAIN_END), N("noframes", PLAIN_END), N("noscript", ROWS), N("object", MAYBE), N("param", MAYBE), N("plaintext", PLAIN_END),
    N("q", MAYBE), N("script", RAW), N("select", ISLAND), N("source", MAYBE), N("style", RAW), N("svg", ISLAND),
    N("table", ROWS), N("tbody", ROWS), N("td", CELL), N("template", PLAIN_END), N("textarea", SKIP), N("tfoot", ROWS),
    N("th", CELL), N("thead", ROWS), N("title", RAW), N("tr", ROWS), N("track", MAYBE), N("video", MAYBE),
    N("xmp", PLAIN_END),
};
enum { NAMES = sizeof names / sizeof *names };

typedef struct {
    const uint8_t *at, *end, *text;
    int32_t *out;
    int64_t count, cap;
    int32_t *slots;               /* SLOTS record numbers + 1: hrefs met so far */
    int form, html;
} Scan;

/* One tag: its attributes as far as they matter. */
typedef struct {
    const uint8_t *start, *stop, *href, *href_end;
    int anywhere, nofollow, attributes, xlink;
} Tag;

static int is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }
static int is_alpha(uint8_t c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static int same(const uint8_t *s, const char *word, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lower(s[i]) != (uint8_t)word[i]) return 0;
    return 1;
}

static const uint8_t *find(const uint8_t *s, const uint8_t *end, const char *word, size_t n) {
    for (; (size_t)(end - s) >= n; s++) {
        s = memchr(s, '<', (size_t)(end - s));
        if (!s || (size_t)(end - s) < n) return 0;
        if (same(s, word, n)) return s;
    }
    return 0;
}

static const Name *known(const uint8_t *s, size_t n) {
    static uint8_t first[27];
    if (!first[26]) {                       /* where each letter begins in the table, found once */
        for (int i = NAMES - 1; i >= 0; i--) first[names[i].name[0] - 'a'] = (uint8_t)(i + 1);
        first[26] = 1;
    }
    int at = is_alpha(*s) ? first[lower(*s) - 'a'] : 0;
    for (; at && at <= NAMES && names[at - 1].name[0] == lower(*s); at++)
        if (names[at - 1].length == n && same(s, names[at - 1].name, n)) return &names[at - 1];
    return 0;
}

/* <head>, <body>, <noscript>: like a table's rows they may be dropped where they stand, but nothing is moved out of them. */
static int is_page(const Name *name) { return strchr("hnb", name->name[0]) != 0; }

/* From behind a tag's name to behind its '>'. 0 when the text ends before. */
static int attributes(Scan *scan, Tag *tag, int wanted) {
    const uint8_t *s = scan->at, *end = scan->end;
    for (;;) {
        while (s < end && (is_space(*s) || *s == '/')) s++;
        if (s >= end) return 0;
        if (*s == '>') { scan->at = tag->stop = s + 1; return 1; }
        const uint8_t *name = s++;                     /* a leading '=' belongs to the name */
        while (s < end && !is_space(*s) && *s != '/' && *s != '>' && *s != '=') s++;
        size_t length = (size_t)(s - name);
        const uint8_t *value = s, *stop = s;
        while (s < end && is_space(*s)) s++;
        if (s < end && *s == '=') {
            do s++; while (s < end && is_space(*s));
            if (s >= end) return 0;
            if (*s == '"' || *s == '\'') {
                value = s + 1;
                stop = memchr(value, *s, (size_t)(end - value));
                if (!stop) return 0;
                s = stop + 1;
            } else {
                for (value = s; s < end && !is_space(*s) && *s != '>'; s++) {}
                stop = s;
            }
        }
        tag->attributes = 1;
        if (!wanted) continue;
        if (length == 4 && same(name, "href", 4)) {
            if (!tag->href) { tag->href = value; tag->href_end = stop; }
        } else if (length == 3 && same(name, "rel", 3)) {
            for (const uint8_t *c = value; stop - c >= 8; c++) tag->nofollow |= same(c, "nofollow", 8);
        } else if (length == 5 && same(name, "style", 5)) {
            for (const uint8_t *c = value; c < stop; c++) tag->anywhere |= *c == '(' || *c == '&';
        } else if ((length == 4 && same(name, "ping", 4)) || (length == 8 && same(name, "data-src", 8))
                   || (length == 10 && same(name, "background", 10)) || (length == 11 && same(name, "data-srcset", 11))
                   || (length == 13 && same(name, "data-original", 13))) {
            tag->anywhere = 1;
        } else if (length == 10 && same(name, "xlink:href", 10)) {
            tag->xlink |= stop == value || *value != '#';
        }
    }
}

static int put(Scan *scan, int what, int how, const uint8_t *from, const uint8_t *to) {
    if (scan->count >= scan->cap) return FULL;
    int32_t *record = scan->out + FIELDS * scan->count++;
    record[0] = what;
    record[1] = how;
    record[2] = (int32_t)(from - scan->text);
    record[3] = (int32_t)(to - scan->text);
    return 0;
}

/* The same href a second time needs no second record. When the table is crowded, the caller finds the rest. */
static int met(Scan *scan, int what, const uint8_t *from, size_t length) {
    uint32_t hash = 2166136261u + (uint32_t)what;
    for (size_t i = 0; i < length; i++) hash = (hash ^ from[i]) * 16777619u;
    for (int tries = 0; tries < 8; tries++) {
        int32_t *slot = scan->slots + ((hash + (uint32_t)tries) & (SLOTS - 1));
        if (!*slot) { *slot = (int32_t)scan->count + 1; return 0; }
        const int32_t *record = scan->out + FIELDS * (*slot - 1);
        if (record[0] == what && record[1] == AS_IS && (size_t)(record[3] - record[2]) == length
            && !memcmp(scan->text + record[2], from, length)) return 1;
    }
    return 0;
}

/* An href without the blanks around it and without its fragment. What is more than that is for the caller to look at. */
static int anchor(Scan *scan, const Tag *tag, int what) {
    const uint8_t *from = tag->href, *to = tag->href_end;
    if (!from) return 0;
    if (tag->nofollow) return put(scan, what, LOOK, tag->start, tag->stop);
    while (from < to && *from <= ' ') from++;
    while (to > from && to[-1] <= ' ') to--;
    if (from == to || *from == '#') return 0;
    size_t length = (size_t)(to - from);
    if (memchr(from, '\r', length)) return NOT_PLAIN;
    if (memchr(from, '&', length)) return put(scan, what, REFERENCES, from, to);
    const uint8_t *mark = memchr(from, '#', length);
    if (mark && mark[-1] > ' ') to = mark;
    return met(scan, what, from, (size_t)(to - from)) ? 0 : put(scan, what, AS_IS, from, to);
}

/* Text that ends at its own end tag only: `scan->at` moves to that tag. */
static int raw_text(Scan *scan, const Name *name) {
    char close[12] = "</";
    memcpy(close + 2, name->name, name->length);
    const uint8_t *from = scan->at, *to = from;
    for (;; to++) {
        to = find(to, scan->end, close, name->length + 2u);
        if (!to) return NOT_PLAIN;
        const uint8_t *next = to + name->length + 2;
        if (next < scan->end && (is_space(*next) || *next == '/' || *next == '>')) break;
    }
    scan->at = to;
    if (name->length == 6 && name->name[1] == 'c') {  /* a script inside a comment inside a script */
        const uint8_t *comment = find(from, to, "<!--", 4);
        return comment && find(comment, to, "<script", 7) ? NOT_PLAIN : 0;
    }
    if (name->length != 5) return 0;
    return put(scan, name->name[0] == 't' ? TITLE : STYLE, 0, from, to);
}

/* A comment, a doctype, or what is treated as a comment; `scan->at` stands behind "<!". */
static int declaration(Scan *scan) {
    const uint8_t *s = scan->at, *end = scan->end;
    if (end - s < 2 || s[0] != '-' || s[1] != '-') {
        if (end - s >= 7 && same(s, "[cdata[", 7)) return NOT_PLAIN;
        s = memchr(s, '>', (size_t)(end - s));
        scan->at = s ? s + 1 : end;
        return 0;
    }
    s += 2;
    if (s < end && *s == '>') { scan->at = s + 1; return 0; }
    if (end - s >= 2 && s[0] == '-' && s[1] == '>') { scan->at = s + 2; return 0; }
    for (; (s = memchr(s, '-', (size_t)(end - s))); s++) {
        if (end - s >= 3 && s[1] == '-' && s[2] == '>') { scan->at = s + 3; return 0; }
        if (end - s >= 4 && s[1] == '-' && s[2] == '!' && s[3] == '>') { scan->at = s + 4; return 0; }
    }
    scan->at = end;
    return 0;
}

/* A picture or a list of options: shapes, words and choices only, up to its end tag. */
static int island(Scan *scan, const Name *name, const Tag *opening) {
    static const char shapes[] = " path g circle rect line polyline polygon ellipse defs lineargradient radialgradient stop"
        " clippath mask symbol pattern text tspan title desc use ", choices[] = " option optgroup ";
    const char *allowed = name->name[1] == 'v' ? shapes : choices;
    if (opening->anywhere || opening->stop[-2] == '/') return NOT_PLAIN;
    while ((scan->at = memchr(scan->at, '<', (size_t)(scan->end - scan->at)))) {
        Tag tag = { scan->at, 0, 0, 0, 0, 0, 0, 0 };
        const uint8_t *s = scan->at + 1;
        int closing = s < scan->end && *s == '/';
        s += closing;
        const uint8_t *name_end = s;
        char word[20] = " ";
        size_t n = 1;
        while (name_end < scan->end && is_alpha(*name_end) && n < sizeof word - 2) word[n++] = (char)lower(*name_end++);
        if (n == 1 || name_end >= scan->end || !(is_space(*name_end) || *name_end == '/' || *name_end == '>')) return NOT_PLAIN;
        word[n] = ' ';
        scan->at = name_end;
        if (!attributes(scan, &tag, !closing)) return NOT_PLAIN;
        if (closing && n == name->length + 1u && !memcmp(word + 1, name->name, name->length)) return 0;
        if (tag.anywhere || tag.xlink || (tag.href && (tag.href == tag.href_end || *tag.href != '#')) || !strstr(allowed, word))
            return NOT_PLAIN;
        if (!closing && (word[1] == 't' || word[1] == 'd') && n >= 5 && (word[2] == 'i' || word[3] == 's')) {
            const uint8_t *next = memchr(scan->at, '<', (size_t)(scan->end - scan->at));  /* HTML again: words only */
            if (!next || scan->end - next < 2 || next[1] != '/') return NOT_PLAIN;
        }
    }
    return NOT_PLAIN;
}

/* The page in text[0..length): records of FIELDS numbers each go to `out`. Returns how many, NOT_PLAIN or FULL. */
int64_t nephila_plain(const uint8_t *text, int64_t length, int32_t *out, int64_t cap, int32_t *slots) {
    Scan scan = { text, text + length, text, out, 0, cap, slots, 0, 0 };
    int gap = 0, code = 0;                       /* between a table's cells: what stands there is moved elsewhere */
    if (length > INT32_MAX || memchr(text, 0, (size_t)length)) return NOT_PLAIN;
    memset(slots, 0, SLOTS * sizeof *slots);
    while (!code && (scan.at = memchr(scan.at, '<', (size_t)(scan.end - scan.at)))) {
        Tag tag = { scan.at, 0, 0, 0, 0, 0, 0, 0 };
        const uint8_t *s = scan.at + 1;
        int closing = s < scan.end && *s == '/';
        s += closing;
        if (s >= scan.end) break;
        if (!is_alpha(*s)) {
            scan.at = s;
            if ((closing && *s != '>') || (!closing && *s == '?')) {
                scan.at = memchr(s, '>', (size_t)(scan.end - s));
                if (!scan.at) break;
            } else if (!closing && *s == '!') { scan.at = s + 1; code = declaration(&scan); }
            continue;
        }
        const uint8_t *name_end = s;
        while (name_end < scan.end && !is_space(*name_end) && *name_end != '/' && *name_end != '>') name_end++;
        scan.at = name_end;
        const Name *name = known(s, (size_t)(name_end - s));
        if (!attributes(&scan, &tag, !closing)) break;
        int does = name ? name->does : NONE;
        if (does == PLAIN_END) return NOT_PLAIN;
        if (closing) {
            if (name && name->length == 4 && name->name[0] == 'f') scan.form = 0;
            if ((does == CELL || does == ROWS) && !is_page(name)) gap = name->length != 5 || name->name[1] != 'a';
            continue;
        }
        if (tag.anywhere) code = does == ROWS || does == CELL || gap || (name && name->length == 4 && name->name[0] == 'h')
            ? NOT_PLAIN : put(&scan, ANYWHERE, 0, tag.start, tag.stop);
        if (code || does == NONE) continue;
        if (does == ISLAND) { code = island(&scan, name, &tag); continue; }
        if (does == ROWS || does == CELL) { if (!is_page(name)) gap = does == ROWS; continue; }
        if (gap) return NOT_PLAIN;
        if (name->length == 4 && name->name[0] == 'f' && scan.form++) return NOT_PLAIN;  /* a form in a form is dropped */
        if (name->length == 4 && name->name[0] == 'h' && scan.html++) return NOT_PLAIN;  /* a second <html> adds to the first */
        if (does == LINK) code = anchor(&scan, &tag, name->length == 1 ? ANCHOR : AREA);
        else if (tag.attributes && does != SKIP) code = put(&scan, TAG, 0, tag.start, tag.stop);
        if (!code && (does == RAW || does == SKIP)) code = raw_text(&scan, name);
    }
    return code ? code : scan.count;
}
