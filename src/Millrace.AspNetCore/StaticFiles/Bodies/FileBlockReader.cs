using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Positional reads from a shared descriptor. A pool thread reads directly, as asynchronous file reads end up on the pool anyway. Any other
/// thread may be a reactor's, whose connections must not wait for a disk: it reads only from the page cache, and the pool reads the
/// remaining data.
/// </summary>
internal static class FileBlockReader
{
    /// <summary>Returns the number of bytes read, which may be fewer than requested and is 0 at the end of the file, or -errno.</summary>
    public static ValueTask<int> ReadAsync(int descriptor, Memory<byte> destination, long offset)
    {
        if (Thread.CurrentThread.IsThreadPoolThread)
        {
            return new ValueTask<int>(Read(descriptor, destination.Span, offset));
        }

        int read = ReadCached(descriptor, destination.Span, offset);
        return -read is Errno.EAGAIN or Errno.EOPNOTSUPP
            ? ReadOnPoolAsync(descriptor, destination, offset)
            : new ValueTask<int>(read);
    }

    /// <summary>Reads until the destination is full or the file ends.</summary>
    public static async ValueTask<int> FillAsync(int descriptor, Memory<byte> destination, long offset)
    {
        int filled = 0;
        while (filled < destination.Length)
        {
            int read = await ReadAsync(descriptor, destination[filled..], offset + filled);
            if (read <= 0)
            {
                return read < 0 ? read : filled;
            }

            filled += read;
        }

        return filled;
    }

    private static ValueTask<int> ReadOnPoolAsync(int descriptor, Memory<byte> destination, long offset) =>
        new(Task.Run(() => Read(descriptor, destination.Span, offset)));

    private static unsafe int Read(int descriptor, Span<byte> destination, long offset)
    {
        fixed (byte* buffer = destination)
        {
            return (int)FileCalls.PositionalRead(descriptor, buffer, (nuint)destination.Length, offset);
        }
    }

    private static unsafe int ReadCached(int descriptor, Span<byte> destination, long offset)
    {
        fixed (byte* buffer = destination)
        {
            return (int)FileCalls.PositionalReadCached(descriptor, buffer, (nuint)destination.Length, offset);
        }
    }
}
