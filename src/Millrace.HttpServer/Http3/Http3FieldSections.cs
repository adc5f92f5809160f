using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Decodes the field sections of one connection (RFC 9204), within limits on what they cost, and has the client's encoder informed. Reactor
/// thread only.
/// </summary>
internal sealed class Http3FieldSections(
    QuicServerConnection connection, SessionReactorState reactorState, Http3ServerStreams serverStreams)
{
    private readonly QpackDecoder _decoder = new(reactorState.Limits.Http3.TableBytesMax, reactorState.Limits.Http3.BlockedStreamsMax);
    private bool _holdsTable;
    private bool _isOutputFull;

    /// <summary>The sum of what field sections exceeded the largest head by.</summary>
    private long _oversizedBytes;

    /// <summary>
    /// Decodes a section. References to one large entry can expand a section of a few bytes to megabytes. The excess over the largest head
    /// is summed over the connection and ends it after <see cref="Http3Limits.OversizedHeadsMax"/> heads.
    /// </summary>
    public QpackResult Decode(long streamId, ReadOnlySpan<byte> section, IHpackSink sink)
    {
        long headBytesMax = reactorState.HeadLimits.HeadBytesMax;
        long most = headBytesMax + (reactorState.Limits.Http3.OversizedHeadsMax * headBytesMax) - _oversizedBytes;
        QpackResult result = _decoder.Decode(streamId, section, ScratchFor(section.Length), sink, most);
        _oversizedBytes += Math.Max(0, _decoder.DecodedBytes - headBytesMax);
        return result;
    }

    /// <summary>Takes bytes of the client's encoder stream.</summary>
    public QpackResult ReadInstructions(ReadOnlySpan<byte> bytes)
    {
        HoldTable();
        return _decoder.ReadInstructions(bytes, ScratchFor(0));
    }

    /// <summary>The next stream whose section can be decoded now.</summary>
    public bool TryTakeUnblocked(out long streamId) => _decoder.TryTakeUnblocked(out streamId);

    /// <summary>The sections of a stream that were not decoded will not be. <see cref="WriteOutput"/> reports a failure.</summary>
    public void Cancel(long streamId) => _isOutputFull |= _decoder.Cancel(streamId) != QpackResult.Ok;

    /// <summary>Writes what the client's encoder is to know, at the end of a callback.</summary>
    public QpackResult WriteOutput()
    {
        QpackResult result = _decoder.AcknowledgeInsertions();
        serverStreams.WriteInstructions(_decoder);
        return _isOutputFull ? QpackResult.OutputFull : result;
    }

    /// <summary>Releases everything at the end of the session.</summary>
    public void Release()
    {
        connection.Holdings.ChargeManaged(_holdsTable ? -TableBytes : 0);
        _holdsTable = false;
    }

    /// <summary>The memory of the table, including its index.</summary>
    private int TableBytes => 2 * reactorState.Limits.Http3.TableBytesMax;

    private Span<byte> ScratchFor(int sectionBytes) =>
        reactorState.Http3.ScratchFor(QpackDecoder.ScratchBytes(reactorState.Limits.Http3.TableBytesMax, sectionBytes));

    /// <summary>Accounts the table from the client's first instruction on: without one, it has no entries.</summary>
    private void HoldTable()
    {
        if (!_holdsTable)
        {
            _holdsTable = true;
            connection.Holdings.ChargeManaged(TableBytes);
        }
    }
}
