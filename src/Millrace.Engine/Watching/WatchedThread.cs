using System.Buffers.Text;
using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace Millrace.Engine.Watching;

/// <summary>
/// What the kernel says of a thread (<c>/proc/self/task/TID/stat</c>): one that computes and gets no processor is not held up by its code,
/// and there is nothing that others could do about it. Some ten microseconds a look. The watch's thread.
/// </summary>
internal sealed class WatchedThread(Reactor reactor)
{
    /// <summary>USER_HZ, which the kernel's interface has fixed for all architectures but Alpha.</summary>
    private const int TickMs = 10;

    /// <summary>Fields behind the name: state is the first, utime and stime the 12th and 13th (proc_pid_stat(5), 3, 14 and 15).</summary>
    private const int UserTicksField = 11;

    /// <summary>
    /// Where the kernel does not say, it is taken for one that waits: time then counts by the clock.
    /// </summary>
    public ThreadSight Look()
    {
        Span<byte> text = stackalloc byte[1024];
        try
        {
            string path = string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{reactor.ThreadId}/stat");
            using SafeFileHandle file = File.OpenHandle(path);
            return Parse(text[..RandomAccess.Read(file, text, fileOffset: 0)]);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return default;
        }
    }

    internal static ThreadSight Parse(ReadOnlySpan<byte> stat)
    {
        // The name may hold anything, blanks and parentheses too, but nothing behind it does.
        ReadOnlySpan<byte> fields = stat[(stat.LastIndexOf((byte)')') + 1)..].TrimStart((byte)' ');
        long ticks = 0;
        int index = 0;
        foreach (Range range in fields.Split((byte)' '))
        {
            if (index >= UserTicksField && Utf8Parser.TryParse(fields[range], out long value, out _))
            {
                ticks += value;
            }

            if (index++ == UserTicksField + 1)
            {
                break;
            }
        }

        return new ThreadSight(fields.Length > 0 && fields[0] == (byte)'R', ticks * TickMs);
    }
}
