using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;

namespace Millrace.Engine.Tests.Filters;

/// <summary>Changes nothing, but hands the first byte in alone.</summary>
internal sealed class SplittingFilter : ConnectionFilter
{
    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        PassIn(bytes[..1]);
        PassIn(bytes[1..]);
    }

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        foreach (ref readonly Interop.Sockets.IoVector part in plain.Parts)
        {
            encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }
    }
}
