using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Reads from a descriptor that many share, at a position. On a thread of the pool at once, as everybody's file reads end up there; any
/// other may be a reactor's, with connections that must not wait for a disk: that one takes what the page cache has, the pool the rest.
/// </summary>
internal static class FileBlock
{
    /// <summary>The bytes read, which may be fewer than asked for and are 0 at the end of the file, or -errno.</summary>
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

    /// <summary>Reads until there is no more room, or no more of the file.</summary>
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
