using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Filters;

/// <summary>The poor man's TLS.</summary>
internal sealed class XorFilter : ConnectionFilter
{
    public const byte Mask = 0x5A;

    public bool IsReleased { get; private set; }

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        byte[] plain = bytes.ToArray();
        for (int i = 0; i < plain.Length; i++)
        {
            plain[i] ^= Mask;
        }

        PassIn(plain);
    }

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        foreach (ref readonly IoVector part in plain.Parts)
        {
            byte[] bytes = new ReadOnlySpan<byte>(part.Address, (int)part.Bytes).ToArray();
            for (int i = 0; i < bytes.Length; i++)
            {
                bytes[i] ^= Mask;
            }

            encoded.Write(bytes);
        }
    }

    public override void EncodeEnd(OutputBatch encoded) => encoded.Write("bye"u8);

    public override void Release()
    {
        Assert.False(IsReleased);
        IsReleased = true;
    }
}
