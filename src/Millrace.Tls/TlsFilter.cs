using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls;

/// <summary>
/// TLS on one connection, by OpenSSL: decrypts received records and encrypts the batch that is sent. The handler runs after the handshake.
/// Owns its <c>SSL</c> from the ClientHello to <see cref="Release"/>. Reactor thread only.
/// </summary>
internal sealed unsafe partial class TlsFilter : ConnectionFilter
{
    private readonly TlsTerminator _terminator;
    private readonly TlsReactorState _reactorState;
    private CertificateSet? _certificates;
    private nint _ssl;

    /// <summary>OpenSSL's memory for it, as an estimate, and the total charged, with the waiting bytes.</summary>
    private int _sessionBytes;
    private int _countedBytes;
    private Phase _phase;
    private ClientHelloInspector _helloInspector;
    private bool _hasPassedInspection;
    private bool _hasQuota;

    /// <summary>More than the messages of a handshake; application data after them may exceed it.</summary>
    private const int WaitingBytesMax = ClientHelloInspector.HelloBytesMax * 4;

    /// <summary>OpenSSL's memory for an unfinished handshake (measured: 47 KB), for an idle session (13 KB), and for its buffers.</summary>
    private const int HandshakeBytes = 48 * 1024;
    private const int SessionBytes = 16 * 1024;
    private const int BuffersBytes = 34 * 1024;

    /// <summary>The limit on all unfinished hellos of a reactor, beyond <see cref="UsualHelloBytes"/> each.</summary>
    private const int LargeHelloBytesMax = 4 * 1024 * 1024;

    /// <summary>Bytes of an incomplete hello or record, and those that arrived while the step was deferred.</summary>
    private HandshakeInput _waiting;

    /// <summary>The part of it that is counted in <see cref="TlsReactorState.LargeHelloBytes"/>.</summary>
    private int _largeBytes;
    private bool _isWaiting;

    /// <summary>Its node among the half-open handshakes, from its ClientHello on.</summary>
    private LinkedListNode<TlsFilter>? _halfOpen;
    private bool _isEvicted;
    private bool _hasEnded;

    public TlsFilter(TlsTerminator terminator, Connection connection)
    {
        terminator.Hold();
        _terminator = terminator;
        _reactorState = terminator.ReactorStateOf(connection.Reactor);
        _hasQuota = terminator.Quota?.TryTake() != false;
        connection.Timers.SetFilterDeadline(connection.Reactor.NowMs + (_hasQuota ? terminator.HandshakeMs : 0));
    }

    /// <summary>Twice what browsers send, with a post-quantum key share.</summary>
    public const int UsualHelloBytes = 4 * 1024;

    private enum Phase : byte
    {
        Handshake,
        Established,

        /// <summary>The peer has sent close_notify; a response may still be sent.</summary>
        PeerClosed,

        /// <summary>Ended by an alert of either side, or before the handshake was complete.</summary>
        Failed,
        Released,
    }

    /// <summary>The filter whose OpenSSL call runs on this thread, for the callbacks.</summary>
    [field: ThreadStatic]
    public static TlsFilter? Current { get; private set; }

    public TlsTerminator Terminator => _terminator;

    /// <summary>The protocol negotiated by ALPN; null without ALPN.</summary>
    public string? ApplicationProtocol { get; set; }

    /// <summary>The hosts of the certificate that the client was given; null before the client's ClientHello.</summary>
    public CertificateNames? CertificateNames { get; set; }

    /// <summary>The certificates to choose from, until the handshake is complete.</summary>
    public CertificateSet? Certificates => _certificates;

    /// <summary>The client's address; null where it has none.</summary>
    public IPAddress? ClientAddress => (Connection.KeepRemoteEndPoint() as IPEndPoint)?.Address;

    public override bool HoldsHandler => true;

    /// <summary>The negotiated parameters; null before they are.</summary>
    public TlsSession? DescribeSession() =>
        _phase is Phase.Established or Phase.PeerClosed ? TlsSession.Of(_ssl, ApplicationProtocol) : null;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (_phase == Phase.Established)
        {
            Work(bytes);
        }
        else if (_phase == Phase.Handshake && _hasQuota && PassesInspection(bytes))
        {
            if (_waiting.Count > 0 || !IsStep(bytes) || !_reactorState.Scheduler.IsFree)
            {
                Keep(bytes);
            }
            else
            {
                MakeStep(bytes);
            }
        }
    }

    /// <summary>Runs the deferred step.</summary>
    public void RunDeferredStep()
    {
        _isWaiting = false;
        if (_phase == Phase.Handshake && Connection.Phase == ConnectionPhase.Serving)
        {
            Connection.Filters.Continue(this);
        }
    }

    public override void Continue()
    {
        StepWithWaiting();
        if (_hasEnded && _phase is Phase.Handshake or Phase.Established)
        {
            PassInEnd(ReceiveEnded(ReceiveEnd.Finished));
        }
    }

    /// <summary>Ends the handshake soon: its client has too many half-open ones.</summary>
    public void Evict()
    {
        _isEvicted = true;
        Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs);
    }

    public override void DeadlineReached()
    {
        if (_phase == Phase.Handshake)
        {
            Fail(!_hasQuota ? "the limit on connections is reached"
                : _isEvicted ? "its client has too many unfinished handshakes"
                : "it was not completed in time");
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

        if (_isWaiting)
        {
            _hasEnded = true;
            return ReceiveEnd.None;
        }

        // RFC 8446, section 6.1: an end without close_notify is a truncation, whoever caused it.
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }
        else if (_phase == Phase.Established)
        {
            _terminator.Counters.Truncated();
            return _terminator.TruncationPolicy == TruncationPolicy.IsEnd ? end : ReceiveEnd.Reset;
        }

        return ReceiveEnd.Reset;
    }

    public override void Release()
    {
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }

        _phase = Phase.Released;
        ReturnQuota();
        TakeWaiting();
        DropPending();
        ReleaseCertificates();
        FreeSession();
        _terminator.Release();
    }

    private bool PassesInspection(ReadOnlySpan<byte> bytes)
    {
        if (_hasPassedInspection)
        {
            return true;
        }

        switch (_helloInspector.Inspect(bytes))
        {
            case ClientHelloResult.PlainText:
                Put(PlainHttpResponse.Bytes);
                Fail("the client did not send TLS");
                return false;
            case ClientHelloResult.TooLong:
                Fail("its ClientHello is too long");
                return false;
            case ClientHelloResult.Passed:
                _hasPassedInspection = true;
                return true;
            default:
                return true;
        }
    }

    /// <summary>
    /// Whether these bytes allow a step: only after a whole ClientHello, so that a client which sends less costs no <c>SSL</c>, and only
    /// for whole records, so that OpenSSL keeps no buffer for a partial one.
    /// </summary>
    private bool IsStep(ReadOnlySpan<byte> bytes) => (_hasPassedInspection || _helloInspector.HasWholeHello) && WholeBytes(bytes) > 0;

    /// <summary>A client that does not speak TLS sends no records to wait for.</summary>
    private int WholeBytes(ReadOnlySpan<byte> bytes) =>
        _hasPassedInspection && !_helloInspector.HasWholeHello ? bytes.Length : RecordCounter.WholeBytes(bytes);

    private void Keep(ReadOnlySpan<byte> bytes)
    {
        if (_waiting.Count + bytes.Length > WaitingBytesMax)
        {
            StepAtOnce(bytes);
            return;
        }

        _waiting.Append(bytes);
        CountWaiting();
        if (_isWaiting)
        {
            return;
        }

        if (!IsStep(_waiting.Bytes))
        {
            CountLargeHello();
        }
        else if (_reactorState.Scheduler.IsFree)
        {
            StepWithWaiting();
        }
        else
        {
            _isWaiting = true;
            _terminator.Counters.PutOff();
            _reactorState.Scheduler.Defer(this, hasResponded: _ssl != 0);
        }
    }

    /// <summary>Limits the memory of thousands of clients that each send most of a large hello.</summary>
    private void CountLargeHello()
    {
        int large = Math.Max(0, _waiting.Count - UsualHelloBytes);
        _reactorState.LargeHelloBytes += large - _largeBytes;
        _largeBytes = large;
        if (large > 0 && _reactorState.LargeHelloBytes > LargeHelloBytesMax)
        {
            Fail("too many clients have sent a large part of a ClientHello without its end");
        }
    }

    private HandshakeInput TakeWaiting()
    {
        HandshakeInput waiting = _waiting;
        _waiting.Clear();
        CountWaiting();
        _reactorState.LargeHelloBytes -= _largeBytes;
        _largeBytes = 0;
        return waiting;
    }

    /// <summary>
    /// Runs the step at once. After its last handshake message a client may send any amount of data, in TLS 1.3 before it has received our
    /// last flight; the step is cheap then. Its position in the queue is of no use any more.
    /// </summary>
    private void StepAtOnce(ReadOnlySpan<byte> bytes)
    {
        _isWaiting = false;
        StepWithWaiting();
        if (_phase == Phase.Handshake)
        {
            Fail("the client sent more than a handshake contains");
        }
        else
        {
            Receive(bytes);
        }
    }

    private void StepWithWaiting()
    {
        HandshakeInput waiting = TakeWaiting();
        MakeStep(waiting.Bytes);
    }

    private void MakeStep(ReadOnlySpan<byte> bytes)
    {
        long start = Stopwatch.GetTimestamp();
        if (_ssl == 0)
        {
            Begin();
        }

        int whole = WholeBytes(bytes);
        Work(bytes[..whole]);
        if (_phase == Phase.Handshake)
        {
            _waiting.Append(bytes[whole..]);
            CountWaiting();
        }
        else if (_phase == Phase.Established && whole < bytes.Length)
        {
            Work(bytes[whole..]);
        }

        _reactorState.Scheduler.Spend(Stopwatch.GetTimestamp() - start);
    }

    /// <summary>Called at the ClientHello: a connection that sends nothing, or only part of it, costs no <c>SSL</c>.</summary>
    private void Begin()
    {
        _certificates = _terminator.Certificates.Acquire();
        CertificateNames = _certificates.Default.Covered;
        _ssl = LibSsl.SSL_new(_certificates.Default.Handle);
        if (_ssl == 0)
        {
            OpenSslErrors.Clear();
            throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
        }

        Count(HandshakeBytes);
        _halfOpen = _reactorState.HalfOpen.Add(this);
        _terminator.Counters.Made();
        nint bio = FilterBio.New();
        LibSsl.SSL_set_bio(_ssl, bio, bio);
        LibSsl.SSL_set_accept_state(_ssl);
    }

    private void ContinueHandshake()
    {
        EnterLibrary();
        int result = LibSsl.SSL_do_handshake(_ssl);
        LeaveLibrary();
        if (result == 1)
        {
            Establish();
        }
        else if (LibSsl.SSL_get_error(_ssl, result) != SslConstants.ErrorWantRead)
        {
            Fail(OpenSslErrors.Drain().ToString());
        }
        else
        {
            // TLS 1.2 has no second hello, but a resumed session's next record is encrypted: one in 256 looks like the start of one.
            _hasPassedInspection |= LibSsl.SSL_version(_ssl) != SslConstants.Tls13Version;
        }
    }

    private void Establish()
    {
        _phase = Phase.Established;
        Count(SessionBytes);
        LeaveHalfOpen();
        Connection.Timers.SetFilterDeadline(long.MaxValue);
        ReleaseCertificates();
        ReturnQuota();
        _terminator.Counters.Done(LibSsl.SSL_session_reused(_ssl) == 1);
        StartHandler();
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

    private void FreeSession()
    {
        LeaveHalfOpen();
        if (_ssl != 0)
        {
            LeaveCache();
            LibSsl.SSL_free(_ssl);
            _ssl = 0;
            Count(0);
            _terminator.Counters.Freed();
        }
    }

    /// <summary>Charges OpenSSL's memory to the connection.</summary>
    private void Count(int sessionBytes)
    {
        _sessionBytes = sessionBytes;
        CountWaiting();
    }

    private void CountWaiting()
    {
        int bytes = _sessionBytes + _waiting.HeldBytes;
        Connection.HoldState(bytes - _countedBytes);
        _countedBytes = bytes;
    }

    private void LeaveHalfOpen()
    {
        if (_halfOpen is not null)
        {
            _reactorState.HalfOpen.Remove(_halfOpen);
            _halfOpen = null;
        }
    }

    /// <summary>A client that has sent nothing (a port check, a preconnect) has begun no handshake.</summary>
    private void NoteGone()
    {
        if (_ssl != 0 || _waiting.Count > 0)
        {
            NoteFailure("the client closed the connection");
        }

        _phase = Phase.Failed;
    }

    private void NoteFailure(string reason)
    {
        if (_phase == Phase.Handshake)
        {
            _terminator.Counters.Failed();
            _terminator.Log.HandshakeFailed(reason);
        }
        else
        {
            _terminator.Log.SessionFailed(reason);
        }

        _phase = Phase.Failed;
        TakeWaiting();
        ReleaseCertificates();
    }

    /// <summary>From now on the server of the connection counts it.</summary>
    private void ReturnQuota()
    {
        if (_hasQuota)
        {
            _terminator.Quota?.Return();
            _hasQuota = false;
        }
    }

    private void ReleaseCertificates()
    {
        _certificates?.Release();
        _certificates = null;
    }
}
