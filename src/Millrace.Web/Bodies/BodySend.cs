using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// Sends an asset's answer by the asset's strategy: the head and, where no wait is needed, the body at once (<see cref="Begin"/>);
/// the rest by <see cref="RunAsync"/>, which owns the body's source while it is pending.
/// </summary>
internal struct BodySend
{
    /// <summary>
    /// Bodies up to here are copied behind their head: a copy is cheaper than a second part of a send (at 10 KB 0.13 against
    /// 0.5 us on this project's machines).
    /// </summary>
    public const int CopiedBytesMax = 16 * 1024;

    private BodySource _source;
    private nint _headLines;
    private int _headLinesBytes;

    public bool IsPending { get; private set; }

    /// <summary>Writes the head, and the body where it is in memory and small. Takes the source over.</summary>
    public static unsafe BodySend Begin(
        Connection connection, in BodySource source, ReadOnlySpan<byte> dateLine, ReadOnlySpan<byte> connectionLine, bool includesBody)
    {
        byte[] lines = AssetHead.Of(source.Asset, source.Size);
        bool isCopied = includesBody && source.Asset.Strategy == BodyStrategy.Baked && source.Size <= CopiedBytesMax;
        int bodyBytes = isCopied ? (int)source.Size : 0;
        int headBytes = lines.Length + dateLine.Length + connectionLine.Length + 2;

        Span<byte> room = connection.GetSpan(headBytes + bodyBytes);
        lines.CopyTo(room);
        dateLine.CopyTo(room[lines.Length..]);
        connectionLine.CopyTo(room[(lines.Length + dateLine.Length)..]);
        "\r\n"u8.CopyTo(room[(headBytes - 2)..]);
        if (isCopied)
        {
            source.Asset.BakedBody.CopyTo(room[headBytes..]);
        }

        connection.Advance(headBytes + bodyBytes);
        if (!includesBody || isCopied || source.Size == 0)
        {
            source.Close();
            return default;
        }

        // Native memory of the connection's output: it stays where it is until it is flushed.
        nint headLines = (nint)Unsafe.AsPointer(ref room[0]);
        return new BodySend { IsPending = true, _source = source, _headLines = headLines, _headLinesBytes = lines.Length };
    }

    /// <summary>Sends the rest. False when the connection is done for.</summary>
    public ValueTask<bool> RunAsync(Connection connection)
    {
        Debug.Assert(IsPending);
        IsPending = false;
        return _source.Asset.Strategy switch
        {
            BodyStrategy.Baked => BakedBody.SendAsync(connection, _source),
            BodyStrategy.Ring when _source.Size <= StreamBody.ChunkBytes =>
                RingBody.SendAsync(connection, _source, _headLines, _headLinesBytes),
            _ => StreamBody.SendAsync(connection, _source),
        };
    }
}
