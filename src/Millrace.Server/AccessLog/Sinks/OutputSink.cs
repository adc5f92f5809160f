using Millrace.Interop.Files;

namespace Millrace.Server.AccessLog.Sinks;

/// <summary>Standard output. A slow reader delays only the writer's thread.</summary>
internal sealed class OutputSink : ILogSink
{
    private const int StandardOutput = 1;

    public string Name => "standard output";

    public int Open() => 0;

    public int Try() => 0;

    public int Write(ReadOnlySpan<byte> lines) => (int)FileCalls.Write(StandardOutput, lines);

    public void Dispose()
    {
        // The process owns it.
    }
}
