using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>Changes nothing, in memory of the connection's own, as TLS has it.</summary>
/// <param name="failsFrom">It has no memory for so many bytes or more.</param>
internal sealed class CopyFilter(long failsFrom) : ConnectionFilter
{
    public override void Receive(ReadOnlySpan<byte> bytes) => PassIn(bytes.ToArray());

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (plain.Bytes >= failsFrom)
        {
            throw new InsufficientMemoryException("There is no memory, as the test wants it.");
        }

        foreach (ref readonly IoVector part in plain.Parts)
        {
            encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }
    }
}
