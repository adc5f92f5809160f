using System.IO.Pipelines;

namespace Millrace.Engine.Pipes;

/// <summary>A connection as a pair of pipes.</summary>
internal sealed class ConnectionPipe(Connection connection) : IDuplexPipe
{
    public PipeReader Input { get; } = new ConnectionPipeReader(connection);

    public PipeWriter Output { get; } = new ConnectionPipeWriter(connection);
}
