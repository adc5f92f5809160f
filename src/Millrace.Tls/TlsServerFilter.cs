using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>
/// TLS of a connection that was accepted. From the ClientHello on there is an <c>SSL</c>; until the end of its <see cref="Handshake"/> the
/// connection shares the reactor with others by a scheduler and quotas. Reactor thread only.
/// </summary>
internal sealed class TlsServerFilter : TlsFilter, IServerHandshake
{
    private readonly TlsReactorState _reactorState;

    public TlsServerFilter(TlsTerminator terminator, Connection connection)
        : base(terminator.Counters, terminator.Log)
    {
        terminator.Hold();
        Terminator = terminator;
        _reactorState = terminator.ReactorStateOf(connection.Reactor);
        Handshake = new Handshake(this, terminator, _reactorState);
        connection.Timers.SetFilterDeadline(connection.Reactor.NowMs + (Handshake.HasQuota ? terminator.HandshakeMs : 0));
    }

    public TlsTerminator Terminator { get; }

    /// <summary>The hosts of the certificate that the client was given; null before the client's ClientHello.</summary>
    public CertificateNames? CertificateNames { get; set; }

    /// <summary>Null once the handshake is complete.</summary>
    public Handshake? Handshake { get; private set; }

    public ClientAddress? Client =>
        Connection.KeepRemoteEndPoint() is IPEndPoint client ? ClientAddress.Of(SocketEndPoint.Encode(client)) : null;

    CertificateSet? IServerHandshake.Certificates => Handshake is { IsDomainValidation: false } ? Handshake.Certificates : null;

    IReadOnlyList<ApplicationProtocol> IServerHandshake.Protocols =>
        Handshake is { IsDomainValidation: true } ? DomainValidation.Protocols : Terminator.Protocols;

    protected override int HandshakeBytes => Handshake?.Input.HeldBytes ?? 0;

    protected override bool AcceptsTruncation => Terminator.AcceptsTruncation;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (Phase == TlsPhase.Established)
        {
            Work(bytes);
        }
        else if (Phase == TlsPhase.Handshake && Handshake!.HasQuota && PassesInspection(bytes))
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

    /// <summary>Refuses a hello that is one of QUIC's, and finds out whether it is that of a domain's validation.</summary>
    unsafe int IServerHandshake.InspectHello(nint ssl, out int alert)
    {
        alert = 0;
        if (Handshake is not { } handshake)
        {
            return SslConstants.ClientHelloSuccess;
        }

        if (LibSsl.SSL_client_hello_get0_ext(ssl, SslConstants.ExtensionQuicParameters, out _, out _) == 1)
        {
            // RFC 9001, section 8.2.
            handshake.Refusal = "the ClientHello has QUIC's transport parameters";
            alert = SslConstants.AlertUnsupportedExtension;
            return SslConstants.ClientHelloError;
        }

        return Terminator.ChallengeCertificates is not null && DomainValidation.IsRequested(ssl)
            ? DomainValidation.Accept(ssl, this, handshake, out alert)
            : SslConstants.ClientHelloSuccess;
    }

    public void RunDeferredStep()
    {
        if (Handshake is null)
        {
            return;
        }

        Handshake.IsDeferred = false;
        if (Phase == TlsPhase.Handshake && Connection.Phase == ConnectionPhase.Serving)
        {
            Connection.Filters.Continue(this);
        }
    }

    public override void Continue()
    {
        Handshake handshake = Handshake!;
        MakeStep(handshake.Input.Take());
        if (handshake.HasInputEnded && Phase is TlsPhase.Handshake or TlsPhase.Established)
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
        if (Phase == TlsPhase.Handshake)
        {
            Fail(Handshake!.ReasonForDeadline);
        }
        else
        {
            base.DeadlineReached();
        }
    }

    public override void Release()
    {
        if (Phase == TlsPhase.Handshake)
        {
            NoteGone();
        }

        Handshake?.End();
        Handshake = null;
        base.Release();
        Terminator.Release();
    }

    protected override ReceiveEnd HandshakeInputEnded(ReceiveEnd end)
    {
        if (end != ReceiveEnd.Finished)
        {
            return end;
        }

        if (Handshake!.IsDeferred)
        {
            Handshake.HasInputEnded = true;
            return ReceiveEnd.None;
        }

        NoteGone();
        return ReceiveEnd.Reset;
    }

    protected override void ContinueHandshake(SslConnection ssl)
    {
        if (!ssl.IsTls13)
        {
            // TLS 1.2 has no second hello, but a resumed session's next record is encrypted: one in 256 looks like the start of one.
            Handshake!.Input.EndInspection();
        }
    }

    protected override TlsPhase CompleteHandshake(SslConnection ssl)
    {
        bool isValidation = Handshake!.IsDomainValidation;
        Handshake.End();
        Handshake = null;
        Connection.Timers.SetFilterDeadline(long.MaxValue);
        return isValidation ? TlsPhase.PeerClosed : TlsPhase.Established;
    }

    protected override string DescribeFailure(OpenSslFailure failure) => Handshake?.Refusal ?? base.DescribeFailure(failure);

    protected override void OnFailure(string reason, bool isHandshake)
    {
        if (isHandshake)
        {
            Handshake!.Drop();
        }
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

        return Phase == TlsPhase.Handshake;
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
            if (Phase == TlsPhase.Handshake)
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
            _reactorState.Scheduler.Defer(this, hasResponded: Ssl is not null);
        }
    }

    private void MakeStep(ReadOnlySpan<byte> bytes)
    {
        long start = Stopwatch.GetTimestamp();
        Handshake handshake = Handshake!;
        if (Ssl is null)
        {
            BeginSession(handshake);
        }

        int whole = handshake.Input.WholeBytes(bytes);
        Work(bytes[..whole]);
        if (Phase == TlsPhase.Handshake)
        {
            handshake.Input.Append(bytes[whole..]);
            CountMemory();
        }
        else if (Phase == TlsPhase.Established && whole < bytes.Length)
        {
            Work(bytes[whole..]);
        }

        _reactorState.Scheduler.Spend(Stopwatch.GetTimestamp() - start);
    }

    /// <summary>Called at the ClientHello: a connection that sends nothing, or only part of it, costs no <c>SSL</c>.</summary>
    private void BeginSession(Handshake handshake)
    {
        ServerContext context = handshake.Begin();
        CertificateNames = context.Covered;
        SslConnection ssl = Create(context.Handle);
        handshake.EnterHalfOpen();
        ssl.Accept();
    }

    /// <summary>A client that has sent nothing (a port check, a preconnect) has begun no handshake.</summary>
    private void NoteGone()
    {
        if (Ssl is not null || !Handshake!.Input.IsEmpty)
        {
            NoteFailure("the client closed the connection");
        }

        Phase = TlsPhase.Failed;
    }
}
