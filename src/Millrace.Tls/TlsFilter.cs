using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls;

/// <summary>
/// TLS on one connection, by OpenSSL: decrypts received records and encrypts the batch that is sent. The handler runs after the handshake.
/// Reactor thread only.
/// </summary>
/// <remarks>
/// <code>
/// phase        begins with                                     holds
/// Handshake    the connection                                  Handshake; from the ClientHello on _ssl
/// Established  the end of the handshake                        _ssl
/// PeerClosed   the peer's close_notify, a DomainValidation     _ssl; a response may still be sent
/// Failed       an alert, the deadline, an end too early        _ssl, unless the handshake failed
/// Released     the end of the connection                       nothing
/// </code>
/// </remarks>
internal sealed unsafe class TlsFilter : ConnectionFilter
{
    private readonly TlsReactorState _reactorState;
    private SslConnection? _ssl;
    private Phase _phase;

    /// <summary>What OpenSSL has sent outside of <see cref="Encode"/>.</summary>
    private OutputBatch? _pending;
    private RecordWriter _writer;
    private EmptyRecordLimiter _emptyRecords;
    private int _countedBytes;

    public TlsFilter(TlsTerminator terminator, Connection connection)
    {
        terminator.Hold();
        Terminator = terminator;
        _reactorState = terminator.ReactorStateOf(connection.Reactor);
        Handshake = new Handshake(this, terminator, _reactorState);
        connection.Timers.SetFilterDeadline(connection.Reactor.NowMs + (Handshake.HasQuota ? terminator.HandshakeMs : 0));
    }

    private enum Phase : byte
    {
        Handshake,
        Established,
        PeerClosed,
        Failed,
        Released,
    }

    public TlsTerminator Terminator { get; }

    /// <summary>The protocol negotiated by ALPN; null without ALPN.</summary>
    public string? ApplicationProtocol { get; set; }

    /// <summary>The hosts of the certificate that the client was given; null before the client's ClientHello.</summary>
    public CertificateNames? CertificateNames { get; set; }

    /// <summary>Null once the handshake is complete.</summary>
    public Handshake? Handshake { get; private set; }

    /// <summary>What was agreed on; null before the end of the handshake.</summary>
    public TlsParameters? Parameters { get; private set; }

    public ClientAddress? Client =>
        Connection.KeepRemoteEndPoint() is IPEndPoint client ? ClientAddress.Of(SocketEndPoint.Encode(client)) : null;

    public override bool HoldsHandler => true;

    public TlsSession? DescribeSession() =>
        _phase is Phase.Established or Phase.PeerClosed ? TlsSession.Of(_ssl!.Handle, Parameters!, ApplicationProtocol) : null;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (_phase == Phase.Established)
        {
            Work(bytes);
        }
        else if (_phase == Phase.Handshake && Handshake!.HasQuota && PassesInspection(bytes))
        {
            if (Handshake.Input.IsEmpty && Handshake.Input.AllowsStep(bytes) && _reactorState.Scheduler.IsFree)
            {
                MakeStep(bytes);
            }
            else
            {
                Keep(bytes);
            }
        }
    }

    public void RunDeferredStep()
    {
        if (Handshake is null)
        {
            return;
        }

        Handshake.IsDeferred = false;
        if (_phase == Phase.Handshake && Connection.Phase == ConnectionPhase.Serving)
        {
            Connection.Filters.Continue(this);
        }
    }

    public override void Continue()
    {
        Handshake handshake = Handshake!;
        MakeStep(handshake.Input.Take());
        if (handshake.HasInputEnded && _phase is Phase.Handshake or Phase.Established)
        {
            PassInEnd(ReceiveEnded(ReceiveEnd.Finished));
        }
    }

    /// <summary>Ends the handshake soon: its client has too many half-open ones.</summary>
    public void Evict()
    {
        Handshake!.IsEvicted = true;
        Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs);
    }

    public override void DeadlineReached()
    {
        if (_phase == Phase.Handshake)
        {
            Fail(Handshake!.ReasonForDeadline);
        }
        else if (_phase == Phase.Failed)
        {
            Connection.Ending.EndFromFilter();
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (end != ReceiveEnd.Finished || _phase == Phase.PeerClosed)
        {
            return end;
        }

        if (Handshake is { IsDeferred: true })
        {
            Handshake.HasInputEnded = true;
            return ReceiveEnd.None;
        }

        // RFC 8446, section 6.1: an end without close_notify is a truncation, whatever caused it.
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }
        else if (_phase == Phase.Established)
        {
            Terminator.Counters.Truncated();
            return Terminator.AcceptsTruncation ? end : ReceiveEnd.Reset;
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

        Debug.Assert(_phase != Phase.Handshake || plain.Bytes == 0, "The handler is held until the handshake is done.");
        if (plain.Bytes > 0 && _phase is Phase.Established or Phase.PeerClosed
            && !_writer.TryWrite(_ssl!, plain, encoded, _reactorState.Scratch.Outgoing, Connection.Reactor.NowMs))
        {
            // Out of memory. The connection cannot be ended in the middle of its send, so the deadline ends it.
            NoteFailure($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}");
            Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs);
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        if (_phase is Phase.Established or Phase.PeerClosed)
        {
            _ssl!.Shutdown(encoded);
        }
    }

    public override void Release()
    {
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }

        _phase = Phase.Released;
        Handshake?.End();
        Handshake = null;
        DropPending();
        FreeSession();
        Terminator.Release();
    }

    /// <summary>OpenSSL sends bytes outside of <see cref="Encode"/>.</summary>
    public void Put(ReadOnlySpan<byte> bytes) => (_pending ??= Connection.Reactor.Batches.Rent(Connection)).Write(bytes);

    /// <summary>Charges OpenSSL's memory, as an estimate, and the waiting bytes to the connection.</summary>
    public void CountMemory()
    {
        int bytes = (_ssl?.MemoryBytes ?? 0) + (Handshake?.Input.HeldBytes ?? 0);
        Connection.ChargeManaged(bytes - _countedBytes);
        _countedBytes = bytes;
    }

    private bool PassesInspection(ReadOnlySpan<byte> bytes)
    {
        switch (Handshake!.Input.Inspect(bytes))
        {
            case ClientHelloResult.PlainText:
                Put(ClientHelloInspector.PlainHttpResponse);
                Fail("the client did not send TLS");
                break;
            case ClientHelloResult.TooLong:
                Fail("its ClientHello is too long");
                break;
        }

        return _phase == Phase.Handshake;
    }

    /// <summary>Keeps bytes that allow no step, or that arrive before or while the step is deferred.</summary>
    private void Keep(ReadOnlySpan<byte> bytes)
    {
        Handshake handshake = Handshake!;
        if (!handshake.Input.HasRoomFor(bytes.Length))
        {
            // After its last handshake message a client may send any amount of data, in TLS 1.3 before it has received our last flight; the
            // step is cheap then. Its position in the queue is of no use any more.
            handshake.IsDeferred = false;
            MakeStep(handshake.Input.Take());
            if (_phase == Phase.Handshake)
            {
                Fail("the client sent more than a handshake contains");
            }
            else
            {
                Receive(bytes);
            }

            return;
        }

        handshake.Input.Append(bytes);
        CountMemory();
        if (handshake.IsDeferred)
        {
            return;
        }

        if (!handshake.Input.AllowsStep(handshake.Input.Bytes))
        {
            if (handshake.Input.CountLargeHello())
            {
                Fail("too many clients have sent a large part of a ClientHello without its end");
            }
        }
        else if (_reactorState.Scheduler.IsFree)
        {
            MakeStep(handshake.Input.Take());
        }
        else
        {
            handshake.IsDeferred = true;
            Terminator.Counters.PutOff();
            _reactorState.Scheduler.Defer(this, hasResponded: _ssl is not null);
        }
    }

    private void MakeStep(ReadOnlySpan<byte> bytes)
    {
        long start = Stopwatch.GetTimestamp();
        Handshake handshake = Handshake!;
        if (_ssl is null)
        {
            Begin(handshake);
        }

        int whole = handshake.Input.WholeBytes(bytes);
        Work(bytes[..whole]);
        if (_phase == Phase.Handshake)
        {
            handshake.Input.Append(bytes[whole..]);
            CountMemory();
        }
        else if (_phase == Phase.Established && whole < bytes.Length)
        {
            Work(bytes[whole..]);
        }

        _reactorState.Scheduler.Spend(Stopwatch.GetTimestamp() - start);
    }

    /// <summary>Called at the ClientHello: a connection that sends nothing, or only part of it, costs no <c>SSL</c>.</summary>
    private void Begin(Handshake handshake)
    {
        ServerContext context = handshake.Begin();
        CertificateNames = context.Covered;
        _ssl = new SslConnection(this, context.Handle, _reactorState.BufferCache);
        Terminator.Counters.Made();
        CountMemory();
        handshake.EnterHalfOpen();
        _ssl.Accept();
    }

    /// <summary>Processes received bytes as far as possible. Runs the handler, which may end everything.</summary>
    private void Work(ReadOnlySpan<byte> bytes)
    {
        SslConnection ssl = _ssl!;
        bool wasEstablished = _phase == Phase.Established;
        int reads = 0;
        int records;
        fixed (byte* first = bytes)
        {
            records = ssl.BeginInput(first, bytes.Length);
            try
            {
                if (_phase == Phase.Handshake)
                {
                    ContinueHandshake(ssl);
                }

                if (_phase == Phase.Established)
                {
                    reads = ReadRecords(ssl);
                }
            }
            finally
            {
                // Also when the handler has thrown: after the call the memory is no longer valid.
                ssl.EndInput();
            }
        }

        if (_phase == Phase.Established
            && _emptyRecords.RefusalOf(ssl, records - reads, wasEstablished, Connection.Reactor.NowMs) is { } refusal)
        {
            Fail(refusal);
        }
        else if (_pending is not null)
        {
            Connection.Filters.RequestSend();
        }
    }

    private void ContinueHandshake(SslConnection ssl)
    {
        int error = ssl.DoHandshake();
        if (error == SslConstants.ErrorNone)
        {
            Establish(ssl);
        }
        else if (error != SslConstants.ErrorWantRead)
        {
            Fail(OpenSslErrors.Drain().ToString());
        }
        else if (!ssl.IsTls13)
        {
            // TLS 1.2 has no second hello, but a resumed session's next record is encrypted: one in 256 looks like the start of one.
            Handshake!.Input.EndInspection();
        }
    }

    private void Establish(SslConnection ssl)
    {
        _phase = Handshake!.IsDomainValidation ? Phase.PeerClosed : Phase.Established;
        Handshake.End();
        Handshake = null;
        CountMemory();
        Connection.Timers.SetFilterDeadline(long.MaxValue);
        Parameters = TlsParameters.Of(ssl.Handle);
        Terminator.Counters.Done(ssl.IsResumed, Parameters);
        if (_phase == Phase.Established)
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
        Span<byte> plain = _reactorState.Scratch.Incoming;
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
                    _phase = Phase.PeerClosed;
                    PassInEnd(ReceiveEnd.Finished);
                    break;
                default:
                    Fail(OpenSslErrors.Drain().ToString());
                    break;
            }
        }
        while (_phase == Phase.Established && ssl.HasInput);

        return reads;
    }

    /// <summary>Fails the connection: sends what OpenSSL has produced (an alert), then ends it.</summary>
    private void Fail(string reason)
    {
        bool isHandshake = _phase == Phase.Handshake;
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

    /// <summary>A client that has sent nothing (a port check, a preconnect) has begun no handshake.</summary>
    private void NoteGone()
    {
        if (_ssl is not null || !Handshake!.Input.IsEmpty)
        {
            NoteFailure("the client closed the connection");
        }

        _phase = Phase.Failed;
    }

    private void NoteFailure(string reason)
    {
        if (_phase == Phase.Handshake)
        {
            Terminator.Counters.Failed();
            Terminator.Log.HandshakeFailed(reason);
            Handshake!.Drop();
            CountMemory();
        }
        else
        {
            Terminator.Log.SessionFailed(reason);
        }

        _phase = Phase.Failed;
    }

    private void FreeSession()
    {
        if (_ssl is not null)
        {
            _ssl.Free();
            _ssl = null;
            Terminator.Counters.Freed();
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
