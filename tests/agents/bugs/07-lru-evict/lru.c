// A cache of pages, of which the one used longest ago makes room.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4, ROOM = 3 };

struct page {
    int id;
    char *text;
    struct page *chain;          // of its bucket
    struct page *newer, *older;  // by use
};

struct cache {
    struct page *buckets[BUCKETS];
    struct page *newest, *oldest;
    int count;
};

static void unlink_page(struct cache *cache, struct page *page) {
    *(page->newer ? &page->newer->older : &cache->newest) = page->older;
    *(page->older ? &page->older->newer : &cache->oldest) = page->newer;
}

static void evict(struct cache *cache) {
    struct page *page = cache->oldest;
    unlink_page(cache, page);
    struct page **link = &cache->buckets[page->id % BUCKETS];
    if (*link == page) {
        *link = page->chain;
    }
    free(page->text);
    memset(page, 0xdd, sizeof *page);
    free(page);
    cache->count--;
}

static struct page *get(struct cache *cache, int id) {
    for (struct page *page = cache->buckets[id % BUCKETS]; page; page = page->chain) {
        if (page->id == id) {
            return page;
        }
    }
    if (cache->count == ROOM) {
        evict(cache);
    }
    struct page *page = calloc(1, sizeof *page);
    page->id = id;
    page->text = strdup("page");
    page->chain = cache->buckets[id % BUCKETS];
    cache->buckets[id % BUCKETS] = page;
    page->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = page;
    cache->newest = page;
    cache->count++;
    return page;
}

int main(void) {
    struct cache cache = {0};
    int wanted[] = {1, 5, 2, 3, 5, 9};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        printf("%d %s\n", wanted[i], get(&cache, wanted[i])->text);
    }
    return 0;
}
