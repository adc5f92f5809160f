using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>Changes nothing, in memory of the connection's own, as TLS has it.</summary>
internal sealed class CopyFilter : ConnectionFilter
{
    public override void Receive(ReadOnlySpan<byte> bytes) => PassIn(bytes.ToArray());

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        foreach (ref readonly IoVector part in plain.Parts)
        {
            encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }
    }
}
