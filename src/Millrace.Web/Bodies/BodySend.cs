using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// Sends an asset's answer by the asset's strategy: the head and, where no wait is needed, the body at once (<see cref="Begin"/>);
/// the rest by <see cref="RunAsync"/>. While one is pending it holds a lease on the asset's snapshot.
/// </summary>
internal struct BodySend
{
    /// <summary>
    /// Bodies up to here are copied behind their head: a copy is cheaper than a second part of a send (at 10 KB 0.13 against
    /// 0.5 us on this project's machines), and needs no lease.
    /// </summary>
    public const int CopiedBytesMax = 16 * 1024;

    private BodyStrategy _strategy;
    private SnapshotLease _lease;
    private Asset? _asset;
    private nint _headLines;
    private int _headBytes;

    public readonly bool IsPending => _asset is not null;

    /// <summary>Writes the head, and the body where it is in memory and small.</summary>
    public static unsafe BodySend Begin(
        Connection connection, Workbench bench, CatalogSnapshot snapshot, Asset asset, ReadOnlySpan<byte> connectionLine, bool includesBody)
    {
        byte[] lines = AssetHead.Of(asset);
        bool isCopied = includesBody && asset.Strategy == BodyStrategy.Baked && asset.Size <= CopiedBytesMax;
        int bodyBytes = isCopied ? (int)asset.Size : 0;
        int headBytes = lines.Length + DateField.LineBytes + connectionLine.Length + 2;

        Span<byte> room = connection.GetSpan(headBytes + bodyBytes);
        nint address = (nint)Unsafe.AsPointer(ref room[0]);
        lines.CopyTo(room);
        bench.DateLine.CopyTo(room[lines.Length..]);
        connectionLine.CopyTo(room[(lines.Length + DateField.LineBytes)..]);
        "\r\n"u8.CopyTo(room[(headBytes - 2)..]);
        if (isCopied)
        {
            asset.BakedBody.CopyTo(room[headBytes..]);
        }

        connection.Advance(headBytes + bodyBytes);
        if (!includesBody || isCopied || asset.Size == 0)
        {
            return default;
        }

        return new BodySend
        {
            _strategy = asset.Strategy,
            _asset = asset,
            _lease = bench.Lease(snapshot),
            _headLines = address,
            _headBytes = lines.Length,
        };
    }

    /// <summary>Sends the rest. False when the connection is done for.</summary>
    public ValueTask<bool> RunAsync(Connection connection)
    {
        Debug.Assert(IsPending);
        BodySend send = this;
        this = default;
        return send._strategy switch
        {
            BodyStrategy.Baked => BakedBody.SendAsync(connection, send._lease, send._asset!),
            BodyStrategy.Ring => RingBody.SendAsync(connection, send._lease, send._asset!, send._headLines, send._headBytes),
            _ => StreamBody.SendAsync(connection, send._lease, send._asset!),
        };
    }
}
