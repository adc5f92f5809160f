using Millrace.Interop.Files;

namespace Millrace.Engine.Backends;

/// <summary>
/// Estimates how much of a file is in the page cache by testing one page in every 64 KiB: disk reads and evictions rarely cover less.
/// (mincore and cachestat report every page, but only to processes that may write to the file.)
/// </summary>
internal static unsafe class PageCacheProbe
{
    private const int StrideBytes = 64 * 1024;

    /// <summary>
    /// Estimated cached bytes from <paramref name="offset"/> on, at most <paramref name="bytes"/>; 0 after the end of the file, and on file
    /// systems without RWF_NOWAIT (overlayfs, tmpfs, network file systems).
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
