using Millrace.Interop.Files;

namespace Millrace.Server.AccessLog.Sinks;

/// <summary>The standard output, whatever that is. Whoever reads it too slowly holds up the writer, and nobody else.</summary>
internal sealed class OutputSink : ILogSink
{
    private const int StandardOutput = 1;

    public string Name => "the standard output";

    public int Open() => 0;

    public int Try() => 0;

    public int Write(ReadOnlySpan<byte> lines) => (int)FileCalls.Write(StandardOutput, lines);

    public void Dispose()
    {
        // It is the process's.
    }
}
