using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Where records of changes come from: the kernel, or the kernel with a fault of a test's in front. One thread waits and reads; adding
/// and removing may come from any, but not after <see cref="IDisposable.Dispose"/>.
/// </summary>
internal interface IWatchSource : IDisposable
{
    /// <summary>The watch of a directory, the same one for the same directory; or -errno.</summary>
    int Add(int directoryFd, WatchMask mask);

    void Remove(int watch);

    /// <summary>Waits for records, for <see cref="Wake"/>, or for the time to be over (never where it is negative).</summary>
    void Wait(int timeoutMs);

    /// <summary>Waits for the time to be over, or for <see cref="Wake"/>; records may gather meanwhile.</summary>
    void Rest(int durationMs);

    /// <summary>Ends a wait or a rest, this one or the next. Any thread.</summary>
    void Wake();

    /// <summary>The bytes of the records there are, 0 where there are none.</summary>
    int Read(Span<byte> records);
}
