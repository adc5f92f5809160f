using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>The kernel's inotify, which refuses the watches that a test says.</summary>
internal sealed class FaultySource : IWatchSource
{
    private readonly ConcurrentQueue<InotifyEvent> _injected = new();
    private readonly Inotify _inotify;

    public FaultySource()
    {
        Assert.Equal(0, Inotify.TryCreate(out Inotify? inotify, out _));
        _inotify = inotify!;
    }

    /// <summary>The error for a directory by its full path, 0 to let it be watched.</summary>
    public Func<string, int> ErrorFor { get; set; } = _ => 0;

    /// <summary>What the next read throws.</summary>
    public Exception? ReadFault { get; set; }

    public int ReadCount { get; private set; }

    public bool IsDisposed { get; private set; }

    public int Add(int directoryFd, WatchMask mask)
    {
        int error = ErrorFor(TestCalls.TryReadLink($"/proc/self/fd/{directoryFd}")!);
        return error == 0 ? _inotify.Add(directoryFd, mask) : -error;
    }

    public void Remove(int watch) => _inotify.Remove(watch);

    public void Wait(int timeoutMs) => _inotify.Wait(timeoutMs);

    public void Pause(int durationMs) => _inotify.Pause(durationMs);

    public void Wake() => _inotify.Wake();

    public int Read(Span<byte> records)
    {
        ReadCount++;
        if (ReadFault is not null)
        {
            throw ReadFault;
        }

        if (!_injected.TryDequeue(out InotifyEvent injected))
        {
            return _inotify.Read(records);
        }

        MemoryMarshal.Write(records, injected);
        return Unsafe.SizeOf<InotifyEvent>();
    }

    /// <summary>Has this record read next.</summary>
    public void Inject(InotifyEvent record)
    {
        _injected.Enqueue(record);
        Wake();
    }

    public void Dispose()
    {
        Assert.False(IsDisposed);
        IsDisposed = true;
        _inotify.Dispose();
    }
}
