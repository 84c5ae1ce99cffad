// The C guest of the tests: each export is a pure function of its argument.
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(name)))

static u8 area[1 << 20];

EXPORT("hot") u64 hot(u32 n) {
  u64 x = 1;
  for (u32 i = 0; i < n; i++) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    x ^= x >> 33;
  }
  return x;
}

__attribute__((noinline)) EXPORT("fib") u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

EXPORT("sieve") u32 sieve(u32 n) {
  u32 found = 0;
  if (n > sizeof area) n = sizeof area;
  for (u32 i = 0; i < n; i++) area[i] = 1;
  for (u32 i = 2; i < n; i++) {
    if (!area[i]) continue;
    found++;
    for (u32 k = 2 * i; k < n; k += i) area[k] = 0;
  }
  return found;
}

EXPORT("matrix") double matrix(u32 n) {
  static double a[64][64], b[64][64], c[64][64];
  for (u32 i = 0; i < 64; i++)
    for (u32 k = 0; k < 64; k++) a[i][k] = i + k, b[i][k] = i - (double)k, c[i][k] = 0;
  for (u32 r = 0; r < n; r++)
    for (u32 i = 0; i < 64; i++)
      for (u32 k = 0; k < 64; k++)
        for (u32 j = 0; j < 64; j++) c[i][k] += a[i][j] * b[j][k];
  return c[7][9];
}

EXPORT("copies") u32 copies(u32 n) {
  for (u32 i = 0; i < 256; i++) area[i] = i;
  for (u32 i = 0; i < n; i++) __builtin_memcpy(area + 64 + i % 5000, area + i % 256, 48 + i % 16);
  u32 h = 0;
  for (u32 i = 0; i < 6000; i++) h = h * 31 + area[i];
  return h;
}

static u32 mix(u32 x) { return x * 2654435761u ^ x >> 15; }
static u32 twist(u32 x) { return (x << 7 | x >> 25) + 99; }
static u32 half(u32 x) { return x / 3 + 1; }

EXPORT("indirect") u32 indirect(u32 n) {
  static u32 (*const fs[])(u32) = {mix, twist, half};
  u32 x = n;
  for (u32 i = 0; i < n; i++) x = fs[x % 3](x);
  return x;
}

EXPORT("deep") u32 deep(u32 n) {
  volatile u8 pad[64];
  pad[n % 64] = n;
  return n ? deep(n - 1) + pad[n % 64] : 0;
}

EXPORT("parse") u32 parse(u32 n) {
  static const char text[] = "docs://handbook/a/quite/long/path/with%20escapes?and=a&query=too";
  u32 h = 0;
  for (u32 r = 0; r < n; r++) {
    for (u32 i = 0; text[i]; i++) {
      switch (text[i]) {
      case '%': h += 3; i += 2; break;
      case '/': h = h * 33; break;
      case '?': h ^= 0x5555; break;
      case '&': case '=': h++; break;
      default: h = h * 31 + (u8)text[i];
      }
    }
  }
  return h;
}
