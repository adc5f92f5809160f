namespace Millrace.Server.AccessLog.Sinks;

/// <summary>A destination of lines. Only the writer's thread uses it; calls may block.</summary>
internal interface ILogSink : IDisposable
{
    /// <summary>The name for messages.</summary>
    string Name { get; }

    /// <summary>Opens or reopens the destination; 0, or -errno with the previous state kept.</summary>
    int Open();

    /// <summary>Checks whether it can be opened: 0, or -errno. Creates and writes nothing.</summary>
    int Try();

    /// <summary>
    /// Writes lines; all are whole, except that the first may be the remainder of a line that was partly written. Returns the number of
    /// bytes written, or -errno if none were.
    /// </summary>
    int Write(ReadOnlySpan<byte> lines);
}
