using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls;

/// <summary>
/// TLS on one connection, by OpenSSL: decrypts received records and encrypts the batch that is sent. The handler runs after the handshake,
/// which is that of a <see cref="TlsServerFilter"/> or a <see cref="TlsClientFilter"/>. Reactor thread only.
/// </summary>
internal abstract unsafe class TlsFilter(TlsCounters counters, TlsLog log) : ConnectionFilter
{
    private readonly RecordBuffers _buffers = RecordBuffers.OfThread;

    /// <summary>What OpenSSL has sent outside of <see cref="Encode"/>.</summary>
    private OutputBatch? _pending;
    private RecordWriter _writer;
    private EmptyRecordLimiter _emptyRecords;
    private int _countedBytes;

    /// <summary>The protocol negotiated by ALPN; null without ALPN.</summary>
    public string? ApplicationProtocol { get; set; }

    /// <summary>What was agreed on; null before the end of the handshake.</summary>
    public TlsParameters? Parameters { get; private set; }

    public override bool HoldsHandler => true;

    protected TlsPhase Phase { get; set; }

    /// <summary>Null before the handshake has begun, and after a failed one.</summary>
    protected SslConnection? Ssl { get; private set; }

    /// <summary>Managed memory that the handshake holds.</summary>
    protected virtual int HandshakeBytes => 0;

    /// <inheritdoc cref="TlsOptions.AcceptsTruncation"/>
    protected virtual bool AcceptsTruncation => false;

    public TlsSession? DescribeSession() =>
        Phase is TlsPhase.Established or TlsPhase.PeerClosed ? TlsSession.Of(Ssl!.Handle, Parameters!, ApplicationProtocol) : null;

    public override void DeadlineReached()
    {
        if (Phase == TlsPhase.Failed)
        {
            Connection.Ending.EndFromFilter();
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (Phase == TlsPhase.Handshake)
        {
            return HandshakeInputEnded(end);
        }

        if (end != ReceiveEnd.Finished || Phase == TlsPhase.PeerClosed)
        {
            return end;
        }

        // RFC 8446, section 6.1: an end without close_notify is a truncation, whatever caused it.
        if (Phase == TlsPhase.Established)
        {
            counters.Truncated();
            return AcceptsTruncation ? end : ReceiveEnd.Reset;
        }

        return ReceiveEnd.Reset;
    }

    public override void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (_pending is not null)
        {
            foreach (ref readonly IoVector part in _pending.Parts)
            {
                encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
            }

            DropPending();
        }

        Debug.Assert(Phase != TlsPhase.Handshake || plain.Bytes == 0, "The handler is held until the handshake is done.");
        if (plain.Bytes > 0 && Phase is TlsPhase.Established or TlsPhase.PeerClosed
            && !_writer.TryWrite(Ssl!, plain, encoded, _buffers.Outgoing, Connection.Reactor.NowMs))
        {
            // Out of memory. The connection cannot be ended in the middle of its send, so the deadline ends it.
            NoteFailure($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}");
            Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs);
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        if (Phase is TlsPhase.Established or TlsPhase.PeerClosed)
        {
            Ssl!.Shutdown(encoded);
        }
    }

    public override void Release()
    {
        Phase = TlsPhase.Released;
        DropPending();
        FreeSession();
    }

    /// <summary>Sent before the next output: what OpenSSL, or the sealer in its place, sends outside of <see cref="Encode"/>.</summary>
    public OutputBatch Pending => _pending ??= Connection.Reactor.Batches.Rent(Connection);

    /// <summary>OpenSSL sends bytes outside of <see cref="Encode"/>.</summary>
    public void Put(ReadOnlySpan<byte> bytes) => Pending.Write(bytes);

    /// <summary>Charges OpenSSL's memory, as an estimate, and the waiting bytes to the connection.</summary>
    public void CountMemory()
    {
        int bytes = (Ssl?.MemoryBytes ?? 0) + HandshakeBytes;
        Connection.ChargeManaged(bytes - _countedBytes);
        _countedBytes = bytes;
    }

    /// <summary>The peer's input has ended within the handshake.</summary>
    protected abstract ReceiveEnd HandshakeInputEnded(ReceiveEnd end);

    /// <summary>The handshake waits for more input.</summary>
    protected virtual void ContinueHandshake(SslConnection ssl)
    {
    }

    /// <summary>The handshake is complete; returns the phase that follows.</summary>
    protected abstract TlsPhase CompleteHandshake(SslConnection ssl);

    /// <summary>OpenSSL cannot go on: why, for logs.</summary>
    protected virtual string DescribeFailure(OpenSslFailure failure) => failure.ToString();

    /// <summary>The connection fails: the handshake, or afterwards.</summary>
    protected virtual void OnFailure(string reason, bool isHandshake)
    {
    }

    /// <summary>Makes the <c>SSL</c>, not yet in either role.</summary>
    protected SslConnection Create(nint context)
    {
        Ssl = new SslConnection(this, context, _buffers.Cache);
        counters.Made();
        CountMemory();
        return Ssl;
    }

    /// <summary>Processes received bytes as far as possible. Runs the handler, which may end everything.</summary>
    protected void Work(ReadOnlySpan<byte> bytes)
    {
        SslConnection ssl = Ssl!;
        bool wasEstablished = Phase == TlsPhase.Established;
        int reads = 0;
        int records;
        fixed (byte* first = bytes)
        {
            records = ssl.BeginInput(first, bytes.Length);
            try
            {
                if (Phase == TlsPhase.Handshake)
                {
                    DoHandshake(ssl);
                }

                if (Phase == TlsPhase.Established)
                {
                    reads = ReadRecords(ssl);
                }

                if (Phase is TlsPhase.Established or TlsPhase.PeerClosed && records > reads && !ssl.TryAnswerKeyUpdate())
                {
                    Fail(DescribeFailure(OpenSslErrors.Drain()));
                }
            }
            finally
            {
                // Also when the handler has thrown: after the call the memory is no longer valid.
                ssl.EndInput();
            }
        }

        if (Phase == TlsPhase.Established
            && _emptyRecords.RefusalOf(ssl, records - reads, wasEstablished, Connection.Reactor.NowMs) is { } refusal)
        {
            Fail(refusal);
        }
        else if (_pending is not null)
        {
            Connection.Filters.RequestSend();
        }
    }

    /// <summary>Fails the connection: sends what OpenSSL has produced (an alert), then ends it.</summary>
    protected void Fail(string reason)
    {
        bool isHandshake = Phase == TlsPhase.Handshake;
        NoteFailure(reason);
        if (_pending is not null)
        {
            Connection.Filters.RequestSend();
        }

        Connection.Ending.EndFromFilter();
        if (isHandshake)
        {
            // The alert is in the connection's output, and its close may take time.
            FreeSession();
        }
    }

    protected void NoteFailure(string reason)
    {
        bool isHandshake = Phase == TlsPhase.Handshake;
        Phase = TlsPhase.Failed;
        OnFailure(reason, isHandshake);
        if (isHandshake)
        {
            counters.Failed();
            log.HandshakeFailed(reason);
            CountMemory();
        }
        else
        {
            log.SessionFailed(reason);
        }
    }

    private void DoHandshake(SslConnection ssl)
    {
        int error = ssl.DoHandshake();
        if (error == SslConstants.ErrorNone)
        {
            Establish(ssl);
        }
        else if (error == SslConstants.ErrorWantRead)
        {
            ContinueHandshake(ssl);
        }
        else if (error != SslConstants.ErrorWantClientHello)
        {
            Fail(DescribeFailure(OpenSslErrors.Drain()));
        }
    }

    private void Establish(SslConnection ssl)
    {
        Phase = CompleteHandshake(ssl);
        CountMemory();
        Parameters = TlsParameters.Of(ssl.Handle);
        counters.Done(ssl.IsResumed, Parameters);
        if (Phase == TlsPhase.Established)
        {
            StartHandler();
        }
        else
        {
            Connection.Ending.EndFromFilter();
        }
    }

    private int ReadRecords(SslConnection ssl)
    {
        int reads = 0;
        Span<byte> plain = _buffers.Incoming;
        do
        {
            int error = ssl.Read(plain, out int count);
            switch (error)
            {
                case SslConstants.ErrorNone:
                    reads++;
                    PassIn(plain[..count]);
                    break;
                case SslConstants.ErrorWantRead:
                    return reads;
                case SslConstants.ErrorZeroReturn:
                    Phase = TlsPhase.PeerClosed;
                    PassInEnd(ReceiveEnd.Finished);
                    break;
                default:
                    Fail(DescribeFailure(OpenSslErrors.Drain()));
                    break;
            }
        }
        while (Phase == TlsPhase.Established && ssl.HasInput);

        return reads;
    }

    private void FreeSession()
    {
        if (Ssl is not null)
        {
            Ssl.Free();
            Ssl = null;
            counters.Freed();
        }

        CountMemory();
    }

    private void DropPending()
    {
        if (_pending is not null)
        {
            Connection.Reactor.Batches.Return(_pending);
            _pending = null;
        }
    }
}

/// <summary>
/// The phases of a connection's TLS.
/// <code>
/// phase        begins with                                     holds
/// Handshake    the connection                                  what the handshake needs; a server from the ClientHello on an SSL
/// Established  the end of the handshake                        the SSL
/// PeerClosed   the peer's close_notify, a DomainValidation     the SSL; a response may still be sent
/// Failed       an alert, the deadline, an end too early        the SSL, unless the handshake failed
/// Released     the end of the connection                       nothing
/// </code>
/// </summary>
internal enum TlsPhase : byte
{
    Handshake,
    Established,
    PeerClosed,
    Failed,
    Released,
}
