using Millrace.Quic.Frames;

namespace Millrace.Quic.Streams;

/// <summary>The states of RFC 9000, section 3.2.</summary>
internal enum ReceiveState : byte
{
    /// <summary>There is no receiving side: the stream is unidirectional, and this end's.</summary>
    None,
    Recv,
    SizeKnown,
    DataRecvd,
    ResetRecvd,
    DataRead,
    ResetRead,
}

/// <summary>
/// The receiving side of a stream (RFC 9000, section 3.2): what arrived and was not read, this end's window, and how the peer ends the
/// stream. Errors of the peer are returned. One thread.
/// </summary>
internal sealed class ReceiveStream(BlockPool pool)
{
    private const long SizeUnknown = -1;

    private ReceiveWindow _window;
    private long _finalSize = SizeUnknown;

    public ReceiveState State { get; private set; }

    public ReassemblyBuffer Buffer { get; } = new(pool);

    /// <summary>The limit that the peer knows.</summary>
    public long Limit => _window.Limit;

    public long WindowSize => _window.Size;

    /// <summary>The application has asked the peer to stop; what arrives is dropped.</summary>
    public bool IsStopped { get; private set; }

    public long StopCode { get; private set; }

    public long ResetCode { get; private set; }

    /// <summary>Whether the peer should be given a higher limit.</summary>
    public bool IsUpdateDue => State == ReceiveState.Recv && !IsStopped && _window.IsUpdateDue;

    /// <summary>Whether the peer needs to know the limit of this stream.</summary>
    public bool IsLimitOfUse => State == ReceiveState.Recv && !IsStopped;

    /// <summary>Whether a STOP_SENDING would be of use (RFC 9000, section 3.5).</summary>
    public bool IsStopOfUse => IsStopped && State is ReceiveState.Recv or ReceiveState.SizeKnown;

    /// <summary>The application has read all, or learned of the reset.</summary>
    public bool IsTerminal => State is ReceiveState.None or ReceiveState.DataRead or ReceiveState.ResetRead;

    public void Open(long window, long windowMax)
    {
        _window = new ReceiveWindow(window, windowMax);
        State = ReceiveState.Recv;
    }

    /// <summary>For another stream.</summary>
    public void Reset()
    {
        Buffer.Reset();
        _window = default;
        _finalSize = SizeUnknown;
        State = ReceiveState.None;
        IsStopped = false;
        StopCode = ResetCode = 0;
    }

    /// <summary>
    /// Takes a STREAM frame. <paramref name="isReadable"/>: there is more to read than before, or the end.
    /// </summary>
    public QuicError? Receive(long offset, ReadOnlySpan<byte> bytes, bool fin, ref ReceiveWindow connection, out bool isReadable)
    {
        isReadable = false;
        long end = offset + bytes.Length;
        QuicError? error = Count(end, fin, FrameType.Stream, ref connection);
        if (error is not null || State is not (ReceiveState.Recv or ReceiveState.SizeKnown))
        {
            return error;
        }

        if (fin)
        {
            State = ReceiveState.SizeKnown;
        }

        if (IsStopped)
        {
            Discard(ref connection);
            return null;
        }

        long before = Buffer.ReadableEnd;
        if (!Buffer.TryInsert(offset, bytes))
        {
            return new QuicError(TransportErrorCode.InternalError, "too many gaps", FrameType.Stream);
        }

        isReadable = Buffer.ReadableEnd > before;
        if (Buffer.ReadableEnd == _finalSize)
        {
            State = ReceiveState.DataRecvd;
            isReadable = true;
            EndIfRead();
        }

        return null;
    }

    /// <summary>Takes a RESET_STREAM frame. <paramref name="isReset"/>: the application is to be informed.</summary>
    public QuicError? ReceiveReset(long code, long finalSize, ref ReceiveWindow connection, out bool isReset)
    {
        isReset = false;
        QuicError? error = Count(finalSize, true, FrameType.ResetStream, ref connection);
        if (error is not null || State is not (ReceiveState.Recv or ReceiveState.SizeKnown))
        {
            return error;
        }

        Buffer.Clear();
        Discard(ref connection);
        State = IsStopped ? ReceiveState.ResetRead : ReceiveState.ResetRecvd;
        ResetCode = code;
        isReset = !IsStopped;
        return null;
    }

    /// <summary>The application has learned of the reset.</summary>
    public void OnResetRead() => State = State == ReceiveState.ResetRecvd ? ReceiveState.ResetRead : State;

    /// <summary>
    /// The next bytes, valid until they are consumed. False: none now; <see cref="IsTerminal"/> says whether more may come.
    /// </summary>
    public bool TryRead(out ReadOnlySpan<byte> bytes) => Buffer.TryRead(out bytes);

    public void Consume(long count, ref ReceiveWindow connection)
    {
        Buffer.Consume(count);
        _window.Consume(count);
        connection.Consume(count);
        EndIfRead();
    }

    /// <summary>
    /// The application will not read further: drops what is there and what comes. False: there is nothing to stop, as all has arrived or
    /// was stopped before.
    /// </summary>
    public bool TryStop(long code, ref ReceiveWindow connection)
    {
        if (IsStopped || State is not (ReceiveState.Recv or ReceiveState.SizeKnown or ReceiveState.DataRecvd))
        {
            return false;
        }

        IsStopped = true;
        StopCode = code;
        bool isOfUse = State != ReceiveState.DataRecvd;
        Buffer.Clear();
        Discard(ref connection);
        return isOfUse;
    }

    public void UpdateLimit(long now, long smoothedRtt) => _window.Update(now, smoothedRtt);

    /// <summary>Flow control and final size, the same for all frames that reach an offset (RFC 9000, sections 4.1 and 4.5).</summary>
    private QuicError? Count(long end, bool isFinal, FrameType type, ref ReceiveWindow connection)
    {
        if (_finalSize != SizeUnknown && (end > _finalSize || (isFinal && end != _finalSize)))
        {
            return new QuicError(TransportErrorCode.FinalSizeError, "the final size changed", type);
        }

        if (isFinal && end < _window.Received)
        {
            return new QuicError(TransportErrorCode.FinalSizeError, "bytes beyond the final size were received", type);
        }

        long increase = Math.Max(0, end - _window.Received);
        if (!_window.TryReceive(increase) || !connection.TryReceive(increase))
        {
            return new QuicError(TransportErrorCode.FlowControlError, "beyond the limit of flow control", type);
        }

        _finalSize = isFinal ? end : _finalSize;
        return null;
    }

    /// <summary>Gives the connection's window back what will not be read.</summary>
    private void Discard(ref ReceiveWindow connection)
    {
        long unread = _window.Received - _window.Consumed;
        _window.Consume(unread);
        connection.Consume(unread);
        if (IsStopped && _finalSize != SizeUnknown)
        {
            State = ReceiveState.DataRead;
        }
    }

    private void EndIfRead()
    {
        if (State == ReceiveState.DataRecvd && Buffer.Start == _finalSize)
        {
            State = ReceiveState.DataRead;
        }
    }
}
