/* What machine code made by numba asks for at run time, without numba: memory with a counted header.
 *
 * Numba allocates every array behind this header and releases it when the count falls to zero. The order of the fields is numba's;
 * `NUMBA` in build.py pins the version. Nothing here is called from Python but `sfumato_free`.
 */
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t count;
    void (*destroy)(void *data, size_t size, void *more);
    void *more;
    void *data;
    size_t size;
    void *allocator;
} Header;

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    Header *made;
    if (align < 1 || size > SIZE_MAX - sizeof(Header) - align) return NULL;
    made = malloc(sizeof(Header) + align + size);
    if (!made) return NULL;
    uintptr_t first = (uintptr_t)(made + 1);
    *made = (Header){1, NULL, NULL, (void *)((first + align - 1) / align * align), size, NULL};
    return made;
}

HIDDEN void *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

HIDDEN void *NRT_Allocate(size_t size) { return malloc(size + 1); }

HIDDEN void NRT_Free(void *data) { free(data); }

HIDDEN void NRT_MemInfo_call_dtor(Header *made) {
    if (made->destroy) made->destroy(made->data, made->size, made->more);
    free(made);
}

/* Lists live behind a header whose memory can be replaced; `each` releases the elements. */
static void release_list(void *data, size_t size, void *each) {
    if (each) ((void (*)(void *, size_t, void *))each)(data, size, NULL);
    free(data);
}

HIDDEN void *NRT_MemInfo_new_varsize_dtor(size_t size, void *each) {
    Header *made = malloc(sizeof(Header));
    void *data = made ? malloc(size + 1) : NULL;
    if (!data) {
        free(made);
        return NULL;
    }
    *made = (Header){1, release_list, each, data, size, NULL};
    return made;
}

HIDDEN void *NRT_MemInfo_varsize_realloc(Header *made, size_t size) {
    void *data = realloc(made->data, size + 1);
    if (data) {
        made->data = data;
        made->size = size;
    }
    return data;
}

/* Strides of a new shape for an array in one stretch of memory; 0 for every other array, which numba then refuses. */
HIDDEN int numba_attempt_nocopy_reshape(intptr_t old_count, const intptr_t *old_shape, const intptr_t *old_strides, intptr_t new_count,
                                        const intptr_t *new_shape, intptr_t *new_strides, intptr_t item, int fortran) {
    intptr_t old_size = item, new_size = item;
    for (intptr_t i = old_count; i-- > 0; old_size *= old_shape[i])
        if (old_shape[i] != 1 && old_strides[i] != old_size) return 0;
    for (intptr_t i = new_count; i-- > 0; new_size *= new_shape[i]) new_strides[i] = new_size;
    return old_size == new_size && !fortran;
}

/* Only numba's wrappers for Python turn the arguments of a message into objects. They are not in the library, so that nothing
 * calls these; the linker asks for them. */
HIDDEN void *PyExc_RuntimeError;
HIDDEN void PyErr_SetString(void *kind, const char *message) { abort(); }

__attribute__((visibility("default"))) void sfumato_free(void *data) { free(data); }
