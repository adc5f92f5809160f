using System.IO.Pipelines;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>One side's ends of a connection's two pipes.</summary>
internal sealed class DuplexPipe(PipeReader input, PipeWriter output) : IDuplexPipe
{
    public PipeReader Input { get; } = input;

    public PipeWriter Output { get; } = output;
}
