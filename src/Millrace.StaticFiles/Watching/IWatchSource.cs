using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// The source of change records: the kernel, or a test double that injects faults. One thread waits and reads; any thread may add and
/// remove, but not after <see cref="IDisposable.Dispose"/>.
/// </summary>
internal interface IWatchSource : IDisposable
{
    /// <summary>Adds a watch; the same directory gives the same watch. The watch or -errno.</summary>
    int Add(int directoryFd, WatchMask mask);

    void Remove(int watch);

    /// <summary>Waits for records, for <see cref="Wake"/>, or for the timeout (a negative one is infinite).</summary>
    void Wait(int timeoutMs);

    /// <summary>Waits for the duration or for <see cref="Wake"/>; records queue up meanwhile.</summary>
    void Pause(int durationMs);

    /// <summary>Ends a wait or a pause, the current one or the next. Any thread.</summary>
    void Wake();

    /// <summary>Reads the available records: their bytes, 0 if there are none.</summary>
    int Read(Span<byte> records);
}
