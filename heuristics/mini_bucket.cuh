// The heuristic of heuristics/src/list/mini_bucket.rs on a device. A first scan gathers the least rating of all values.
#include "network.cuh"

struct Heuristic {
    typedef Inputs Known;
    struct Aggregates {
        double least;
    };
    static constexpr int PASSES = 1;

    static __device__ __forceinline__ double rating(const Inputs &in) { return fmax(in.h, (in.cost - in.least) / 2.0); }

    static __device__ __forceinline__ void look(const Tables &, u32, u32, Known &) {}
    static __device__ __forceinline__ Aggregates none() { return {1e300}; }
    static __device__ __forceinline__ void accumulate(int, const Known &in, Aggregates &all) {
        all.least = fmin(all.least, rating(in));
    }
    static __device__ __forceinline__ void merge(int, Aggregates &all, const Aggregates &other) {
        all.least = fmin(all.least, other.least);
    }
    static __device__ __forceinline__ bool active(const Known &) { return true; }
    static __device__ __forceinline__ u32 weight(const Known &in, const Aggregates &all) {
        return Weights(in.temperature).weight(above(rating(in), all.least));
    }
    static __device__ __forceinline__ bool nonsense(const Known &, const Aggregates &) { return false; }
};
