/* What the copy of a package with probes prints by. Included before everything: it must define nothing that a
   program's own headers depend on, and include nothing. */
#ifdef __cplusplus
extern "C" {
#endif
extern unsigned char source_expressions_reached[1 << 20];
int source_expressions_first(int statement);
void source_expressions_done(void);
void source_expressions_integer(int id, long long value);
void source_expressions_unsigned(int id, unsigned long long value);
void source_expressions_float(int id, double value);
void source_expressions_double(int id, double value);
void source_expressions_pointer(int id, const void *value);
void source_expressions_text(int id, const char *value);
extern long source_expressions_place[64];
int source_expressions_mark(void *place, int mask) __asm__("__sigsetjmp") __attribute__((returns_twice));
#ifdef __cplusplus
}
#endif
/* Loops ask millions of times. */
#define SOURCE_EXPRESSIONS_FIRST(statement) \
    (!source_expressions_reached[statement] && source_expressions_first(statement))
/* A probe: what cannot be read is not printed. */
#define SOURCE_EXPRESSIONS_PROBE(print) \
    if (!source_expressions_mark(source_expressions_place, 1)) { print; }
