using Millrace.Engine;
using Millrace.Engine.Buffers;

namespace Millrace.HttpServer.Http1;

/// <summary>A whole response in one block. The block is rewritten only while no send reads it. Reactor thread only.</summary>
internal sealed class CachedResponse(int bytesMax)
{
    private readonly SharedBlock _block = new(bytesMax);

    public int HeadBytes { get; private set; }

    public int Bytes { get; private set; }

    public bool IsWritten => Bytes > 0;

    /// <summary>The memory to write the response to.</summary>
    public Span<byte> Room => _block.Span;

    /// <summary>Whether no send reads the memory.</summary>
    public bool IsExclusive => _block.IsOwn;

    /// <summary>Marks the response as complete.</summary>
    public void Finish(int headBytes, int bodyBytes)
    {
        HeadBytes = headBytes;
        Bytes = headBytes + bodyBytes;
    }

    public void SendOn(Connection connection) => connection.WriteShared(_block, Bytes);

    /// <summary>Marks the content as outdated. Sends that have begun still read it.</summary>
    public void Expire() => HeadBytes = Bytes = 0;

    public void Release() => _block.Release();
}
