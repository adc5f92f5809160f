using Millrace.Engine;
using Millrace.Engine.Buffers;

namespace Millrace.Web.Http1;

/// <summary>An answer in one piece. Its memory is written anew only while no send reads it. Reactor thread only.</summary>
internal sealed class AnswerImage(int bytesMax)
{
    private readonly SharedBlock _block = new(bytesMax);

    public int HeadBytes { get; private set; }

    public int Bytes { get; private set; }

    public bool IsWritten => Bytes > 0;

    /// <summary>Where to write it.</summary>
    public Span<byte> Room => _block.Span;

    /// <summary>Whether no send reads it.</summary>
    public bool IsOwn => _block.IsOwn;

    /// <summary>It is all there.</summary>
    public void Finish(int headBytes, int bodyBytes)
    {
        HeadBytes = headBytes;
        Bytes = headBytes + bodyBytes;
    }

    public void SendOn(Connection connection) => connection.WriteShared(_block, Bytes);

    /// <summary>What it says is true no more. Who sends it still does.</summary>
    public void Expire() => HeadBytes = Bytes = 0;

    public void Release() => _block.Release();
}
