namespace Millrace.Server.AccessLog.Sinks;

/// <summary>Where lines end up. The writer's thread only; a call may wait.</summary>
internal interface ILogSink : IDisposable
{
    /// <summary>For people.</summary>
    string Name { get; }

    /// <summary>Opens it, or opens it anew under its name; 0, or -errno, and then it is as it was before.</summary>
    int Open();

    /// <summary>Whether it could be opened: 0, or -errno. Nothing is made for it, and nothing written.</summary>
    int Try();

    /// <summary>
    /// Writes lines, all whole but for the first, which may be the rest of one that was begun. Gives the bytes that need not be written
    /// again, or -errno where there are none.
    /// </summary>
    int Write(ReadOnlySpan<byte> lines);
}
