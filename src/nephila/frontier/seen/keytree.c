/* The compiled half of the key tree: finds, adds and drops keys in memory that keytree_kernel.py maps and describes.

   Nothing here allocates: the caller makes room first, and a call that runs out of inner nodes (which only keys that are not
   evenly spread need) stops early and says how many keys it has done. */

#include <stdint.h>
#include <string.h>

#ifndef SOURCE_CRC32
#define SOURCE_CRC32 0
#endif
const uint32_t keytree_source = SOURCE_CRC32; /* keytree_kernel.py loads no library that was made from another text */

enum { SLAB = 1 << 16, STEP = 64, CLASSES = 18, FULL = 128, FAN = 4, DEEPEST = 14, HEAD = 4, AHEAD = 8 };

struct tree {
    uint8_t *arena;  /* slabs of 64 KiB, each cut into blocks of one size */
    uint64_t *root;  /* 2^bits entries */
    uint64_t *nodes; /* inner nodes, 2^FAN entries each */
    int32_t *below;  /* per slab: the one under it on the stack of its class, or on the free list; -1 = none */
    int64_t bits, count, payload, slabs, free_slab, nodes_used, nodes_room;
    int64_t top[CLASSES], used[CLASSES]; /* per class: its last slab and the blocks used in that */
};

/* An entry is one word. Leaf: place << 16 | count << 8 | depth. Node: NODE | place << 16 | width << 8 | depth. */
#define NODE ((uint64_t)1 << 63)
#define PLACE(entry) (((entry) & ~NODE) >> 16)
#define COUNT(entry) ((int)((entry) >> 8 & 255))
#define DEPTH(entry) ((int)((entry) & 255))

static uint64_t entry_of(uint64_t place, int count, int depth) {
    return place << 16 | (uint64_t)count << 8 | (uint64_t)depth;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE(word) __builtin_bswap64(word)
#else
#define NATIVE(word) (word)
#endif

static uint64_t load(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return NATIVE(word);
}

static void store(uint8_t *at, uint64_t word, int bytes) {
    word = NATIVE(word);
    memcpy(at, &word, (size_t)bytes);
}

/* ---- one leaf's form ---- */

struct form {
    int rest, stride; /* bytes of a key that are kept, and of one item (with its payload) */
    uint64_t mask;
};

static struct form form_of(const struct tree *t, int depth) {
    int rest = depth >= 32 ? 4 : (71 - depth) >> 3;
    return (struct form){rest, rest + (int)t->payload, ~(uint64_t)0 >> (64 - 8 * rest)};
}

static int class_of(int count, int stride) { return (HEAD + count * stride + STEP - 1) / STEP; }

/* Where `key` would be among evenly spread keys: a few items from where it is. */
static int guess_of(uint64_t entry, uint64_t key) {
    return (int)((((key << DEPTH(entry)) >> 32) * (uint64_t)COUNT(entry)) >> 32);
}

struct slot {
    uint64_t *entries; /* the first of the `copies` equal entries that lead to a leaf */
    int copies;
};

static struct slot locate(const struct tree *t, uint64_t key) {
    uint64_t *row = t->root;
    int depth = 0, width = (int)t->bits;
    for (;;) {
        uint64_t at = (key << depth) >> (64 - width), entry = row[at];
        if (!(entry & NODE)) {
            int shared = depth + width - DEPTH(entry);
            return (struct slot){row + (at >> shared << shared), 1 << shared};
        }
        row = t->nodes + PLACE(entry), depth = DEPTH(entry), width = COUNT(entry);
    }
}

static void point(struct slot s, uint64_t entry) {
    for (int i = 0; i < s.copies; i++) s.entries[i] = entry;
}

struct found {
    struct slot slot;
    uint64_t entry;
    struct form form;
    uint8_t *items;
    int at, here; /* the first item that is not smaller than the key; whether that is the key */
};

static struct found find(const struct tree *t, uint64_t key) {
    struct slot slot = locate(t, key);
    uint64_t entry = *slot.entries;
    struct form f = form_of(t, DEPTH(entry));
    uint8_t *items = t->arena + PLACE(entry) + HEAD;
    uint64_t rest = key & f.mask;
    int at = guess_of(entry, key), count = COUNT(entry); /* at most FULL steps from there, whatever the keys */
    while (at < count && (load(items + at * f.stride) & f.mask) < rest) at++;
    while (at > 0 && (load(items + (at - 1) * f.stride) & f.mask) >= rest) at--;
    int here = at < count && (load(items + at * f.stride) & f.mask) == rest;
    return (struct found){slot, entry, f, items, at, here};
}

/* ---- blocks: those of a class lie without a hole in its stack of slabs, so nothing is ever fragmented ---- */

static uint64_t take(struct tree *t, int class) {
    if (t->top[class] < 0 || t->used[class] == SLAB / (class * STEP)) {
        int64_t slab = t->free_slab;
        if (slab < 0) slab = t->slabs++;
        else t->free_slab = t->below[slab];
        t->below[slab] = (int32_t)t->top[class];
        t->top[class] = slab, t->used[class] = 0;
    }
    return (uint64_t)t->top[class] * SLAB + (uint64_t)(t->used[class]++ * class * STEP);
}

/* The last block of the class moves into the hole. No entry may lead to `place` any more. */
static void give_back(struct tree *t, int class, uint64_t place) {
    int64_t slab = t->top[class];
    uint64_t last = (uint64_t)slab * SLAB + (uint64_t)(--t->used[class] * class * STEP);
    if (last != place) {
        uint8_t *to = t->arena + place;
        memcpy(to, t->arena + last, (size_t)(class * STEP));
        uint64_t key = load(to) << 32 | (load(to + HEAD) & 0xffffffffu);
        struct slot s = locate(t, key);
        point(s, entry_of(place, COUNT(*s.entries), DEPTH(*s.entries)));
    }
    if (t->used[class] == 0) {
        t->top[class] = t->below[slab];
        t->used[class] = t->top[class] < 0 ? 0 : SLAB / (class * STEP);
        t->below[slab] = (int32_t)t->free_slab, t->free_slab = slab;
    }
}

static void write_leaf(struct tree *t, struct slot s, const uint64_t *keys, const uint8_t *payload, int count, int depth) {
    struct form f = form_of(t, depth);
    uint64_t place = count ? take(t, class_of(count, f.stride)) : 0;
    uint8_t *at = t->arena + place;
    if (count) store(at, keys[0] >> 32, HEAD);
    for (int i = 0; i < count; i++) {
        uint8_t *item = at + HEAD + i * f.stride;
        store(item, keys[i], f.rest);
        if (t->payload) item[f.rest] = payload[i];
    }
    point(s, entry_of(place, count, depth));
}

/* Two leaves one bit deeper in place of one; a node first, where no entry is left to tell them apart. */
static void split(struct tree *t, struct slot s, uint64_t key) {
    uint64_t entry = *s.entries, keys[FULL];
    uint8_t payload[FULL];
    int count = COUNT(entry), depth = DEPTH(entry), zeros = 0;
    struct form f = form_of(t, depth);
    const uint8_t *items = t->arena + PLACE(entry) + HEAD;
    for (int i = 0; i < count; i++, items += f.stride) {
        keys[i] = (load(items) & f.mask) | (key & ~f.mask);
        payload[i] = items[f.rest];
        zeros += !(keys[i] << depth >> 63);
    }
    if (s.copies == 1) {
        *s.entries = NODE | entry_of((uint64_t)t->nodes_used, FAN, depth);
        s = (struct slot){t->nodes + t->nodes_used, 1 << FAN};
        t->nodes_used += 1 << FAN;
    }
    point(s, entry_of(0, 0, depth));
    if (count) give_back(t, class_of(count, f.stride), PLACE(entry));
    s.copies /= 2;
    write_leaf(t, s, keys, payload, zeros, depth + 1);
    s.entries += s.copies;
    write_leaf(t, s, keys + zeros, payload + zeros, count - zeros, depth + 1);
}

static void insert(struct tree *t, struct found x, uint64_t key, uint8_t payload) {
    uint64_t place = PLACE(x.entry);
    int count = COUNT(x.entry), old = class_of(count, x.form.stride), new = class_of(count + 1, x.form.stride);
    int moves = count == 0 || old != new;
    size_t before = (size_t)(x.at * x.form.stride), after = (size_t)((count - x.at) * x.form.stride);
    uint8_t *to = x.items;
    if (moves) {
        place = take(t, new);
        to = t->arena + place + HEAD;
        store(to - HEAD, key >> 32, HEAD);
        memcpy(to, x.items, before);
    }
    memmove(to + before + x.form.stride, x.items + before, after);
    store(to + before, key, x.form.rest);
    if (t->payload) to[before + (size_t)x.form.rest] = payload;
    point(x.slot, entry_of(place, count + 1, DEPTH(x.entry)));
    if (moves && count) give_back(t, old, PLACE(x.entry));
    t->count++;
}

static void drop(struct tree *t, struct found x) {
    uint64_t place = PLACE(x.entry);
    int count = COUNT(x.entry), old = class_of(count, x.form.stride), new = class_of(count - 1, x.form.stride);
    uint8_t *gone = x.items + x.at * x.form.stride;
    memmove(gone, gone + x.form.stride, (size_t)((count - x.at - 1) * x.form.stride));
    if (count == 1) place = 0;
    else if (old != new) {
        place = take(t, new);
        memcpy(t->arena + place, x.items - HEAD, (size_t)(HEAD + (count - 1) * x.form.stride));
    }
    point(x.slot, entry_of(place, count - 1, DEPTH(x.entry)));
    if (place != PLACE(x.entry)) give_back(t, old, PLACE(x.entry));
    t->count--;
}

static int short_of_nodes(const struct tree *t) { return t->nodes_room - t->nodes_used < DEEPEST << FAN; }

/* ---- what keytree_kernel.py calls ---- */

/* Memory is asked for early: the root entry of one key ahead, the part of the leaf of another. */
static void prefetch(const struct tree *t, const uint64_t *keys, int64_t i, int64_t n) {
#if defined(__GNUC__)
    if (i + 2 * AHEAD < n) __builtin_prefetch(t->root + (keys[i + 2 * AHEAD] >> (64 - t->bits)));
    if (i + AHEAD >= n) return;
    uint64_t key = keys[i + AHEAD], entry = t->root[key >> (64 - t->bits)];
    if (entry & NODE) return;
    const uint8_t *near = t->arena + PLACE(entry) + guess_of(entry, key) * form_of(t, DEPTH(entry)).stride;
    __builtin_prefetch(near - 32);
    __builtin_prefetch(near + 32);
#endif
}

/* out: 0 known, 1 new, 2 known with a larger payload, which is lowered. `step` is 0 where one payload holds for all keys. */
int64_t keytree_add(struct tree *t, const uint64_t *keys, int64_t n, const uint8_t *payload, int64_t step, uint8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        prefetch(t, keys, i, n);
        if (short_of_nodes(t)) return i;
        struct found x = find(t, keys[i]);
        while (!x.here && COUNT(x.entry) == FULL) {
            split(t, x.slot, keys[i]);
            x = find(t, keys[i]);
        }
        uint8_t value = t->payload ? payload[i * step] : 0, *known = x.items + x.at * x.form.stride + x.form.rest;
        out[i] = !x.here ? 1 : t->payload && *known > value ? 2 : 0;
        if (out[i] == 1) insert(t, x, keys[i], value);
        if (out[i] == 2) *known = value;
    }
    return n;
}

/* out: 1 where the key is known; payload (where there is any): its byte, else unchanged. With `forget` the known are dropped. */
void keytree_find(struct tree *t, const uint64_t *keys, int64_t n, uint8_t *payload, int64_t forget, uint8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        prefetch(t, keys, i, n);
        struct found x = find(t, keys[i]);
        out[i] = (uint8_t)x.here;
        if (x.here && t->payload) payload[i] = x.items[x.at * x.form.stride + x.form.rest];
        if (x.here && forget) drop(t, x);
    }
}

/* Ascending keys, all beyond those loaded before, become whole leaves. Keys of a leaf that may go on are left, unless `last`. */
int64_t keytree_load(struct tree *t, const uint64_t *keys, int64_t n, const uint8_t *payload, int64_t last) {
    for (int64_t i = 0; i < n;) {
        struct slot s = locate(t, keys[i]);
        int depth = DEPTH(*s.entries);
        uint64_t end = keys[i] | ~(uint64_t)0 >> depth;
        int64_t j = i;
        while (j < n && j - i <= FULL && keys[j] <= end) j++;
        if (j - i > FULL) {
            if (short_of_nodes(t)) return i;
            split(t, s, keys[i]);
        } else {
            if (j == n && !last) return i;
            write_leaf(t, s, keys + i, t->payload ? payload + i : payload, (int)(j - i), depth);
            t->count += j - i, i = j;
        }
    }
    return n;
}

/* Twice the entries: `root` takes over from the old one. A node right below is halved where it is: each half tells one bit less
   apart, and where that leaves one leaf, or nothing to tell, it is passed over from now on (its words are not used again). */
void keytree_double(struct tree *t, uint64_t *root) {
    for (int64_t i = 0; i < (int64_t)1 << t->bits; i++) {
        uint64_t entry = t->root[i];
        root[2 * i] = root[2 * i + 1] = entry;
        if (!(entry & NODE)) continue;
        int width = COUNT(entry) - 1, depth = DEPTH(entry) + 1;
        for (uint64_t side = 0; side < 2; side++) {
            uint64_t place = PLACE(entry) + (side << width), first = t->nodes[place];
            int over = width == 0 || (!(first & NODE) && DEPTH(first) == depth);
            root[2 * i + (int64_t)side] = over ? first : NODE | entry_of(place, width, depth);
        }
    }
    t->root = root, t->bits++;
}
