/* Counts what a process and its children write below a folder, and at the nth time dies or answers an error.
 *
 * Preloaded (LD_PRELOAD). FAULTS_FOLDER is the folder, FAULTS_STATE a file that holds `struct state` and is mapped by
 * all of them, FAULTS_LOG (or none) a file to which each counted operation adds a line. Points are the calls of libc
 * that change something below the folder: a write that dies has written its first half. A full disk stays full: from
 * its point on nothing takes room any more, and the write at the point itself is cut short, as the kernel does it.
 * stdio writes inside libc, past these names: fopen and fwrite are points themselves. With FAULTS_SENDS what is sent
 * to a socket of the internet is a point too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, KILL_GROUP, KILL_PROCESS, FULL, BROKEN };
enum { PASS, CUT, REFUSE };

/* points.py has the same layout */
struct state {
    unsigned long count; /* points so far */
    unsigned long at;    /* the one that fails, from 1; 0: none */
    long fault;
    long leader; /* the process group that was started */
    long hit;    /* how often it failed */
};

static struct state *state;
static char folder[PATH_MAX];
static size_t folder_length;
static char log_path[PATH_MAX];
static int counts_sends;

__attribute__((constructor)) static void begin(void)
{
    const char *below = getenv("FAULTS_FOLDER"), *place = getenv("FAULTS_STATE"), *log = getenv("FAULTS_LOG");
    if (!below || !place || !realpath(below, folder))
        return;
    folder_length = strlen(folder);
    counts_sends = getenv("FAULTS_SENDS") != NULL;
    if (log)
        snprintf(log_path, sizeof log_path, "%s", log);
    int file = (int)syscall(SYS_openat, AT_FDCWD, place, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *map = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map != MAP_FAILED)
        state = map;
    if (state && !state->leader)
        state->leader = getpgrp();
}

static int below_folder(const char *path)
{
    return !strncmp(path, folder, folder_length) && (path[folder_length] == '/' || !path[folder_length]);
}

/* The file behind a descriptor, if it is below the folder. */
static int of_descriptor(int file, char *path)
{
    if (!state || file < 0)
        return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return below_folder(path);
}

/* The file of that name, whose own last part may be a link or absent, if it is below the folder. */
static int of_name(int place, const char *name, char *path)
{
    if (!state || !name)
        return 0;
    char full[2 * PATH_MAX], base[PATH_MAX];
    if (name[0] == '/') {
        snprintf(full, sizeof full, "%s", name);
    } else {
        char link[64];
        snprintf(link, sizeof link, place == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", place);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length <= 0)
            return 0;
        base[length] = 0;
        snprintf(full, sizeof full, "%s/%s", base, name);
    }
    size_t end = strlen(full);
    while (end > 1 && full[end - 1] == '/')
        full[--end] = 0;
    char *last = strrchr(full, '/');
    char parent[PATH_MAX];
    *last = 0;
    if (!realpath(last == full ? "/" : full, parent))
        return 0;
    int written = snprintf(path, PATH_MAX, "%s/%s", parent, last + 1);
    return written < PATH_MAX && below_folder(path);
}

static void die(void)
{
    if (state->fault == KILL_GROUP) {
        if (state->leader != getpgrp())
            kill(-(pid_t)state->leader, SIGKILL);
        kill(0, SIGKILL);
    }
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Counts one point. PASS: do it. CUT: do its first half, then call `cut_off`. REFUSE: errno is set, answer -1. */
static int arrive(const char *operation, const char *path, int takes_room, int can_be_cut)
{
    unsigned long number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (log_path[0]) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%lu\t%d\t%s\t%s\n", number, (int)getpid(), operation, path);
        int log = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log >= 0) {
            if (syscall(SYS_write, log, line, (size_t)length) < 0)
                errno = 0;
            close(log);
        }
    }
    if (!state->at || number < state->at || state->fault == COUNT)
        return PASS;
    if (state->fault == FULL) {
        if (!takes_room)
            return PASS;
        long before = __atomic_fetch_add(&state->hit, 1, __ATOMIC_SEQ_CST);
        errno = ENOSPC;
        return before == 0 && can_be_cut ? CUT : REFUSE;
    }
    if (number != state->at)
        return PASS;
    __atomic_fetch_add(&state->hit, 1, __ATOMIC_SEQ_CST);
    if (state->fault == BROKEN) {
        errno = EIO;
        return REFUSE;
    }
    if (!can_be_cut)
        die();
    return CUT;
}

static void cut_off(void)
{
    if (state->fault != FULL)
        die();
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* --- writes to a descriptor */

#define WRITE(name, offset_type, with_offset, give_offset)                                                             \
    ssize_t name(int file, const void *data, size_t size with_offset)                                                  \
    {                                                                                                                  \
        static ssize_t (*next)(int, const void *, size_t offset_type);                                                 \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (!of_descriptor(file, path))                                                                                \
            return next(file, data, size give_offset);                                                                 \
        int what = arrive(#name, path, 1, size > 1);                                                                   \
        if (what == REFUSE)                                                                                            \
            return -1;                                                                                                 \
        if (what == PASS)                                                                                              \
            return next(file, data, size give_offset);                                                                 \
        ssize_t half = next(file, data, size / 2 give_offset);                                                         \
        cut_off();                                                                                                     \
        return half;                                                                                                   \
    }
#define NOTHING
#define COMMA ,
WRITE(write, NOTHING, NOTHING, NOTHING)
WRITE(pwrite, COMMA off_t, COMMA off_t offset, COMMA offset)
WRITE(pwrite64, COMMA off64_t, COMMA off64_t offset, COMMA offset)

#define WRITEV(name, offset_type, with_offset, give_offset)                                                            \
    ssize_t name(int file, const struct iovec *parts, int count with_offset)                                           \
    {                                                                                                                  \
        static ssize_t (*next)(int, const struct iovec *, int offset_type);                                            \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (!of_descriptor(file, path))                                                                                \
            return next(file, parts, count give_offset);                                                               \
        int what = arrive(#name, path, 1, count > 0 && parts[0].iov_len > 1);                                          \
        if (what == REFUSE)                                                                                            \
            return -1;                                                                                                 \
        if (what == PASS)                                                                                              \
            return next(file, parts, count give_offset);                                                               \
        struct iovec first = {parts[0].iov_base, parts[0].iov_len / 2};                                                \
        ssize_t half = next(file, &first, 1 give_offset);                                                              \
        cut_off();                                                                                                     \
        return half;                                                                                                   \
    }
WRITEV(writev, NOTHING, NOTHING, NOTHING)
WRITEV(pwritev, COMMA off_t, COMMA off_t offset, COMMA offset)
WRITEV(pwritev64, COMMA off64_t, COMMA off64_t offset, COMMA offset)

#define COPY(name, types, parameters, arguments, halves)                                                               \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        static ssize_t(*next) types;                                                                                   \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (!of_descriptor(target, path))                                                                              \
            return next arguments;                                                                                     \
        int what = arrive(#name, path, 1, size > 1);                                                                   \
        if (what == REFUSE)                                                                                            \
            return -1;                                                                                                 \
        if (what == PASS)                                                                                              \
            return next arguments;                                                                                     \
        struct stat source_is;                                                                                         \
        size_t half_size = !fstat(source, &source_is) && (size_t)source_is.st_size < size                              \
                               ? (size_t)source_is.st_size / 2 : size / 2;                                             \
        ssize_t half = half_size ? next halves : 0;                                                                    \
        cut_off();                                                                                                     \
        return half;                                                                                                   \
    }
COPY(sendfile, (int, int, off_t *, size_t), (int target, int source, off_t *offset, size_t size),
     (target, source, offset, size), (target, source, offset, half_size))
COPY(sendfile64, (int, int, off64_t *, size_t), (int target, int source, off64_t *offset, size_t size),
     (target, source, offset, size), (target, source, offset, half_size))
COPY(copy_file_range, (int, off64_t *, int, off64_t *, size_t, unsigned),
     (int source, off64_t *from, int target, off64_t *to, size_t size, unsigned flags),
     (source, from, target, to, size, flags), (source, from, target, to, half_size, flags))

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream)
{
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    char path[PATH_MAX];
    if (!next)
        next = real("fwrite");
    if (!of_descriptor(fileno(stream), path))
        return next(data, size, count, stream);
    int what = arrive("fwrite", path, 1, count > 1);
    if (what == REFUSE)
        return 0;
    if (what == PASS)
        return next(data, size, count, stream);
    size_t half = next(data, size, count / 2, stream);
    fflush(stream);
    cut_off();
    errno = ENOSPC;
    return half;
}

ssize_t send(int file, const void *data, size_t size, int flags)
{
    static ssize_t (*next)(int, const void *, size_t, int);
    struct sockaddr_storage other;
    socklen_t length = sizeof other;
    if (!next)
        next = real("send");
    if (!state || !counts_sends || getpeername(file, (struct sockaddr *)&other, &length) || other.ss_family == AF_UNIX)
        return next(file, data, size, flags);
    int what = arrive("send", "(socket)", 0, size > 1);
    if (what == REFUSE)
        return -1;
    if (what == PASS)
        return next(file, data, size, flags);
    ssize_t half = next(file, data, size / 2, flags);
    cut_off();
    return half;
}

#define ON_DESCRIPTOR(name, takes_room, types, parameters, arguments)                                                  \
    int name parameters                                                                                                \
    {                                                                                                                  \
        static int(*next) types;                                                                                       \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (of_descriptor(file, path) && arrive(#name, path, takes_room, 0) == REFUSE)                                 \
            return -1;                                                                                                 \
        return next arguments;                                                                                         \
    }
ON_DESCRIPTOR(fsync, 0, (int), (int file), (file))
ON_DESCRIPTOR(fdatasync, 0, (int), (int file), (file))
ON_DESCRIPTOR(ftruncate, 1, (int, off_t), (int file, off_t size), (file, size))
ON_DESCRIPTOR(ftruncate64, 1, (int, off64_t), (int file, off64_t size), (file, size))

/* --- names */

#define ON_NAME(name, takes_room, types, parameters, place, target, arguments)                                         \
    int name parameters                                                                                                \
    {                                                                                                                  \
        static int(*next) types;                                                                                       \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (of_name(place, target, path) && arrive(#name, path, takes_room, 0) == REFUSE)                              \
            return -1;                                                                                                 \
        return next arguments;                                                                                         \
    }
#define TWO (const char *, const char *)
#define FOUR (int, const char *, int, const char *)
ON_NAME(rename, 0, TWO, (const char *from, const char *to), AT_FDCWD, to, (from, to))
ON_NAME(renameat, 0, FOUR, (int place, const char *from, int other, const char *to), other, to, (place, from, other, to))
ON_NAME(renameat2, 0, (int, const char *, int, const char *, unsigned),
        (int place, const char *from, int other, const char *to, unsigned flags), other, to,
        (place, from, other, to, flags))
ON_NAME(link, 1, TWO, (const char *from, const char *to), AT_FDCWD, to, (from, to))
ON_NAME(linkat, 1, (int, const char *, int, const char *, int),
        (int place, const char *from, int other, const char *to, int flags), other, to, (place, from, other, to, flags))
ON_NAME(symlink, 1, TWO, (const char *text, const char *to), AT_FDCWD, to, (text, to))
ON_NAME(symlinkat, 1, (const char *, int, const char *), (const char *text, int place, const char *to), place, to,
        (text, place, to))
ON_NAME(unlink, 0, (const char *), (const char *name), AT_FDCWD, name, (name))
ON_NAME(unlinkat, 0, (int, const char *, int), (int place, const char *name, int flags), place, name,
        (place, name, flags))
ON_NAME(rmdir, 0, (const char *), (const char *name), AT_FDCWD, name, (name))
ON_NAME(mkdir, 1, (const char *, mode_t), (const char *name, mode_t mode), AT_FDCWD, name, (name, mode))
ON_NAME(mkdirat, 1, (int, const char *, mode_t), (int place, const char *name, mode_t mode), place, name,
        (place, name, mode))

#define OPEN(name, types, parameters, place, arguments)                                                                \
    int name parameters                                                                                                \
    {                                                                                                                  \
        static int(*next) types;                                                                                       \
        char path[PATH_MAX];                                                                                           \
        mode_t mode = 0;                                                                                               \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                                         \
            va_list more;                                                                                              \
            va_start(more, flags);                                                                                     \
            mode = va_arg(more, mode_t);                                                                               \
            va_end(more);                                                                                              \
        }                                                                                                              \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if ((flags & (O_CREAT | O_TRUNC)) && of_name(place, file, path) &&                                             \
            arrive(#name, path, !!(flags & O_CREAT), 0) == REFUSE)                                                     \
            return -1;                                                                                                 \
        return next arguments;                                                                                         \
    }
OPEN(open, (const char *, int, ...), (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN(open64, (const char *, int, ...), (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN(openat, (int, const char *, int, ...), (int place, const char *file, int flags, ...), place,
     (place, file, flags, mode))
OPEN(openat64, (int, const char *, int, ...), (int place, const char *file, int flags, ...), place,
     (place, file, flags, mode))

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *file, const char *mode)                                                                     \
    {                                                                                                                  \
        static FILE *(*next)(const char *, const char *);                                                              \
        char path[PATH_MAX];                                                                                           \
        if (!next)                                                                                                     \
            next = real(#name);                                                                                        \
        if (mode[0] != 'r' && of_name(AT_FDCWD, file, path) && arrive(#name, path, 1, 0) == REFUSE)                    \
            return NULL;                                                                                               \
        return next(file, mode);                                                                                       \
    }
FOPEN(fopen)
FOPEN(fopen64)
