using System.Buffers.Text;
using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// The kernel's view of a thread (<c>/proc/self/task/TID/stat</c>): a thread that is runnable without a processor is not blocked by its
/// code, and no other thread could help. Some microseconds a sample. The watchdog's thread.
/// </summary>
internal sealed class ThreadInspector(Reactor reactor) : IDisposable
{
    /// <summary>USER_HZ, which the kernel's interface has fixed for all architectures but Alpha.</summary>
    private const int TickMs = 10;

    /// <summary>Fields after the name: state is the first, utime and stime the 12th and 13th (proc_pid_stat(5), 3, 14 and 15).</summary>
    private const int UserTicksField = 11;
    private const int SystemTicksField = 12;

    /// <summary>Opened with the first sample; the kernel generates its content for each read from the beginning.</summary>
    private SafeFileHandle? _file;

    /// <summary>
    /// Without data from the kernel the thread counts as waiting: time then counts by the clock.
    /// </summary>
    public ThreadSample Sample()
    {
        Span<byte> text = stackalloc byte[1024];
        TimeSpan pausesBefore = GC.GetTotalPauseDuration();
        try
        {
            _file ??= File.OpenHandle(string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{reactor.ThreadId}/stat"));
            ThreadSample sample = Parse(text[..RandomAccess.Read(_file, text, fileOffset: 0)]);
            // A collection would also have stopped the sampling thread, but not within the kernel.
            return sample with { IsKnown = GC.GetTotalPauseDuration() == pausesBefore };
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            Dispose();
            return default;
        }
    }

    public void Dispose()
    {
        _file?.Dispose();
        _file = null;
    }

    internal static ThreadSample Parse(ReadOnlySpan<byte> stat)
    {
        // The name may contain anything, blanks and parentheses included; the fields after it do not.
        ReadOnlySpan<byte> fields = stat[(stat.LastIndexOf((byte)')') + 1)..].TrimStart((byte)' ');
        long ticks = 0;
        int index = 0;
        foreach (Range range in fields.Split((byte)' '))
        {
            if (index++ is UserTicksField or SystemTicksField && Utf8Parser.TryParse(fields[range], out long value, out _))
            {
                ticks += value;
            }
        }

        return new ThreadSample(fields.Length > 0 && fields[0] == (byte)'R', ticks * TickMs);
    }
}

/// <summary>
/// A sample of a thread: whether it is runnable, and its processor time so far. Not known where the kernel has no data, or where the
/// runtime may have suspended the thread meanwhile.
/// </summary>
internal readonly record struct ThreadSample(bool IsRunnable, long RanMs, bool IsKnown = true);
