/* Which tags of a page hold addresses: one pass over its bytes, nothing allocated.

   The tokenizer of the HTML standard (section 13.2.5), as far as tags, attributes, comments and raw text go. tags.py says
   what becomes of the answer, and has the same tokenizer as a pattern.

   All reading is below `end`, all writing below `cap` records: the input is whatever the web sends. */

#include <stdint.h>
#include <string.h>

#ifndef SOURCE_CRC32
#define SOURCE_CRC32 0
#endif
const uint32_t tags_source = SOURCE_CRC32; /* native.py loads no library that was made from another text */

enum { TAG, ADDRESS, STYLE, NOSCRIPT };    /* what a record is */
enum { FIELDS = 3 };                       /* what, start, stop */

typedef struct { const char *text; uint8_t length; int8_t does; } Word;
#define W(text) { text, sizeof text - 1, 0 }
#define D(text, does) { text, sizeof text - 1, does }

/* Attributes that hold addresses, or are dropped; ADDRESS: nothing else is to be known of it. */
static const Word holders[] = {
    W("action"), W("background"), W("charset"), W("cite"), W("crossorigin"), W("data"), W("data-href"),
    W("data-original"), W("data-src"), W("data-srcset"), W("dynsrc"), W("formaction"), D("href", ADDRESS), W("imagesrcset"),
    W("integrity"), W("longdesc"), W("lowsrc"), W("manifest"), W("nonce"), W("ping"), W("poster"), D("src", ADDRESS), W("srcdoc"),
    W("srcset"), W("style"), W("xlink:href"),
};
/* Tags that are looked at in any case, and those whose content is no markup (its record, -1: it has no end). */
static const Word always[] = { W("base"), W("head"), W("meta"), W("param") };
static const Word raw[] = {
    W("iframe"), W("noembed"), W("noframes"), D("noscript", NOSCRIPT), D("plaintext", -1), W("script"), D("style", STYLE),
    W("textarea"), W("title"), W("xmp"),
};
enum { HOLDERS = sizeof holders / sizeof *holders, ALWAYS = sizeof always / sizeof *always, RAW = sizeof raw / sizeof *raw };

static int is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
static int ends_name(uint8_t c) { return is_space(c) || c == '/' || c == '>'; }
static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }
static int is_alpha(uint8_t c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static int same(const uint8_t *s, const uint8_t *end, const char *word, size_t n) {
    if ((size_t)(end - s) < n) return 0;
    for (size_t i = 0; i < n; i++)
        if (lower(s[i]) != (uint8_t)word[i]) return 0;
    return 1;
}

/* The word of a sorted table that s[0..n) is, in any case; 0: none. */
static const Word *known(const Word *table, int size, const uint8_t *s, size_t n) {
    uint8_t first = lower(*s);
    for (int i = 0; i < size && (uint8_t)table[i].text[0] <= first; i++)
        if ((uint8_t)table[i].text[0] == first && table[i].length == n && same(s, s + n, table[i].text, n)) return &table[i];
    return 0;
}

/* What the attributes of a tag hold: how many of the table, and where the value of the last one stands. */
typedef struct { int count, what; const uint8_t *from, *to; } Held;

/* From behind a tag's name to behind its '>', 0 when the text ends before. */
static const uint8_t *attributes(const uint8_t *s, const uint8_t *end, Held *held) {
    for (;;) {
        while (s < end && (is_space(*s) || *s == '/')) s++;
        if (s >= end) return 0;
        if (*s == '>') return s + 1;
        const uint8_t *name = s++;                     /* a leading '=' belongs to the name */
        while (s < end && !ends_name(*s) && *s != '=') s++;
        const Word *holder = known(holders, HOLDERS, name, (size_t)(s - name));
        if (holder) { held->count++; held->what = TAG; }
        const uint8_t *next = s;
        while (next < end && is_space(*next)) next++;
        if (next >= end || *next != '=') continue;
        do next++; while (next < end && is_space(*next));
        if (next >= end) return 0;
        if (*next == '"' || *next == '\'') {
            s = memchr(next + 1, *next, (size_t)(end - next - 1));
            if (!s) return 0;
            if (holder && *next == '"' && s > next + 1 && !memchr(next + 1, '&', (size_t)(s - next - 1))) {
                held->what = holder->does;
                held->from = next + 1;
                held->to = s;
            }
            s++;
        } else for (s = next; s < end && !is_space(*s) && *s != '>'; s++) {}
    }
}

/* Where the end tag of raw text begins, `end` when there is none. A script may hold comments that hold scripts. */
static const uint8_t *raw_end(const uint8_t *s, const uint8_t *end, const Word *name) {
    int script = name->length == 6 && name->text[1] == 'c', inside = 0;
    for (; s < end; s++) {
        if (script && *s == '-' && end - s >= 3 && s[1] == '-' && s[2] == '>') inside = 0;
        if (!script && !(s = memchr(s, '<', (size_t)(end - s)))) break;
        if (*s != '<') continue;
        int closing = end - s > 1 && s[1] == '/';
        const uint8_t *word = s + 1 + closing;
        if (script && !inside && same(s, end, "<!--", 4)) inside = 1;
        else if ((closing || inside) && same(word, end, name->text, name->length)
                 && word + name->length < end && ends_name(word[name->length])) {
            if (closing && inside < 2) return s;
            inside = closing ? 1 : 2;
        }
    }
    return end;
}

/* Behind a comment, a doctype, or what is treated as a comment; `s` is behind "<!". */
static const uint8_t *declaration(const uint8_t *s, const uint8_t *end) {
    if (end - s < 2 || s[0] != '-' || s[1] != '-') {
        s = memchr(s, '>', (size_t)(end - s));
        return s ? s + 1 : end;
    }
    s += 2;
    if (s < end && *s == '>') return s + 1;
    if (end - s >= 2 && s[0] == '-' && s[1] == '>') return s + 2;
    for (; (s = memchr(s, '-', (size_t)(end - s))); s++) {
        if (end - s >= 3 && s[1] == '-' && s[2] == '>') return s + 3;
        if (end - s >= 4 && s[1] == '-' && s[2] == '!' && s[3] == '>') return s + 4;
    }
    return end;
}

static void put(int32_t *record, int what, const uint8_t *text, const uint8_t *start, const uint8_t *stop) {
    record[0] = what;
    record[1] = (int32_t)(start - text);
    record[2] = (int32_t)(stop - text);
}

/* Records of the tags in text[*from..length) go to `out`, at most `cap`; `*from` is then where to go on, `length` when
   nothing is left. Returns how many. `length` is at most INT32_MAX, `cap` at least 2. */
int64_t nephila_tags(const uint8_t *text, int64_t length, int64_t *from, int32_t *out, int64_t cap) {
    const uint8_t *s = text + *from, *end = text + length;
    int64_t count = 0;
    while (count + 2 <= cap) {
        if (s < end) s = memchr(s, '<', (size_t)(end - s));
        if (!s || end - s < 2) { s = end; break; }
        const uint8_t *start = s++;
        int closing = *s == '/' && end - s > 1 && is_alpha(s[1]);
        s += closing;
        if (!is_alpha(*s)) {
            if (*s == '!') s = declaration(s + 1, end);
            else if (*s == '?' || (*s == '/' && end - s > 1)) {
                s = memchr(s, '>', (size_t)(end - s));
                s = s ? s + 1 : end;
            }
            continue;
        }
        const uint8_t *name = s;
        while (s < end && !ends_name(*s)) s++;
        size_t n = (size_t)(s - name);
        Held held = { known(always, ALWAYS, name, n) ? 2 : 0, TAG, 0, 0 };
        s = attributes(s, end, &held);
        if (!s) { s = end; break; }
        if (closing) continue;
        if (held.count == 1 && held.what == ADDRESS) put(out + FIELDS * count++, ADDRESS, text, held.from, held.to);
        else if (held.count) put(out + FIELDS * count++, TAG, text, start, s);
        const Word *content = known(raw, RAW, name, n);
        if (!content) continue;
        const uint8_t *stop = content->does < 0 ? end : raw_end(s, end, content);
        if (content->does > 0 && stop > s) put(out + FIELDS * count++, content->does, text, s, stop);
        s = stop;
    }
    *from = s - text;
    return count;
}
