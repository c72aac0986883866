// What translated loops stand on: arrays in rows, records, tuples, and arithmetic that promotes as the Python compiler does.
//
// Integers are 64 bits wide (an element of a narrower array is widened when it is read), float32 meets an integer as float64,
// division and remainder round towards minus infinity, negative indices count from the end. Arrays made inside a loop are counted
// and freed; arrays from outside are only looked at. Nothing is checked against bounds: neither does the Python compiler.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <algorithm>

typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;
#define ALWAYS static inline __attribute__((always_inline))

struct DivisionByZero {};
template <i64 n> struct C { constexpr operator i64() const { return n; } };
struct All {};
struct Reverse {};
struct Span { i64 first, end; };
struct SpanFrom { i64 first; };

// ---- kinds of values ------------------------------------------------------------------------------------------------

struct Block { i64 users; };

template <class T, int N> struct Array {
    T* data;
    i64 m_shape[N];
    i64 m_size;
    Block* block;
    Array() : data(nullptr), m_size(0), block(nullptr) { for (int i = 0; i < N; i++) m_shape[i] = 0; }
    Array(const Array& o) : data(o.data), m_size(o.m_size), block(o.block) {
        for (int i = 0; i < N; i++) m_shape[i] = o.m_shape[i];
        if (block) block->users++;
    }
    Array& operator=(const Array& o) {
        if (o.block) o.block->users++;
        drop();
        data = o.data, m_size = o.m_size, block = o.block;
        for (int i = 0; i < N; i++) m_shape[i] = o.m_shape[i];
        return *this;
    }
    ~Array() { drop(); }
    void drop() { if (block && --block->users == 0) std::free(block); block = nullptr; }
    const Array* operator->() const { return this; }
};

template <class T> struct is_array : std::false_type {};
template <class T, int N> struct is_array<Array<T, N>> : std::true_type {};

template <class T, int N> ALWAYS Array<T, N> over(T* data, const i64* shape, Block* block) {
    Array<T, N> a;
    a.data = data;
    a.m_size = 1;
    for (int i = 0; i < N; i++) { a.m_shape[i] = shape[i]; a.m_size *= shape[i]; }
    a.block = block;
    if (block) block->users++;
    return a;
}
template <class T, int N> static Array<T, N> fresh(const i64* shape, bool zero) {
    i64 size = 1;
    for (int i = 0; i < N; i++) size *= shape[i] > 0 ? shape[i] : 0;
    const size_t head = 64, bytes = head + size_t(size) * sizeof(T);
    Block* block = static_cast<Block*>(zero ? std::calloc(1, bytes) : std::malloc(bytes));
    if (!block) throw std::bad_alloc();
    block->users = 0;
    return over<T, N>(reinterpret_cast<T*>(reinterpret_cast<char*>(block) + head), shape, block);
}

template <class T> struct Wide { typedef T type; };
template <> struct Wide<signed char> { typedef i64 type; };
template <> struct Wide<short> { typedef i64 type; };
template <> struct Wide<int> { typedef i64 type; };
template <> struct Wide<unsigned char> { typedef i64 type; };
template <i64 n> struct Wide<C<n>> { typedef i64 type; };
template <class T> using wide = typename Wide<std::decay_t<T>>::type;

/// A value as a variable keeps it.
template <class T> ALWAYS wide<T> val(const T& x) { return wide<T>(x); }

template <class A, class B> struct Promote {
    static constexpr bool floats = std::is_floating_point<A>::value || std::is_floating_point<B>::value;
    static constexpr bool single = std::is_same<A, float>::value && std::is_same<B, float>::value;
    static constexpr bool big = std::is_same<A, u64>::value || std::is_same<B, u64>::value;
    static constexpr bool negative = std::is_same<A, i64>::value || std::is_same<B, i64>::value;
    static constexpr bool small = std::is_same<A, u32>::value && std::is_same<B, u32>::value;
    static_assert(!(big && negative), "signed and unsigned words meet: cast one of them");
    typedef std::conditional_t<floats, std::conditional_t<single, float, double>, std::conditional_t<big || small, u64, i64>> type;
};
template <class A, class B> using both = typename Promote<wide<A>, wide<B>>::type;

template <class T> constexpr bool scalar = std::is_arithmetic<std::decay_t<T>>::value;
template <class T, class X> ALWAYS T cast(const X& x) { return T(x); }

// ---- arithmetic -----------------------------------------------------------------------------------------------------

template <class F, class A, class B> static auto elementwise(F f, const A& a, const B& b);

#define ARITHMETIC(name, sign)                                                                                   \
    template <class A, class B> ALWAYS auto name(const A& a, const B& b) {                                       \
        if constexpr (is_array<A>::value || is_array<B>::value)                                                  \
            return elementwise([](auto x, auto y) { return name(x, y); }, a, b);                                  \
        else return both<A, B>(a) sign both<A, B>(b);                                                             \
    }
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
template <class A, class B> ALWAYS auto truediv(const A& a, const B& b) {
    if constexpr (is_array<A>::value || is_array<B>::value)
        return elementwise([](auto x, auto y) { return truediv(x, y); }, a, b);
    else return double(a) / double(b);
}
template <class A, class B> ALWAYS auto floordiv(const A& a, const B& b) {
    if constexpr (is_array<A>::value || is_array<B>::value)
        return elementwise([](auto x, auto y) { return floordiv(x, y); }, a, b);
    else {
        typedef both<A, B> R;
        const R x = R(a), y = R(b);
        if constexpr (std::is_floating_point<R>::value) return R(std::floor(x / y));
        else {
            if (y == 0) throw DivisionByZero();
            R q = x / y;
            if constexpr (std::is_signed<R>::value) if ((x % y != 0) && ((x < 0) != (y < 0))) q--;
            return q;
        }
    }
}
template <class A, class B> ALWAYS auto mod(const A& a, const B& b) {
    typedef both<A, B> R;
    const R x = R(a), y = R(b);
    if constexpr (std::is_floating_point<R>::value) return R(x - y * std::floor(x / y));
    else {
        if (y == 0) throw DivisionByZero();
        R r = x % y;
        if constexpr (std::is_signed<R>::value) if (r != 0 && ((r < 0) != (y < 0))) r += y;
        return r;
    }
}
template <class A, class B> ALWAYS auto power(const A& a, const B& b) {
    if constexpr (is_array<A>::value) return elementwise([](auto x, auto y) { return mul(x, x); }, a, b);
    else return std::pow(double(a), double(b));
}
#define BITS(name, sign)                                                                          \
    template <class A, class B> ALWAYS auto name(const A& a, const B& b) {                        \
        if constexpr (std::is_same<wide<A>, bool>::value && std::is_same<wide<B>, bool>::value)   \
            return bool(a sign b);                                                                \
        else return both<A, B>(a) sign both<A, B>(b);                                             \
    }
BITS(band, &)
BITS(bor, |)
BITS(bxor, ^)
template <class A, class B> ALWAYS auto shl(const A& a, const B& b) {
    typedef both<A, A> R;
    return R(u64(R(a)) << (u64(b) & 63));
}
template <class A, class B> ALWAYS auto shr(const A& a, const B& b) {
    typedef both<A, A> R;
    return R(R(a) >> (u64(b) & 63));
}
template <class A> ALWAYS auto neg(const A& a) { if constexpr (std::is_floating_point<A>::value) return A(-a); else return i64(-i64(a)); }
template <class A> ALWAYS auto inv(const A& a) { return both<A, A>(~both<A, A>(a)); }
template <class A> ALWAYS bool truth(const A& a) { return bool(a); }

#define COMPARISON(name, sign)                                                                                   \
    template <class A, class B> ALWAYS auto name(const A& a, const B& b) {                                       \
        if constexpr (is_array<A>::value || is_array<B>::value)                                                  \
            return elementwise([](auto x, auto y) { return name(x, y); }, a, b);                                  \
        else if constexpr (std::is_floating_point<wide<A>>::value || std::is_floating_point<wide<B>>::value)      \
            return bool(double(a) sign double(b));                                                               \
        else if constexpr (std::is_same<wide<A>, u64>::value || std::is_same<wide<B>, u64>::value)                \
            return bool(u64(a) sign u64(b));                                                                     \
        else return bool(i64(a) sign i64(b));                                                                    \
    }
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
COMPARISON(eq, ==)
COMPARISON(ne, !=)

template <class A, class B> ALWAYS both<A, B> mn(const A& a, const B& b) { both<A, B> x(a), y(b); return y < x ? y : x; }
template <class A, class B> ALWAYS both<A, B> mx(const A& a, const B& b) { both<A, B> x(a), y(b); return x < y ? y : x; }
template <class A, class B, class... R> ALWAYS auto mn(const A& a, const B& b, const R&... r) { return mn(mn(a, b), r...); }
template <class A, class B, class... R> ALWAYS auto mx(const A& a, const B& b, const R&... r) { return mx(mx(a, b), r...); }
template <class A> ALWAYS auto absolute(const A& a) { typedef both<A, A> R; R x(a); return x < 0 ? R(-x) : x; }
ALWAYS double f_sqrt(double x) { return std::sqrt(x); }
ALWAYS double f_floor(double x) { return std::floor(x); }
ALWAYS double f_ceil(double x) { return std::ceil(x); }
ALWAYS double f_log2(double x) { return std::log2(x); }
ALWAYS double f_log(double x) { return std::log(x); }
ALWAYS double f_exp(double x) { return std::exp(x); }

// ---- reading and writing elements -----------------------------------------------------------------------------------

ALWAYS i64 place(i64 i, i64 n) { return i < 0 ? i + n : i; }
ALWAYS i64 clip(i64 i, i64 n) { if (i < 0) i += n; return i < 0 ? 0 : (i > n ? n : i); }

template <class T> ALWAYS decltype(auto) element(T& x) {
    if constexpr (std::is_class<T>::value) return &x;
    else return wide<T>(x);
}

template <class T, int N> ALWAYS i64 stride(const Array<T, N>& a, int from) {
    i64 s = 1;
    for (int i = from; i < N; i++) s *= a.m_shape[i];
    return s;
}

template <class T, int N, class I> ALWAYS T& slot(const Array<T, N>& a, const I& i) {
    static_assert(N == 1, "one index for an array of one dimension");
    return a.data[place(i64(i), a.m_shape[0])];
}
template <class T, int N, class I, class J> ALWAYS T& slot(const Array<T, N>& a, const I& i, const J& j) {
    static_assert(N == 2, "two indices for an array of two dimensions");
    return a.data[place(i64(i), a.m_shape[0]) * a.m_shape[1] + place(i64(j), a.m_shape[1])];
}
template <class T, int N, class I, class J, class K> ALWAYS T& slot(const Array<T, N>& a, const I& i, const J& j, const K& k) {
    static_assert(N == 3, "three indices for an array of three dimensions");
    const i64 row = place(i64(i), a.m_shape[0]) * a.m_shape[1] + place(i64(j), a.m_shape[1]);
    return a.data[row * a.m_shape[2] + place(i64(k), a.m_shape[2])];
}

template <class T, int N, class I> ALWAYS auto at(const Array<T, N>& a, const I& i) {
    if constexpr (std::is_same<I, All>::value) return a;
    else if constexpr (std::is_same<I, Span>::value || std::is_same<I, SpanFrom>::value) {
        i64 first = clip(i.first, a.m_shape[0]), end = a.m_shape[0];
        if constexpr (std::is_same<I, Span>::value) end = clip(i.end, a.m_shape[0]);
        i64 shape[N];
        for (int d = 0; d < N; d++) shape[d] = a.m_shape[d];
        shape[0] = end > first ? end - first : 0;
        return over<T, N>(a.data + first * stride(a, 1), shape, a.block);
    } else if constexpr (std::is_same<I, Reverse>::value) {
        static_assert(N == 1, "only a row is turned round");
        Array<T, N> r = fresh<T, N>(a.m_shape, false);
        for (i64 k = 0; k < a.m_size; k++) r.data[k] = a.data[a.m_size - 1 - k];
        return r;
    } else if constexpr (N == 1) return element(slot(a, i));
    else return over<T, N - 1>(a.data + place(i64(i), a.m_shape[0]) * stride(a, 1), a.m_shape + 1, a.block);
}
template <class T, int N, class I, class J> ALWAYS auto at(const Array<T, N>& a, const I& i, const J& j) {
    static_assert(std::is_convertible<I, i64>::value, "a stretch of rows and a column: not a stretch in memory");
    if constexpr (N == 2 && std::is_convertible<J, i64>::value) return element(slot(a, i, j));
    else return at(at(a, i), j);
}
template <class T, int N, class I, class J, class K> ALWAYS auto at(const Array<T, N>& a, const I& i, const J& j, const K& k) {
    if constexpr (std::is_convertible<K, i64>::value && N == 3) return element(slot(a, i, j, k));
    else return at(at(a, i, j), k);
}
template <class... T, i64 n> ALWAYS auto at(const std::tuple<T...>& t, C<n>) { return std::get<n>(t); }
template <class... T> ALWAYS i64 at(const std::tuple<T...>& t, i64 i) {
    i64 found = 0, number = 0;
    std::apply([&](const auto&... x) { ((number++ == i ? (found = i64(x), 0) : 0), ...); }, t);
    return found;
}
ALWAYS i64 at(const i64* shape, i64 i) { return shape[i]; }

template <class T, class X> ALWAYS void store(T& here, const X& x) {
    if constexpr (std::is_pointer<X>::value) here = *x;
    else here = T(x);
}

/// `a[…] = x` where the left side is a stretch: another stretch, a tuple, or one value everywhere.
template <class T, int N, class X> ALWAYS void fill(const Array<T, N>& a, const X& x) {
    if constexpr (is_array<X>::value) {
        const i64 n = mn(a.m_size, x.m_size);
        if ((const void*)x.data < (const void*)a.data) for (i64 k = n - 1; k >= 0; k--) store(a.data[k], x.data[k]);
        else for (i64 k = 0; k < n; k++) store(a.data[k], x.data[k]);
    } else for (i64 k = 0; k < a.m_size; k++) store(a.data[k], x);
}
template <class T, int N, class... X> ALWAYS void fill(const Array<T, N>& a, const std::tuple<X...>& t) {
    i64 k = 0;
    std::apply([&](const auto&... x) { (store(a.data[k++], x), ...); }, t);
}
template <class T, int N, class X, class... I> ALWAYS void setitem(const Array<T, N>& a, const X& x, const I&... i) {
    if constexpr ((std::is_convertible<I, i64>::value && ...) && N == int(sizeof...(I))) store(slot(a, i...), x);
    else fill(at(a, i...), x);
}

/// `v = x` for a variable that is there already.
template <class V, class X> ALWAYS void assign(V& v, const X& x) {
    static_assert(!(std::is_integral<V>::value && std::is_floating_point<X>::value), "a whole number becomes a fraction: begin with 0.0");
    static_assert(!(std::is_same<V, bool>::value && !std::is_same<X, bool>::value), "a truth becomes a number");
    v = V(x);
}
/// `v op= x`: in place for an array.
template <class F, class V, class X> ALWAYS void update(F f, V& v, const X& x) {
    if constexpr (is_array<V>::value) {
        for (i64 k = 0; k < v.m_size; k++) {
            if constexpr (is_array<X>::value) store(v.data[k], f(element(v.data[k]), element(x.data[k])));
            else store(v.data[k], f(element(v.data[k]), x));
        }
    } else assign(v, f(v, x));
}

// ---- whole arrays ---------------------------------------------------------------------------------------------------

template <class F, class A, class B> static auto elementwise(F f, const A& a, const B& b) {
    if constexpr (is_array<A>::value && is_array<B>::value) {
        typedef decltype(f(element(*a.data), element(*b.data))) R;
        auto r = fresh<R, std::extent<decltype(a.m_shape)>::value>(a.m_shape, false);
        for (i64 k = 0; k < a.m_size; k++) r.data[k] = f(element(a.data[k]), element(b.data[k]));
        return r;
    } else if constexpr (is_array<A>::value) {
        typedef decltype(f(element(*a.data), b)) R;
        auto r = fresh<R, std::extent<decltype(a.m_shape)>::value>(a.m_shape, false);
        for (i64 k = 0; k < a.m_size; k++) r.data[k] = f(element(a.data[k]), b);
        return r;
    } else {
        typedef decltype(f(a, element(*b.data))) R;
        auto r = fresh<R, std::extent<decltype(b.m_shape)>::value>(b.m_shape, false);
        for (i64 k = 0; k < b.m_size; k++) r.data[k] = f(a, element(b.data[k]));
        return r;
    }
}
template <class... X> ALWAYS auto tup(const X&... x) { return std::tuple<wide<X>...>(x...); }

template <class T, class... D> ALWAYS auto made(bool zero, const D&... d) { const i64 shape[] = {i64(d)...}; return fresh<T, sizeof...(D)>(shape, zero); }
template <class T, size_t N> ALWAYS auto made(bool zero, const i64 (&shape)[N]) { return fresh<T, N>(shape, zero); }
template <class T, class... D> ALWAYS auto made(bool zero, const std::tuple<D...>& d) { return std::apply([&](auto... n) { return made<T>(zero, n...); }, d); }
template <class T, class D> ALWAYS auto zeros(const D& d) { return made<T>(true, d); }
template <class T, class D> ALWAYS auto empty(const D& d) { return made<T>(false, d); }
template <class T, class D, class X> ALWAYS auto full(const D& d, const X& x) { auto a = made<T>(false, d); fill(a, x); return a; }
template <class T, class D> ALWAYS auto ones(const D& d) { return full<T>(d, T(1)); }
ALWAYS Array<i64, 1> arange(i64 n) { auto a = made<i64>(false, n); for (i64 k = 0; k < n; k++) a.data[k] = k; return a; }

template <class T, int N> ALWAYS i64 len(const Array<T, N>& a) { return a.m_shape[0]; }
template <class T, int N> static Array<T, N> m_copy(const Array<T, N>& a) {
    auto r = fresh<T, N>(a.m_shape, false);
    if (a.m_size) std::memcpy((void*)r.data, (const void*)a.data, size_t(a.m_size) * sizeof(T));
    return r;
}
template <class R, class T, int N> static Array<R, N> m_astype(const Array<T, N>& a) {
    auto r = fresh<R, N>(a.m_shape, false);
    for (i64 k = 0; k < a.m_size; k++) r.data[k] = R(a.data[k]);
    return r;
}
template <class T, int N> static auto m_sum(const Array<T, N>& a) { wide<T> s = 0; for (i64 k = 0; k < a.m_size; k++) s += a.data[k]; return s; }
template <class T, int N> static double m_mean(const Array<T, N>& a) { double s = 0; for (i64 k = 0; k < a.m_size; k++) s += a.data[k]; return s / double(a.m_size); }
template <class T, int N> static wide<T> m_max(const Array<T, N>& a) { T s = a.data[0]; for (i64 k = 1; k < a.m_size; k++) if (s < a.data[k]) s = a.data[k]; return s; }
template <class T, int N> static bool m_any(const Array<T, N>& a) { for (i64 k = 0; k < a.m_size; k++) if (a.data[k]) return true; return false; }
template <class T> static void m_sort(const Array<T, 1>& a) { std::sort(a.data, a.data + a.m_size); }
template <class T> static Array<i64, 1> argsort(const Array<T, 1>& a) {
    auto r = arange(a.m_size);
    std::stable_sort(r.data, r.data + a.m_size, [&](i64 x, i64 y) { return a.data[x] < a.data[y]; });
    return r;
}
template <class T, class K> static Array<T, 1> partition(const Array<T, 1>& a, const K& k) {
    auto r = m_copy(a);
    std::nth_element(r.data, r.data + i64(k), r.data + r.m_size);
    return r;
}
template <class T> static Array<T, 1> concatenate(const std::tuple<Array<T, 1>, Array<T, 1>>& both_parts) {
    const auto &a = std::get<0>(both_parts), &b = std::get<1>(both_parts);
    auto r = made<T>(false, a.m_size + b.m_size);
    std::memcpy((void*)r.data, (const void*)a.data, size_t(a.m_size) * sizeof(T));
    std::memcpy((void*)(r.data + a.m_size), (const void*)b.data, size_t(b.m_size) * sizeof(T));
    return r;
}
template <class A, class B> static Array<double, 1> where(const Array<bool, 1>& c, const A& a, const B& b) {
    auto r = made<double>(false, c.m_size);
    for (i64 k = 0; k < c.m_size; k++) {
        double x, y;
        if constexpr (is_array<A>::value) x = a.data[k]; else x = a;
        if constexpr (is_array<B>::value) y = b.data[k]; else y = b;
        r.data[k] = c.data[k] ? x : y;
    }
    return r;
}

// ---- the way in and out ---------------------------------------------------------------------------------------------

union Word { i64 whole; double real; void* address; };
template <class T, int N> ALWAYS Array<T, N> view(const Word* w) {
    i64 shape[N];
    for (int d = 0; d < N; d++) shape[d] = w[1 + d].whole;
    return over<T, N>(static_cast<T*>(w[0].address), shape, nullptr);
}
template <class T> struct Code;
template <> struct Code<bool> { static constexpr i64 n = 0; };
template <> struct Code<int64_t> { static constexpr i64 n = 1; };
template <> struct Code<uint64_t> { static constexpr i64 n = 2; };
template <> struct Code<int32_t> { static constexpr i64 n = 3; };
template <> struct Code<uint32_t> { static constexpr i64 n = 4; };
template <> struct Code<double> { static constexpr i64 n = 5; };
template <> struct Code<float> { static constexpr i64 n = 6; };

// one value: kind, then its words; kinds: 1 whole, 2 unsigned, 3 real, 4 truth, 5 array (code, dimensions, address, shape), 6 tuple (length)
ALWAYS void give(Word*& out, i64 x) { (out++)->whole = 1; (out++)->whole = x; }
ALWAYS void give(Word*& out, u64 x) { (out++)->whole = 2; (out++)->whole = i64(x); }
ALWAYS void give(Word*& out, u32 x) { give(out, u64(x)); }
ALWAYS void give(Word*& out, double x) { (out++)->whole = 3; (out++)->real = x; }
ALWAYS void give(Word*& out, float x) { give(out, double(x)); }
ALWAYS void give(Word*& out, bool x) { (out++)->whole = 4; (out++)->whole = x; }
template <class T, int N> static void give(Word*& out, const Array<T, N>& a) {
    const size_t bytes = size_t(a.m_size) * sizeof(T);
    void* kept = std::malloc(bytes ? bytes : 1);
    if (!kept) throw std::bad_alloc();
    if (bytes) std::memcpy(kept, a.data, bytes);
    (out++)->whole = 5; (out++)->whole = Code<T>::n; (out++)->whole = N; (out++)->address = kept;
    for (int d = 0; d < N; d++) (out++)->whole = a.m_shape[d];
}
template <class... X> static void give(Word*& out, const std::tuple<X...>& t) {
    (out++)->whole = 6; (out++)->whole = i64(sizeof...(X));
    std::apply([&](const auto&... x) { (give(out, x), ...); }, t);
}
template <class F> static int guarded(F work) {
    try { work(); return 0; }
    catch (const DivisionByZero&) { return 1; }
    catch (const std::bad_alloc&) { return 2; }
}
extern "C" void sfumato_free(void* kept) { std::free(kept); }
