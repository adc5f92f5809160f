using Millrace.Interop.Files;

namespace Millrace.Engine.Backends;

/// <summary>
/// How much of a file is in the page cache, judged by one page in every 64 KiB: what a disk brings at a time, and what is forgotten at a
/// time, is seldom less. (mincore and cachestat tell of every page, but only who may write to the file.)
/// </summary>
internal static unsafe class CachedPages
{
    private const int StrideBytes = 64 * 1024;

    /// <summary>
    /// Bytes from <paramref name="offset"/> on, <paramref name="bytes"/> at most; 0 also behind the end of the file, and where a file
    /// system does not know RWF_NOWAIT (overlayfs, tmpfs, those of a network).
    /// </summary>
    public static long Count(int file, long offset, long bytes)
    {
        byte first;
        for (long cached = 0; cached < bytes; cached += StrideBytes)
        {
            if (FileCalls.PositionalReadCached(file, &first, 1, offset + cached) != 1)
            {
                return cached;
            }
        }

        return bytes;
    }
}
