// What metrics.Meter finds of two files of one floating dtype, in one pass: each block is read into the cache and gone
// over once. Sums are kept in LANES of float64 and added in one order, so that every machine gives the same digits; the
// squares and products of two float32 are exact in float64. Blocks that hold NaN or infinity are left to the caller.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sys/types.h>
#include <unistd.h>

#define API extern "C" __attribute__((visibility("default")))
#define INLINE inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define EVERY_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define EVERY_PROCESSOR
#endif

// As fused.py declares it.
struct Totals {
    double apart, own, other, product;
    double largest, largest_relative;
    int64_t unequal, near, nearer, count, ulp;
};

namespace {

enum Kind : int32_t { FLOAT32, FLOAT16, BFLOAT16 };
constexpr int LANES = 8;
constexpr int64_t CHUNK = 4096;  // elements gone over at a time: both sides fit the first cache
constexpr float EPSILON = 1.1920928955078125e-07f;

template <typename Value>
INLINE Value larger(Value one, Value other) {
    return one > other ? one : other;
}

// Elements of 16 bits as float32, and their own bits in the upper half of 32, which orders them as it does float32.
struct Chunk {
    float values[2][CHUNK];
    int32_t bits[2][CHUNK];
};

INLINE float widened(uint16_t half) {
    const uint32_t body = (uint32_t)(half & 0x7fff) << 13, exponent = body & 0x0f800000;
    uint32_t bits = body + (exponent == 0x0f800000 ? 224u << 23 : 112u << 23), small = body + (113u << 23);
    float value, tiny;
    std::memcpy(&tiny, &small, 4);
    tiny -= 6.103515625e-05f;  // 2^-14: what the added exponent stands for
    std::memcpy(&small, &tiny, 4);
    bits = (exponent == 0 ? small : bits) | (uint32_t)(half & 0x8000) << 16;
    std::memcpy(&value, &bits, 4);
    return value;
}

template <Kind kind>
INLINE void fill(Chunk& chunk, int side, const char* from, int64_t count) {
    for (int64_t at = 0; at < count; ++at) {
        uint16_t half;
        std::memcpy(&half, from + 2 * at, 2);
        chunk.bits[side][at] = (int32_t)((uint32_t)half << 16);
        if (kind == BFLOAT16) std::memcpy(&chunk.values[side][at], &chunk.bits[side][at], 4);
        if (kind == FLOAT16) chunk.values[side][at] = widened(half);
    }
}

struct Lanes {
    double apart[LANES] = {}, own[LANES] = {}, other[LANES] = {}, product[LANES] = {};
};

INLINE void multiply(Lanes& sums, const float* left, const float* right, int64_t at, int lanes) {
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) {
        const double a = left[at + lane], b = right[at + lane], d = a - b;
        sums.own[lane] += a * a;
        sums.other[lane] += b * b;
        sums.product[lane] += a * b;
        sums.apart[lane] += d * d;
    }
}

INLINE void sum(Lanes& sums, const float* left, const float* right, int64_t count) {
    Lanes found = sums;
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) multiply(found, left, right, at, LANES);
    multiply(found, left, right, at, (int)(count - at));
    sums = found;
}

INLINE void compare(Totals& all, const float* left, const float* right, int64_t count) {
    int32_t unequal = 0, near = 0, nearer = 0;
    float relative = 0;
    double largest = 0;
#pragma omp simd reduction(max : relative) reduction(+ : unequal, near, nearer)
    for (int64_t at = 0; at < count; ++at) {
        const float zero = right[at] == 0 ? EPSILON : 0.0f, x = left[at] + zero, y = right[at] + zero;
        const float ratio = (x - y) / y, size = ratio < 0 ? -ratio : ratio;
        relative = larger(size, relative);
        unequal += left[at] != right[at];
        near += size < 1e-3f;
        nearer += size < 5e-3f;
    }
#pragma omp simd reduction(max : largest)
    for (int64_t at = 0; at < count; ++at) {
        const double apart = (double)left[at] - (double)right[at];
        largest = larger(apart < 0 ? -apart : apart, largest);
    }
    all.unequal += unequal, all.near += near, all.nearer += nearer, all.count += count;
    all.largest = larger(largest, all.largest);
    all.largest_relative = larger((double)relative, all.largest_relative);
}

// Floats are ordered as their bits are, those below zero the other way round; -0 and 0 are one.
INLINE int32_t ordered(int32_t bits) { return bits < 0 ? INT32_MIN - bits : bits; }

INLINE uint32_t places(const int32_t* left, const int32_t* right, int64_t count) {
    uint32_t most = 0;
#pragma omp simd reduction(max : most)
    for (int64_t at = 0; at < count; ++at) {
        const int32_t x = ordered(left[at]), y = ordered(right[at]);
        most = larger(x > y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x, most);
    }
    return most;
}

INLINE void take(Totals& found, Lanes& lanes, const float* left, const float* right, const int32_t* left_bits,
                 const int32_t* right_bits, int64_t count) {
    sum(lanes, left, right, count);
    compare(found, left, right, count);
    found.ulp = larger((int64_t)places(left_bits, right_bits, count), found.ulp);
}

template <Kind kind>
INLINE void block_of(const char* left, const char* right, int64_t count, Chunk& chunk, Totals& found) {
    constexpr int item = kind == FLOAT32 ? 4 : 2;
    Lanes lanes;
    found = Totals{};
    for (int64_t at = 0; at < count; at += CHUNK) {
        const int64_t some = count - at < CHUNK ? count - at : CHUNK;
        const char *x = left + at * item, *y = right + at * item;
        if (kind == FLOAT32) {
            take(found, lanes, (const float*)x, (const float*)y, (const int32_t*)x, (const int32_t*)y, some);
        } else {
            fill<kind>(chunk, 0, x, some);
            fill<kind>(chunk, 1, y, some);
            take(found, lanes, chunk.values[0], chunk.values[1], chunk.bits[0], chunk.bits[1], some);
        }
    }
    if (kind != FLOAT32) found.ulp >>= 16;
    for (int lane = 0; lane < LANES; ++lane) {
        found.apart += lanes.apart[lane], found.own += lanes.own[lane];
        found.other += lanes.other[lane], found.product += lanes.product[lane];
    }
}

EVERY_PROCESSOR void block32(const char* left, const char* right, int64_t count, Chunk& chunk, Totals& found) {
    block_of<FLOAT32>(left, right, count, chunk, found);
}

EVERY_PROCESSOR void block16(const char* left, const char* right, int64_t count, Chunk& chunk, Totals& found) {
    block_of<FLOAT16>(left, right, count, chunk, found);
}

EVERY_PROCESSOR void blockb16(const char* left, const char* right, int64_t count, Chunk& chunk, Totals& found) {
    block_of<BFLOAT16>(left, right, count, chunk, found);
}

// Bytes that were read: fewer than wanted at the file's end; -1 with errno for an error.
int64_t read_all(int file, char* into, int64_t wanted, int64_t start) {
    int64_t done = 0;
    while (done < wanted) {
        const ssize_t got = pread(file, into + done, wanted - done, start + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += got;
    }
    return done;
}

void add(Totals& all, const Totals& one) {
    all.apart += one.apart, all.own += one.own, all.other += one.other, all.product += one.product;
    all.largest = larger(one.largest, all.largest);
    all.largest_relative = larger(one.largest_relative, all.largest_relative);
    all.unequal += one.unequal, all.near += one.near, all.nearer += one.nearer, all.count += one.count;
    all.ulp = larger(one.ulp, all.ulp);
}

struct Room {
    int64_t bytes = 0;
    std::unique_ptr<char[]> left, right;
    std::unique_ptr<Chunk> chunk{new Chunk};
    void hold(int64_t wanted) {
        if (wanted <= bytes) return;
        left.reset(new char[wanted]);
        right.reset(new char[wanted]);
        bytes = wanted;
    }
};

}  // namespace

// Blocks number `from` to `until` (of `chosen`, where that is given) of two tensors of `size` elements that begin at
// `starts` of `files`. `parts` gets |target - baseline|^2 and |baseline|^2 of each, where it is given.
// Returns how many blocks were taken: fewer where the next holds what is not finite or cannot be read.
API int64_t measure_blocks(const int32_t files[2], const int64_t starts[2], int32_t kind, int64_t size, int64_t block,
                           const int64_t* chosen, int64_t from, int64_t until, Totals* totals, double* parts) {
    static thread_local Room room;
    const int64_t item = kind == FLOAT32 ? 4 : 2;
    room.hold(block * item);
    for (int64_t at = from; at < until; ++at) {
        const int64_t first = (chosen ? chosen[at] : at) * block, count = size - first < block ? size - first : block;
        if (read_all(files[0], room.left.get(), count * item, starts[0] + first * item) != count * item ||
            read_all(files[1], room.right.get(), count * item, starts[1] + first * item) != count * item)
            return at - from;
        Totals one;
        (kind == FLOAT32 ? block32 : kind == FLOAT16 ? block16 : blockb16)(room.left.get(), room.right.get(), count,
                                                                           *room.chunk, one);
        const double both = one.own + one.other;
        if (!(both - both == 0)) return at - from;
        add(*totals, one);
        if (parts) parts[2 * (at - from)] = one.apart, parts[2 * (at - from) + 1] = one.other;
    }
    return until - from;
}
